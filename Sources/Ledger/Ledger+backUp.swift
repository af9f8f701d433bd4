import GRDB

extension Ledger {
  /// Copies the ledger as it is now into a new file, while the kiosk may go on writing.
  ///
  /// The copy appears under its name only when it is whole and synced. It is one file, which can be
  /// read where nothing can be written.
  ///
  /// - Throws: `LedgerError.cannotOpen` if there is a file already, and if it cannot be written.
  package func backUp(to path: String) throws(LedgerError) {
    let backup = LedgerFile(path: path)
    guard !backup.exists else {
      throw .cannotOpen(path: path, detail: "there is a file already; choose another name")
    }
    let partial = LedgerFile(path: path + ".partial")
    partial.remove()
    defer { partial.remove() }
    try LedgerError.catching(path) {
      try Self.copy(database, to: partial.path)
    }
    try partial.publish(as: backup)
  }

  /// By SQLite's own means, so that it is a ledger as it was at one moment.
  static func copy(_ database: DatabaseQueue, to path: String) throws {
    let copy = try DatabaseQueue(path: path)
    try database.backup(to: copy)
    // With a log it would be three files.
    try copy.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = DELETE") }
    try copy.close()
  }
}
