package import CommandLineSupport
import Foundation
import JuiceDomain
package import Logging
import Synchronization

/// The file of users: a line for each user, `<name> <role> <hash>`, followed by the region if the
/// user has one.
///
/// A change of the file takes effect at once: it logs out a user whose line is changed or removed.
/// While the file cannot be read, the users read last remain valid.
package final class UserFile: Sendable {
  package let path: String
  private let logger: Logger?
  /// Reads a file, with the same errors as `Data(contentsOf:)`.
  private let read: @Sendable (String) throws -> Data
  private let known = Mutex(Known())

  /// The users read last.
  package struct Known: Sendable {
    package fileprivate(set) var users: [User.Name: User] = [:]
    /// The reason why the current file cannot be used, or `nil` if there is no problem.
    package fileprivate(set) var problem: String?
    /// The stamp of the file that was examined last, or `nil` if it must be examined again.
    fileprivate var stamp: FileStamp?
  }

  /// Creates an accessor of a file, which need not exist.
  ///
  /// - Parameter logger: Logs each problem of `current` once, and its end.
  package convenience init(path: String, logger: Logger? = nil) {
    self.init(path: path, logger: logger) { try Data(contentsOf: URL(filePath: $0)) }
  }

  init(
    path: String, logger: Logger? = nil, read: @escaping @Sendable (String) throws -> Data
  ) {
    (self.path, self.logger, self.read) = (path, logger, read)
  }

  /// Returns the users in the file, or none if the file does not exist.
  ///
  /// - Throws: `StateError` with the first invalid line, or if the file cannot be read, or if users
  ///   of the system other than its owner may read or change the file.
  package func users() throws(StateError) -> [User.Name: User] { try users(in: contents()) }

  /// The current users. The file is read only if its stamp is new or not settled. If the file is
  /// missing, empty (half written), unreadable or invalid, the users read last remain.
  package var current: Known {
    known.withLock { known in
      // Take the stamp before reading: a change in between leads to another stamp.
      let stamp = FileStamp(path)
      if let stamp, stamp == known.stamp { return known }
      let before = known.problem
      known.stamp = nil
      do throws(StateError) {
        let data = try contents()
        if let stamp, stamp.isSettled { known.stamp = stamp }
        guard !data.isEmpty || known.users.isEmpty else {
          throw StateError(path, "is missing or empty")
        }
        (known.users, known.problem) = (try users(in: data), nil)
      } catch {
        known.problem = "\(error)"
      }
      guard known.problem != before else { return known }
      if let problem = known.problem {
        logger?.error(
          known.users.isEmpty
            ? "\(problem); no user can log in until it is repaired\(copyHint)"
            : "\(problem); the users read last may still log in")
      } else {
        logger?.notice("\(path): can be read again")
      }
      return known
    }
  }

  /// The path of the copy that `update` writes after each change.
  private var copyPath: String { "\(target).good" }

  /// A phrase with the command that restores the copy, or an empty text if there is none.
  private var copyHint: String {
    FileManager.default.fileExists(atPath: copyPath)
      ? ", for example with the last good copy: cp -p \(copyPath) \(target)" : ""
  }

  /// Returns the contents of the file, or empty data if the file does not exist.
  private func contents() throws(StateError) -> Data {
    do {
      return try read(path)
    } catch CocoaError.fileReadNoSuchFile {
      return Data()
    } catch {
      throw StateError(path, "cannot be read: \(error.localizedDescription)")
    }
  }

  private func users(in data: Data) throws(StateError) -> [User.Name: User] {
    guard FileStamp(path)?.isShared != true else {
      throw StateError(
        path, "can be read or changed by others than its owner; run: chmod 600 \(path)")
    }
    guard let text = String(data: data, encoding: .utf8) else {
      throw StateError(path, "is not UTF-8 text")
    }
    var users: [User.Name: User] = [:]
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    where !line.isEmpty && !line.hasPrefix("#") {
      guard let user = User(line: line), users.updateValue(user, forKey: user.name) == nil else {
        throw StateError(
          "\(path):\(number + 1)", "invalid or repeated user; a line is: name role hash region")
      }
    }
    return users
  }

  /// Changes the file atomically, and removes its comments. Concurrent changes are serialized. A
  /// symbolic link remains, and its target changes. If root changes the file, its owner remains. A
  /// file that root creates belongs to the owner of the folder, which is the dashboard's user.
  ///
  /// Also writes a copy, whose name ends in `.good`, for a person who has to repair the file. The
  /// dashboard never reads the copy: an old copy could bring back a removed user.
  package func update(
    _ change: (inout [User.Name: User]) -> Void
  ) throws(StateError) {
    let path = target
    let folder = Self.folder(of: path)
    // The lock is on the folder, because each change replaces the file.
    let lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard lock >= 0 else { throw StateError(folder, String(cString: strerror(errno))) }
    defer { close(lock) }
    while flock(lock, LOCK_EX) != 0 {
      guard errno == EINTR else { throw StateError(folder, String(cString: strerror(errno))) }
    }
    var users = try users()
    change(&users)
    // Not an empty text, because `current` treats an empty file as half written.
    let text =
      users.isEmpty
      ? "# no users\n" : users.values.sorted { $0.name < $1.name }.map { "\($0.line)\n" }.joined()
    let owned = FileManager.default.fileExists(atPath: path) ? path : folder
    var owner: (user: UInt32, group: UInt32)?
    if geteuid() == 0, let user = Self.attribute(.ownerAccountID, of: owned),
      let group = Self.attribute(.groupOwnerAccountID, of: owned)
    {
      owner = (user, group)
    }
    let name = String(path.dropFirst(folder == "./" ? 0 : folder.count))
    let state = StateFolder(path: folder)
    try state.write(name, Data(text.utf8), owner: owner)
    do throws(StateError) {
      try state.write("\(name).good", Data(text.utf8), owner: owner)
    } catch {
      // The change itself is stored.
      logger?.warning("\(error)")
    }
  }
}

extension UserFile {
  /// Changes the given properties of a user and keeps the others. A new user is a viewer of all
  /// regions unless another role or a region is given.
  ///
  /// - Parameters:
  ///   - password: The new password; a new user needs one.
  ///   - region: The only region that the user sees, or `.some(nil)` for all regions.
  ///   - isNew: Whether a user who does not exist is added.
  /// - Returns: The user before and after the change; both `nil` if nothing is changed.
  package func change(
    _ name: User.Name, password: PasswordHash? = nil, role: User.Role? = nil,
    region: String?? = nil, addingNew isNew: Bool = false
  ) throws(StateError) -> (before: User?, after: User?) {
    var result: (before: User?, after: User?) = (nil, nil)
    try update { users in
      let before = users[name]
      guard before != nil || isNew, let hash = password ?? before?.password else { return }
      let after = User(
        name: name, role: role ?? before?.role ?? .viewer, password: hash,
        region: region ?? before?.region)
      users[name] = after
      result = (before, after)
    }
    return result
  }
}

extension UserFile {
  /// The path of the file itself: the target if `path` is a symbolic link. The file need not exist.
  package var target: String {
    var target = path
    // Follow at most 40 links, as Linux does (path_resolution(7)). With more links, reading fails.
    for _ in 0..<40 {
      guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: target) else {
        break  // Not a link.
      }
      target = next.hasPrefix("/") ? next : Self.folder(of: target) + next
    }
    return target
  }

  /// Returns an attribute of a file, or `nil` if the file cannot be examined.
  private static func attribute(_ key: FileAttributeKey, of path: String) -> UInt32? {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return (attributes?[key] as? NSNumber)?.uint32Value
  }

  /// Returns the folder of a file, with a slash at its end.
  private static func folder(of path: String) -> String {
    let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    return folder.isEmpty ? "./" : folder.joined(separator: "/") + "/"
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
