package import CommandLineSupport
import Foundation
import JuiceDomain
package import Logging
import Synchronization

/// The file of users: a line for each user, `<name> <role> <hash>`, followed by the regions if the
/// user has some, separated by tabs.
///
/// A change of the file takes effect at once: it logs out a user whose line is changed or removed.
/// While the file cannot be read, the users read last remain valid.
package final class UserFile: Sendable {
  package let path: String
  private let logger: Logger?
  /// Called before each reading of the file; its error replaces the result.
  private let willRead: @Sendable () throws(StateError) -> Void
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
    self.init(path: path, logger: logger) {}
  }

  init(
    path: String, logger: Logger? = nil, willRead: @escaping @Sendable () throws(StateError) -> Void
  ) {
    (self.path, self.logger, self.willRead) = (path, logger, willRead)
  }

  /// Returns the users in the file, or none if neither the file nor its copy exists.
  ///
  /// - Throws: `StateError` with the first invalid line, or if the file cannot be read or is missing
  ///   after it was there, or if users of the system other than its owner may read or change it.
  package func users() throws(StateError) -> [User.Name: User] {
    try willRead()
    let (users, problem) = load()
    if let problem { throw problem }
    guard let users else {
      guard known.withLock({ $0.users.isEmpty }) else { throw missing }
      return [:]
    }
    return users
  }

  private var missing: StateError { StateError(path, "is missing") }

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
        try willRead()
        let (users, problem) = load()
        if let problem { throw problem }
        if let stamp, stamp.isSettled { known.stamp = stamp }
        guard users != nil || known.users.isEmpty else {
          throw missing
        }
        (known.users, known.problem) = (users ?? [:], nil)
        if let users { keepCopy(of: users) }
      } catch {
        known.problem = "\(error)"
      }
      guard known.problem != before else { return known }
      if let problem = known.problem {
        logger?.error(
          known.users.isEmpty
            ? "no user can log in: \(problem)"
            : "\(problem); the users read last may still log in")
      } else {
        logger?.notice("\(path): can be read again")
      }
      return known
    }
  }

  /// The file itself, also if `path` is a symbolic link. Its copy is for a person who repairs the file:
  /// the dashboard does not read it, because a copy that is older than a change by a person could bring
  /// back a removed user.
  private var file: StateFile<[User.Name: User]> { Self.file(target) }

  private static func file(_ path: String) -> StateFile<[User.Name: User]> {
    StateFile(
      path, upTo: 16 << 20, isPrivate: true, usesCopy: false,
      withoutCopy: "correct it, or restore a backup",
      encode: text(of:), decode: users(in:))
  }

  /// Reads the file. A problem says what a person can do, also if a link has replaced the file.
  func load() -> (users: [User.Name: User]?, problem: StateError?) {
    let (users, problem) = file.load()
    guard users == nil, target != path else { return (users, problem) }
    let own = Self.file(path)
    return FileManager.default.fileExists(atPath: own.copyPath)
      ? (nil, own.load().problem) : (nil, problem?.prefixed(by: "\(path) leads to "))
  }

  /// Updates the copy after a person has changed the file, if the dashboard may write the folder.
  private func keepCopy(of users: [User.Name: User]) {
    let file = file
    guard access(Disk.folder(of: file.path), W_OK) == 0,
      (try? Data(contentsOf: URL(filePath: file.copyPath))) != Data(Self.text(of: users))
    else { return }
    do throws(StateError) { try file.writeCopy(users) } catch { logger?.warning("\(error)") }
  }

  private static func users(in bytes: [UInt8]) throws -> [User.Name: User] {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw LineError(1, "is not UTF-8 text")
    }
    var users: [User.Name: User] = [:]
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    where !line.isEmpty && !line.hasPrefix("#") {
      guard let user = User(line: line), users.updateValue(user, forKey: user.name) == nil else {
        throw LineError(number + 1, "invalid or repeated user; a line is: name role hash regions")
      }
    }
    return users
  }

  private static func text(of users: [User.Name: User]) -> [UInt8] {
    // Not an empty text, because an empty file counts as half written.
    let lines = users.values.sorted { $0.name < $1.name }.map { "\($0.line)\n" }.joined()
    return Array((users.isEmpty ? "# no users\n" : lines).utf8)
  }

  /// Changes the file atomically, and removes its comments. Concurrent changes are serialized. A
  /// symbolic link remains, and its target changes. If root changes the file, its owner remains. A
  /// file that root creates belongs to the owner of the folder, which is the dashboard's user.
  package func update(
    _ change: (inout [User.Name: User]) -> Void
  ) throws(StateError) {
    let file = file
    // The lock is on the folder, because each change replaces the file.
    try FileLock.inFolder(Disk.folder(of: file.path)) { () throws(StateError) in
      var users = try users()
      change(&users)
      try file.write(users)
    }
  }
}

extension UserFile {
  /// Changes the given properties of a user and keeps the others. A new user is a viewer of all
  /// regions unless another role or regions are given.
  ///
  /// - Parameters:
  ///   - password: The new password; a new user needs one.
  ///   - regions: The only regions that the user sees; none for all regions.
  ///   - isNew: Whether a user who does not exist is added.
  /// - Returns: The user before and after the change; both `nil` if nothing is changed.
  package func change(
    _ name: User.Name, password: PasswordHash? = nil, role: User.Role? = nil,
    regions: [String]? = nil, addingNew isNew: Bool = false
  ) throws(StateError) -> (before: User?, after: User?) {
    var result: (before: User?, after: User?) = (nil, nil)
    try update { users in
      let before = users[name]
      guard before != nil || isNew, let hash = password ?? before?.password else { return }
      // The first user can add others in the browser.
      let usual: User.Role = users.isEmpty && (regions ?? []).isEmpty ? .admin : .viewer
      let after = User(
        name: name, role: role ?? before?.role ?? usual, password: hash,
        regions: regions ?? before?.regions ?? [])
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
      target = next.hasPrefix("/") ? next : Disk.folder(of: target) + next
    }
    return target
  }
}

extension User {
  /// The hash of the user's line in the file.
  var hash: String { UserAdministration.hash(of: line) }

  fileprivate var line: String {
    "\(name) \(role.rawValue) \(password)\(regions.isEmpty ? "" : " ")\(regions.joined(separator: "\t"))"
  }

  fileprivate init?(line: some StringProtocol) {
    let words = line.split(separator: " ", maxSplits: 3)
    guard words.count >= 3, let name = Name(words[0]), let role = Role(rawValue: String(words[1])),
      let password = PasswordHash(words[2])
    else { return nil }
    self.init(
      name: name, role: role, password: password,
      regions: words.dropFirst(3).flatMap { $0.split(separator: "\t") }.map { String($0) })
  }
}
