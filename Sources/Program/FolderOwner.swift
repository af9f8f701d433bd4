import Foundation

/// Whose the folder of a file is. Root never writes for another: before it opens anything in his
/// folder it becomes him, for good, and a link that he has left there leads root nowhere.
package struct FolderOwner: Sendable {
  package let user: UInt32
  private let group: gid_t

  /// Goes the way to the folder, as only those who are trusted may have laid it: as far as it is root's,
  /// also through links of root's. Who is not root is nobody else anyway: it is he.
  ///
  /// - Parameter path: of a file in the folder; neither has to be there.
  /// - Throws: `Failure`: two users, neither of them root, can change where the way leads.
  package init(ofFolderOf path: String) throws(Failure) {
    guard geteuid() == 0 else {
      (user, group) = (geteuid(), getegid())
      return
    }
    var owner: stat?
    var place = ""
    var names = Self.names(of: path.hasPrefix("/") ? path : Self.currentFolder + "/" + path)
    names.removeLast()
    var links = 0
    while let name = names.first {
      names.removeFirst()
      guard name != ".." else {
        place = String(place[..<(place.lastIndex(of: "/") ?? place.startIndex)])
        continue
      }
      var status = stat()
      guard lstat("\(place)/\(name)", &status) == 0 else { break }
      let isLink = status.st_mode & S_IFMT == S_IFLNK
      if status.st_uid == 0, isLink, links < Self.mostLinks {
        let target = Self.target(of: "\(place)/\(name)")
        if target.hasPrefix("/") { place = "" }
        names = Self.names(of: target) + names
        links += 1
        continue
      }
      place += "/\(name)"
      if let owner, status.st_uid != 0, status.st_uid != owner.st_uid {
        let (first, second) = (Self.name(of: owner.st_uid), Self.name(of: status.st_uid))
        throw .badConfiguration(
          "\(place) belongs to \(second), but the way there to \(first), who could lead root "
            + "elsewhere: run this as \(second), or move it to where only root and \(second) may write"
        )
      }
      if owner == nil, status.st_uid != 0 { owner = status }
      // He may lead it anywhere, but no further than he may go himself.
      if isLink { break }
    }
    (user, group) = (owner?.st_uid ?? 0, owner?.st_gid ?? 0)
  }

  /// Becomes him, with his groups, if the process is root's. There is no way back.
  package func become() throws(Failure) {
    guard geteuid() == 0, user != 0 else { return }
    let isDone =
      if let entry = getpwuid(user) {
        initgroups(entry.pointee.pw_name, numericCast(entry.pointee.pw_gid)) == 0
          && setgid(entry.pointee.pw_gid) == 0
      } else {
        setgroups(0, nil) == 0 && setgid(group) == 0
      }
    guard isDone, setuid(user) == 0, setuid(0) != 0, geteuid() == user else {
      throw .badConfiguration(
        "root cannot become \(Self.name(of: user)), whose folder it is: run this as "
          + Self.name(of: user))
    }
  }

  /// A number where the user has no name.
  package static func name(of user: UInt32) -> String {
    getpwuid(user).map { String(cString: $0.pointee.pw_name) } ?? "\(user)"
  }

  /// As many as Linux follows (path_resolution(7)).
  private static let mostLinks = 40

  private static var currentFolder: String { FileManager.default.currentDirectoryPath }

  private static func names(of path: String) -> [Substring] {
    path.split(separator: "/").filter { $0 != "." }
  }

  /// Empty if it is no link any more.
  private static func target(of link: String) -> String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) ?? ""
  }
}
