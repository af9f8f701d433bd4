import Foundation
import GRDB

extension KioskLedger {
  /// Copies the ledger as it is now into a new file, while the kiosk may go on writing.
  ///
  /// The copy appears under its name only when it is whole and synced. It is one file, which can be
  /// read where nothing can be written.
  ///
  /// - Throws: `LedgerError.cannotOpen` if there is a file already, and if it cannot be written.
  package func backUp(to path: String) throws(LedgerError) {
    let (backup, partial) = try Self.beginBackup(at: path)
    defer { partial.remove() }
    try LedgerError.catching(path) {
      try Self.copy(database, to: partial.path)
    }
    try partial.publish(as: backup)
  }

  /// Writes such a copy to what is open already, a pipe for instance. It is made beside the ledger,
  /// where there is room for it if anywhere, and has no name any more when the first byte leaves.
  package func backUp(writingTo descriptor: Int32) throws(LedgerError) {
    let copy = "\(path).copy-\(getpid())"
    try backUp(to: copy)
    let file = open(copy, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    unlink(copy)
    guard file >= 0 else { throw LedgerFile.failure(at: copy) }
    let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
    try FileWriter.copy(handle.fileDescriptor, named: copy) { (bytes) throws(LedgerError) in
      try FileWriter.write(bytes, to: descriptor, named: "standard output")
    }
  }

  static func beginBackup(at path: String) throws(LedgerError) -> (LedgerFile, partial: LedgerFile)
  {
    let backup = LedgerFile(path: path)
    guard !backup.exists else {
      throw .cannotOpen(path: path, detail: "there is a file already; choose another name")
    }
    let partial = LedgerFile(path: path + ".partial")
    partial.remove()
    return (backup, partial)
  }

  /// By SQLite's own means, so that it is a ledger as it was at one moment.
  private static func copy(_ database: DatabaseQueue, to path: String) throws {
    let copy = try DatabaseQueue(path: path)
    try database.backup(to: copy)
    // With a log it would be three files.
    try copy.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = DELETE") }
    try copy.close()
  }
}

/// A backup that another process makes, written as it comes. It too appears under its name only when
/// it is whole and synced.
package final class BackupWriter: Sendable {
  private let backup: LedgerFile
  private let partial: LedgerFile
  private let writer: FileWriter

  /// - Throws: `LedgerError.cannotOpen` if there is a file already, and if it cannot be written.
  package init(path: String) throws(LedgerError) {
    (backup, partial) = try KioskLedger.beginBackup(at: path)
    writer = try FileWriter(path: partial.path)
  }

  package func write(_ bytes: [UInt8]) throws(LedgerError) { try writer.write(bytes) }

  package func finish() throws(LedgerError) { try partial.publish(as: backup) }

  deinit { partial.remove() }
}
