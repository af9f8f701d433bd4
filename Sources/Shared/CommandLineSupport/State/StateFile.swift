import Foundation

/// A small file that each write replaces, with its last good copy beside it: `PATH.good`.
///
/// ```swift
/// let file = StateFile<Int>(
///   "/var/lib/bar.last", upTo: 100, withoutCopy: "write the last number into it",
///   encode: { Array("\($0)\n".utf8) }, decode: readNumber)
/// let (number, problem) = file.load()
/// try file.write(7)
/// ```
///
/// When `write` returns, the value is on the disk; a power cut before that leaves the old or the new
/// value. Not synchronized: the caller prevents concurrent writes to the same file.
package struct StateFile<Value>: Sendable {
  package let path: String
  private let limit: Int
  private let mode: UInt32
  private let isPrivate: Bool
  private let makesFolder: Bool
  private let usesCopy: Bool
  private let advice: String
  private let encode: @Sendable (Value) -> [UInt8]
  private let decode: @Sendable ([UInt8]) throws -> Value

  /// Describes a file, which need not exist.
  ///
  /// - Parameters:
  ///   - limit: Maximum size in bytes; a larger file counts as damaged.
  ///   - mode: The permissions of the file and its copy.
  ///   - isPrivate: Whether a file that others may read or change counts as damaged.
  ///   - makesFolder: Whether a write creates a missing folder.
  ///   - usesCopy: Whether `load` uses the copy, or only a person.
  ///   - advice: What a person can do if the file and its copy are damaged.
  ///   - decode: Throws a `LineError` to name a damaged line.
  package init(
    _ path: String, upTo limit: Int, mode: UInt32 = 0o600, isPrivate: Bool = false,
    makesFolder: Bool = false, usesCopy: Bool = true, withoutCopy advice: String,
    encode: @escaping @Sendable (Value) -> [UInt8],
    decode: @escaping @Sendable ([UInt8]) throws -> Value
  ) {
    (self.path, self.limit, self.mode) = (path, limit, mode)
    (self.isPrivate, self.makesFolder) = (isPrivate, makesFolder)
    (self.usesCopy, self.advice) = (usesCopy, advice)
    (self.encode, self.decode) = (encode, decode)
  }

  package var copyPath: String { "\(path).good" }

  /// The command that replaces the file by its copy.
  private var repair: String {
    let copy = "cp -p \(copyPath) \(path)"
    return Disk.exists(path) ? "mv \(path) \(path).damaged && \(copy)" : copy
  }

  /// Reads the file. Does not use the copy.
  ///
  /// - Returns: `nil` if there is neither the file nor its copy.
  /// - Throws: `StateError` if the file is damaged, or missing beside its copy.
  package func read() throws(StateError) -> Value? {
    if let value = try read(path) { return value }
    // guard: a missing file beside its copy is damaged
    if Disk.exists(copyPath) { throw StateError(path, "is missing") }
    return nil
  }

  /// Reads the file, or its copy if the file is damaged.
  ///
  /// - Returns: The value, or `nil` if there are no files or both are damaged; and the damage, with
  ///   what a person can do.
  package func load() -> (value: Value?, problem: StateError?) {
    do throws(StateError) {
      return (try read(), nil)
    } catch {
      // The error of the file is the one that counts, not that of its copy.
      guard let value = try? read(copyPath) else {
        if access(copyPath, R_OK) != 0, errno == EACCES {
          let name = FolderOwner.name(of: geteuid())
          return (nil, error.adding("\(copyPath) cannot be read by \(name)"))
        }
        return (nil, error.adding("there is no good copy; \(advice)"))
      }
      // guard: a damaged state file is replaced by its copy
      guard usesCopy else {
        return (nil, error.adding("to restore its last good copy: \(repair)"))
      }
      return (value, error.adding("its last good copy is used; to restore it: \(repair)"))
    }
  }

  /// Replaces the file and its copy. Keeps a damaged file as `PATH.damaged-N`.
  ///
  /// Writes the copy first: it never lacks a change that was confirmed, such as a link that was
  /// revoked or a job that was begun.
  package func write(_ value: Value) throws(StateError) {
    let bytes = encode(value)
    try Disk.replace(copyPath, with: bytes, mode: mode, makesFolder: makesFolder)
    if isDamaged { try Disk.keepAside(path) }
    try Disk.replace(path, with: bytes, mode: mode)
  }

  /// Writes the copy only, for a file that a person has changed.
  package func writeCopy(_ value: Value) throws(StateError) {
    try Disk.replace(copyPath, with: encode(value), mode: mode)
  }

  /// Removes the file and its copy; the copy first, so that it does not bring back what is removed.
  package func remove() throws(StateError) {
    try Disk.remove(copyPath)
    try Disk.remove(path)
  }

  private var isDamaged: Bool {
    do throws(StateError) {
      _ = try read(path)
      return false
    } catch {
      return true
    }
  }

  private func read(_ path: String) throws(StateError) -> Value? {
    guard let bytes = try Disk.read(path, upTo: limit, isPrivate: isPrivate) else { return nil }
    guard !bytes.isEmpty else { throw StateError(path, "is empty") }
    guard !bytes.contains(0) else {
      throw StateError(path, "contains bytes of zero, as after a power cut or on a damaged disk")
    }
    do {
      return try decode(bytes)
    } catch let error as LineError {
      throw StateError("\(path):\(error.line)", error.problem)
    } catch {
      throw StateError(path, "cannot be read: \(error)")
    }
  }
}

/// A damaged line of a state file.
package struct LineError: Error {
  let line: Int
  let problem: String

  /// - Parameter line: The number of the line, from 1.
  package init(_ line: Int, _ problem: String) { (self.line, self.problem) = (line, problem) }
}
