import Foundation

/// The files of a ledger: the database, and the files of SQLite and the lock beside it.
struct LedgerFile: Sendable {
  let path: String

  /// SQLite's write-ahead log: commits that are not in the database yet.
  private var log: String { path + "-wal" }
  /// SQLite's index of the log.
  private var index: String { path + "-shm" }

  private var parts: [String] { [path, log, index, path + "-journal", path + ".lock"] }

  /// Whether there is a file or a symbolic link with this name, even a link that leads nowhere.
  var exists: Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// The numbers of the device and of the file, or `nil` if there is no file.
  var identity: Identity? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    return Identity(device: UInt64(status.st_dev), file: UInt64(status.st_ino))
  }

  struct Identity: Hashable {
    let device: UInt64
    let file: UInt64
  }

  /// The last copy that a running kiosk has saved because its ledger was removed, or `nil` if there
  /// is none; and the name of the next one.
  var rescued: (last: LedgerFile?, next: LedgerFile) {
    var (last, number): (LedgerFile?, Int) = (nil, 1)
    var next: LedgerFile { LedgerFile(path: "\(path).rescued-\(number)") }
    while next.exists { (last, number) = (next, number + 1) }
    return (last, next)
  }

  /// Removes all files of the ledger.
  func remove() {
    for file in parts { unlink(file) }
  }

  static let isLink = "it is a symbolic link; put the file itself there"

  /// Throws an error if a file is a symbolic link, by which another user could redirect the ledger.
  func refuseLinks() throws(LedgerError) {
    for file in parts {
      var status = stat()
      if lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFLNK {
        throw .cannotOpen(path: file, detail: Self.isLink)
      }
    }
  }

  /// Throws an error if the file exists.
  func requireAbsence() throws(LedgerError) {
    guard !exists else {
      throw .cannotOpen(path: path, detail: "there is a file already; choose another name")
    }
  }

  /// Syncs a finished file and then renames it, so that the file under the new name is complete and
  /// survives a power cut. Throws an error if the new name exists already.
  func publish(as other: LedgerFile) throws(LedgerError) {
    try sync()
    // link(2) would check and rename in one step, but FAT has no hard links.
    try other.requireAbsence()
    guard rename(path, other.path) == 0 else { throw failure(at: other.path) }
    try other.syncFolder()
  }

  /// Replaces another ledger with this file, and keeps the other ledger under a new name. No
  /// process may have this file open.
  ///
  /// At each moment the other path has one of the two ledgers completely, if the log of the other ledger is empty: the
  /// call first deletes that log, because SQLite finds a log by its name and would apply the log to this file.
  ///
  /// - Returns: The path of the kept ledger, or `nil` if there was none.
  func replace(_ other: LedgerFile) throws(LedgerError) -> String? {
    copyPermissions(from: other)
    try sync()
    let kept = other.exists ? try other.moveAside() : nil
    unlink(other.log)
    unlink(other.index)
    // The removal of the log must be on the disk before the database is replaced.
    try other.syncFolder()
    guard rename(path, other.path) == 0 else { throw failure(at: other.path) }
    try other.syncFolder()
    return kept
  }

  /// Keeps the file, and its log if there is one, under another name as well. Returns the new path.
  private func moveAside() throws(LedgerError) -> String {
    var number = 1
    var kept: LedgerFile { LedgerFile(path: "\(path).replaced-\(number)") }
    while kept.exists { number += 1 }
    try Self.keep(path, as: kept.path)
    if access(log, F_OK) == 0 { try Self.keep(log, as: kept.log) }
    return kept.path
  }

  /// Adds another name to a file. Copies the file if the file system, like FAT, has no hard links.
  private static func keep(_ path: String, as other: String) throws(LedgerError) {
    if link(path, other) == 0 { return }
    guard errno == EPERM || errno == EOPNOTSUPP else { throw failure(at: other) }
    let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard file >= 0 else { throw failure(at: path) }
    defer { close(file) }
    let copy = try FileWriter(path: other)
    try FileWriter.copy(file, named: path, to: copy.write)
    try Self.sync(other)
  }

  /// Calls `body` while no other process does so for this file. The lock (flock) is that of `PATH.lock`.
  func locked<Result>(_ body: () throws(LedgerError) -> Result) throws(LedgerError) -> Result {
    let lock = open(path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o640)
    guard lock >= 0 else { throw failure(at: path + ".lock") }
    defer { close(lock) }
    while flock(lock, LOCK_EX) != 0 {
      guard errno == EINTR else { throw failure(at: path + ".lock") }
    }
    return try body()
  }

  private func copyPermissions(from other: LedgerFile) {
    var status = stat()
    chmod(path, stat(other.path, &status) == 0 ? status.st_mode & 0o777 : 0o640)
  }

  private var folder: String { URL(filePath: path).deletingLastPathComponent().path }

  private func sync() throws(LedgerError) { try Self.sync(path) }

  /// Syncs the folder, after which created and removed names survive a power cut.
  func syncFolder() throws(LedgerError) { try Self.sync(folder) }

  static func sync(_ path: String) throws(LedgerError) {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(at: path) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure(at: path) }
  }

  private func failure(at path: String) -> LedgerError { Self.failure(at: path) }

  /// Returns the last error of the C library as a `LedgerError`.
  static func failure(at path: String) -> LedgerError {
    let number = errno
    return switch number {
    case ENOSPC, EDQUOT: .diskFull(path: path)
    case ENOENT, EACCES, EPERM, EROFS, ENOTDIR, EISDIR: .cannotOpen(path, errno: number)
    default: .disk(path: path, detail: String(cString: strerror(number)))
    }
  }
}
