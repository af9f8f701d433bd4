import Foundation

/// The user who owns the folder of a file.
///
/// A process that runs as root permanently switches to this user before it opens files in the
/// folder. A symbolic link that the user has created there then leads only to files that the user
/// may access.
package struct FolderOwner: Sendable {
  package let user: UInt32
  private let group: gid_t

  /// Determines the owner by walking from `/` to the folder, following folders and links that root
  /// owns. The first folder or link with an owner other than root determines the result. A process
  /// that is not root cannot switch users, so the result is its own user.
  ///
  /// - Parameter path: The path of a file in the folder; neither has to exist.
  /// - Throws: `Failure` if two users, neither of them root, can change where the path leads.
  package init(ofFolderOf path: String) throws(Failure) {
    guard geteuid() == 0 else {
      (user, group) = (geteuid(), getegid())
      return
    }
    var owner: stat?
    var place = ""
    var names = Self.names(of: path.hasPrefix("/") ? path : Self.currentFolder + "/" + path)
    // Removes the name of the file; the path `/` has none.
    _ = names.popLast()
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
          "\(place) belongs to \(second), but a part of its path to \(first), who could redirect root: "
            + "run this as \(second), or move it to a folder that only root and \(second) may change"
        )
      }
      if owner == nil, status.st_uid != 0 { owner = status }
      // The walk ends at a link of a user: after `switchUser()` the link leads only to files that
      // the user may access.
      if isLink { break }
    }
    (user, group) = (owner?.st_uid ?? 0, owner?.st_gid ?? 0)
  }

  /// Irreversibly switches a root process to the owner and the owner's groups.
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
        "root cannot switch to \(Self.name(of: user)), the owner of the folder: run this as "
          + Self.name(of: user))
    }
  }

  /// Returns the user's name, or the number of a user without a name.
  package static func name(of user: UInt32) -> String {
    getpwuid(user).map { String(cString: $0.pointee.pw_name) } ?? "\(user)"
  }

  /// Maximum number of symbolic links followed, as in Linux (path_resolution(7)).
  private static let maximumLinks = 40

  private static var currentFolder: String { FileManager.default.currentDirectoryPath }

  private static func names(of path: String) -> [Substring] {
    path.split(separator: "/").filter { $0 != "." }
  }

  /// Returns the target of a link, or an empty text if the file is no longer a link.
  private static func target(of link: String) -> String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) ?? ""
  }
}
