import Foundation
import JuiceDomain
import Synchronization

/// The file of users: a line for each, `<name> <role> <hash>`, and then the region if the user has one.
///
/// A change of the file counts at once: a user who is removed, or gets another password or role, is
/// logged out.
package final class UserFile: Sendable {
  package let path: String
  /// The bytes that were read last, and their users.
  private let known = Mutex<(data: Data, users: [User.Name: User])?>(nil)

  package init(path: String) { self.path = path }

  /// The users in the file now; none if there is no file.
  ///
  /// - Throws: `UserFileError` that says which line is wrong, or that others may read it.
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

  /// Changes the file, whole or not at all, one change after the other. A file that root changes keeps its
  /// owner; one that root makes belongs to the owner of the folder, who is the dashboard's own user.
  package func update(
    _ change: (inout [User.Name: User]) -> Void
  ) throws(UserFileError) {
    // The folder is locked, since each change replaces the file.
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
    // No other user may read it, not even for a moment.
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
    // Until the folder is on the disk, a power cut brings the old file back, and with it a user who was removed.
    guard fsync(lock) == 0 else { throw UserFileError(folder, String(cString: strerror(errno))) }
  }
}

/// What is wrong with the file of users.
package struct UserFileError: Error, CustomStringConvertible {
  package let description: String

  init(_ place: String, _ problem: String) { description = "\(place): \(problem)" }
}

extension UserFile {
  /// An attribute of a file; links are followed. (NIO's own `struct stat` hides that of libc.)
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
