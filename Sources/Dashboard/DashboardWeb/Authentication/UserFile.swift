import Foundation
import JuiceDomain
import Synchronization

/// The file of users: one line each, `<name> <role> <hash>`, followed by the region if the user has
/// one.
///
/// A change of the file takes effect at once: a user who is removed, or whose password or role
/// changes, is logged out.
package final class UserFile: Sendable {
  package let path: String
  /// The bytes that were read last, and the users in them.
  private let known = Mutex<(data: Data, users: [User.Name: User])?>(nil)

  package init(path: String) { self.path = path }

  /// Returns the users in the file, or none if the file does not exist.
  ///
  /// - Throws: `UserFileError` with the first wrong line, or if other users may read the file.
  package func users() throws(UserFileError) -> [User.Name: User] {
    let data: Data
    do {
      data = try Data(contentsOf: URL(filePath: path))
    } catch CocoaError.fileReadNoSuchFile {
      return [:]
    } catch {
      throw UserFileError(path, "cannot be read: \(error.localizedDescription)")
    }
    if let users = known.withLock({ $0?.data == data ? $0?.users : nil }) { return users }
    guard let permissions = Self.attribute(.posixPermissions, of: path), permissions & 0o077 == 0
    else {
      throw UserFileError(path, "others than its owner may use it; run: chmod 600 \(path)")
    }
    guard let text = String(data: data, encoding: .utf8) else {
      throw UserFileError(path, "is no text in UTF-8")
    }
    var users: [User.Name: User] = [:]
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    where !line.isEmpty && !line.hasPrefix("#") {
      guard let user = User(line: line), users.updateValue(user, forKey: user.name) == nil else {
        throw UserFileError(
          "\(path):\(number + 1)", "this is no user; a line is: name role hash region")
      }
    }
    known.withLock { $0 = (data, users) }
    return users
  }

  /// Changes the file atomically; concurrent changes are serialised. If root changes the file, its
  /// owner remains; if root creates it, it belongs to the owner of the folder, which is the
  /// dashboard's user.
  package func update(
    _ change: (inout [User.Name: User]) -> Void
  ) throws(UserFileError) {
    // The lock is on the folder, because each change replaces the file.
    let lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard lock >= 0 else { throw UserFileError(folder, String(cString: strerror(errno))) }
    defer { close(lock) }
    while flock(lock, LOCK_EX) != 0 {
      guard errno == EINTR else { throw UserFileError(folder, String(cString: strerror(errno))) }
    }
    var users = try users()
    change(&users)
    let text = users.values.sorted { $0.name < $1.name }.map { "\($0.line)\n" }.joined()
    let new = "\(path).new"
    unlink(new)
    // Created with these permissions, so that no other user can read it at any time.
    let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw UserFileError(new, String(cString: strerror(errno))) }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    let owned = FileManager.default.fileExists(atPath: path) ? path : folder
    if geteuid() == 0, let owner = Self.attribute(.ownerAccountID, of: owned),
      let group = Self.attribute(.groupOwnerAccountID, of: owned)
    {
      fchown(descriptor, owner, group)
    }
    do {
      try file.write(contentsOf: Data(text.utf8))
      try file.synchronize()
    } catch {
      throw UserFileError(new, "cannot be written: \(error)")
    }
    guard rename(new, path) == 0 else {
      throw UserFileError(path, String(cString: strerror(errno)))
    }
    // Without this fsync, a power cut may restore the old file, and with it a removed user.
    guard fsync(lock) == 0 else { throw UserFileError(folder, String(cString: strerror(errno))) }
  }
}

/// An error in the file of users.
package struct UserFileError: Error, CustomStringConvertible {
  package let description: String

  init(_ place: String, _ problem: String) { description = "\(place): \(problem)" }
}

extension UserFile {
  /// Returns an attribute of a file; follows symbolic links. (NIO's own `struct stat` hides that of
  /// libc.)
  private static func attribute(_ key: FileAttributeKey, of path: String) -> UInt32? {
    let place = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
    let attributes = try? FileManager.default.attributesOfItem(atPath: place)
    return (attributes?[key] as? NSNumber)?.uint32Value
  }

  private var folder: String {
    let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    return folder.isEmpty ? "." : folder.joined(separator: "/") + "/"
  }
}

extension User {
  fileprivate var line: String {
    "\(name) \(role.rawValue) \(password)\(region.map { " \($0)" } ?? "")"
  }

  fileprivate init?(line: some StringProtocol) {
    let words = line.split(separator: " ", maxSplits: 3)
    guard words.count >= 3, let name = Name(words[0]), let role = Role(rawValue: String(words[1])),
      let password = PasswordHash(words[2])
    else { return nil }
    self.init(
      name: name, role: role, password: password, region: words.count > 3 ? String(words[3]) : nil)
  }
}
