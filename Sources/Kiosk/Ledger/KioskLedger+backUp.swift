import Foundation
import GRDB

extension KioskLedger {
  /// Copies the current state of the ledger to a new file. The kiosk may continue to write.
  ///
  /// The copy appears under its name when it is complete and synced. It is one file, and can be
  /// read on a read-only file system.
  ///
  /// - Throws: `LedgerError`, for example `cannotOpen` if the file exists or cannot be created.
  package func backUp(to path: String) throws(LedgerError) {
    let (backup, partial) = try Self.beginBackup(at: path)
    defer { partial.remove() }
    try LedgerError.catching(path) {
      try Self.copy(database, to: partial.path)
    }
    try partial.publish(as: backup)
  }

  /// Writes a copy to an open file, for example a pipe. Creates the copy beside the ledger, where
  /// space is most likely available, and unlinks it before writing the first byte.
  package func backUp(writingTo descriptor: Int32) throws(LedgerError) {
    let copy = "\(path).copy"
    // All processes use the same path, one after the other, so that each removes what a killed one has left.
    let file = try LedgerFile(path: copy).locked { () throws(LedgerError) -> FileHandle in
      unlink(copy)
      try backUp(to: copy)
      defer { unlink(copy) }
      let file = open(copy, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
      guard file >= 0 else { throw LedgerFile.failure(at: copy) }
      return FileHandle(fileDescriptor: file, closeOnDealloc: true)
    }
    try FileWriter.copy(file.fileDescriptor, named: copy) { (bytes) throws(LedgerError) in
      try FileWriter.write(bytes, to: descriptor, named: "standard output")
    }
  }

  static func beginBackup(at path: String) throws(LedgerError) -> (LedgerFile, partial: LedgerFile)
  {
    let backup = LedgerFile(path: path)
    try backup.requireAbsence()
    let partial = LedgerFile(path: path + ".partial")
    partial.remove()
    return (backup, partial)
  }

  /// Copies with SQLite's backup API, so that the copy is one state of the ledger.
  private static func copy(_ database: DatabaseQueue, to path: String) throws {
    let copy = try DatabaseQueue(path: path)
    try database.backup(to: copy)
    // With a write-ahead log the copy would be three files.
    try copy.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = DELETE") }
    try copy.close()
  }
}

/// Writes a backup that another process creates, in pieces. The backup appears under its name when
/// `finish()` has synced it.
package final class BackupWriter: Sendable {
  private let backup: LedgerFile
  private let partial: LedgerFile
  private let writer: FileWriter

  /// Creates the temporary file of a backup.
  ///
  /// - Throws: `LedgerError`, for example `cannotOpen` if the backup exists or its file cannot be created.
  package init(path: String) throws(LedgerError) {
    (backup, partial) = try KioskLedger.beginBackup(at: path)
    writer = try FileWriter(path: partial.path)
  }

  package func write(_ bytes: [UInt8]) throws(LedgerError) { try writer.write(bytes) }

  package func finish() throws(LedgerError) { try partial.publish(as: backup) }

  deinit { partial.remove() }
}
