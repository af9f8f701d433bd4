import Foundation

/// A ledger on the disk: the database, and what SQLite keeps beside it.
struct LedgerFile: Sendable {
  let path: String

  /// Beside the database: what is not in it yet (SQLite's log), and an index of that.
  private var log: String { path + "-wal" }
  private var index: String { path + "-shm" }

  private var parts: [String] { [path, log, index, path + "-journal", path + ".lock"] }

  var exists: Bool { access(path, F_OK) == 0 }

  /// Removes the file and all that belongs to it.
  func remove() {
    for file in parts { unlink(file) }
  }

  static let isLink = "it is a symbolic link; put the file itself there"

  /// A link in place of a file would be somebody else's idea of where the ledger is.
  func refuseLinks() throws(LedgerError) {
    for file in parts {
      var status = stat()
      if lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFLNK {
        throw .cannotOpen(path: file, detail: Self.isLink)
      }
    }
  }

  /// Gives a finished file its name, under which there must be none yet. What has the name is whole,
  /// and outlives a power cut.
  func publish(as other: LedgerFile) throws(LedgerError) {
    try sync()
    guard link(path, other.path) == 0 else {
      if errno == EEXIST {
        throw .cannotOpen(
          path: other.path, detail: "there is a file already; choose another name")
      }
      throw failure(at: other.path)
    }
    unlink(path)
    try other.syncFolder()
  }

  /// Puts this file, which nobody has open, in the place of another one, which is kept.
  ///
  /// At each moment one of the two is there as a whole. The other one's log must be empty, unless it
  /// is damaged: with its log it would become part of this one (it goes by the name alone).
  ///
  /// - Returns: where the other one is kept; `nil` if there was none.
  func replace(_ other: LedgerFile) throws(LedgerError) -> String? {
    copyPermissions(from: other)
    try sync()
    let kept = other.exists ? try other.moveAside() : nil
    unlink(other.log)
    unlink(other.index)
    // The log must be gone on the disk before the database is another one.
    try other.syncFolder()
    guard rename(path, other.path) == 0 else { throw failure(at: other.path) }
    try other.syncFolder()
    return kept
  }

  /// A second name for the file, and for its log if it has one.
  private func moveAside() throws(LedgerError) -> String {
    for number in 1... {
      let kept = LedgerFile(path: "\(path).replaced-\(number)")
      if link(path, kept.path) == 0 {
        guard link(log, kept.log) == 0 || errno == ENOENT else { throw failure(at: kept.log) }
        return kept.path
      }
      guard errno == EEXIST else { throw failure(at: kept.path) }
    }
    return path
  }

  private func copyPermissions(from other: LedgerFile) {
    var status = stat()
    chmod(path, stat(other.path, &status) == 0 ? status.st_mode & 0o777 : 0o640)
  }

  private var folder: String { URL(filePath: path).deletingLastPathComponent().path }

  private func sync() throws(LedgerError) { try Self.sync(path) }

  /// Only then a name that was given or taken outlives a power cut.
  func syncFolder() throws(LedgerError) { try Self.sync(folder) }

  static func sync(_ path: String) throws(LedgerError) {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(at: path) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure(at: path) }
  }

  private func failure(at path: String) -> LedgerError { Self.failure(at: path) }

  /// The last error of the C library, in our words.
  static func failure(at path: String) -> LedgerError {
    let number = errno
    let detail = String(cString: strerror(number))
    return switch number {
    case ENOSPC, EDQUOT: .diskFull(path: path)
    case ENOENT, EACCES, EPERM, EROFS, ENOTDIR, EISDIR: .cannotOpen(path: path, detail: detail)
    default: .disk(path: path, detail: detail)
    }
  }
}
