import Foundation

/// The user who owns the folder of a file.
///
/// Root opens nothing in the folder of another user: it becomes that user first, for good. A link that the
/// user has left there then leads only where that user may go.
package struct FolderOwner: Sendable {
  package let user: UInt32
  private let group: gid_t

  /// Walks from `/` to the folder. Folders and links that root owns are followed; the first folder or
  /// link that another user owns makes that user the owner. A process that is not root cannot change
  /// its user, so it takes itself.
  ///
  /// - Parameter path: of a file in the folder; neither has to be there.
  /// - Throws: `Failure`: two users, neither of them root, can change where the path leads.
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
      if status.st_uid == 0, isLink, links < Self.maximumLinks {
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
      // A user's own link is not followed here: after `switchUser()` it leads only where that user may go.
      if isLink { break }
    }
    (user, group) = (owner?.st_uid ?? 0, owner?.st_gid ?? 0)
  }

  /// Makes a process of root's one of the owner, with the owner's groups. There is no way back.
  package func switchUser() throws(Failure) {
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

  /// The user's name, or the number of a user without a name.
  package static func name(of user: UInt32) -> String {
    getpwuid(user).map { String(cString: $0.pointee.pw_name) } ?? "\(user)"
  }

  /// As many links as Linux follows (path_resolution(7)).
  private static let maximumLinks = 40

  private static var currentFolder: String { FileManager.default.currentDirectoryPath }

  private static func names(of path: String) -> [Substring] {
    path.split(separator: "/").filter { $0 != "." }
  }

  /// Where a link leads; empty if it is no link any more.
  private static func target(of link: String) -> String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) ?? ""
  }
}
