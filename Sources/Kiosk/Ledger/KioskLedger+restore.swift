import GRDB
package import KioskProtocol

extension KioskLedger {
  /// What came of a restore.
  package struct Restoration: Hashable, Sendable {
    /// How many entries the ledger has now, and when the last of them was made.
    package let entries: Int
    package let last: Timestamp?
    /// Where the ledger is kept that was there before; `nil` if there was none.
    package let kept: String?
    /// Nothing had to be done: the ledger has these very entries.
    package let wasThere: Bool
  }

  /// Puts a backup in the place of the ledger, after it has been checked whole.
  ///
  /// Until the last step the ledger that is there stays; then it is kept under another name. What the
  /// kiosk knew of its session with the broker is forgotten: it begins a new one, so that nothing
  /// pours again that the backup does not know. What is recorded from then on is of another epoch.
  ///
  /// - Parameters:
  ///   - backup: a ledger of this version or of an earlier one.
  ///   - path: of the kiosk's ledger.
  ///   - replacing: even if that has entries which the backup does not have.
  /// - Throws: `LedgerError`: `inUse` while a kiosk runs, `badBackup`, and `notReplaced` where entries
  ///   would be lost. Nothing has changed then.
  package static func restore(
    from backup: BackupFile, to path: String, replacing: Bool = false
  ) throws(LedgerError) -> Restoration {
    let lock = try LedgerLock(path: path, clock: .current)
    defer { withExtendedLifetime(lock) {} }
    let file = LedgerFile(path: path)
    let copy = LedgerFile(path: path + ".restoring")
    copy.remove()
    defer { copy.remove() }
    let (restored, entries) = try checked(backup, as: copy)
    let last = try restored.last
    if file.exists, !replacing {
      let comparison = comparison(of: file, to: restored)
      if comparison == .same {
        return Restoration(entries: entries, last: last?.at, kept: nil, wasThere: true)
      }
      if let words = comparison.lossDescription { throw .notReplaced(path: path, words) }
    }
    // What the ledger in its place has recorded since the backup keeps its numbers.
    try restored.writing {
      try $0.execute(sql: "UPDATE kiosk SET epoch = \(LedgerSchema.newEpoch)")
    }
    try restored.close()
    if file.exists { try checkpointJournal(file) }
    lock.clear()
    let kept = try copy.replace(file)
    return Restoration(entries: entries, last: last?.at, kept: kept, wasThere: false)
  }

  /// A copy of a backup, brought up to date and found right.
  private static func checked(
    _ backup: BackupFile, as copy: LedgerFile
  ) throws(LedgerError) -> (KioskLedger, entries: Int) {
    try backup.copy(to: copy)
    var configuration = Configuration()
    configuration.readonly = true
    do throws(LedgerError) {
      try LedgerError.catching(backup.path) {
        let database = try DatabaseQueue(path: copy.path, configuration: configuration)
        try LedgerSchema.check(database, path: backup.path)
        try database.close()
      }
      let ledger = try KioskLedger(path: copy.path)
      return (ledger, try ledger.verify())
    } catch {
      throw error.of(backup.path)
    }
  }

  /// Brings all that was written into the file itself, so that its log is empty; a file too damaged
  /// for that keeps its log.
  static func checkpointJournal(_ file: LedgerFile) throws(LedgerError) {
    do throws(LedgerError) {
      try LedgerError.catching(file.path) {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        let database = try DatabaseQueue(path: file.path, configuration: configuration)
        try database.writeWithoutTransaction { database in
          let mode = try String.fetchOne(database, sql: "PRAGMA journal_mode")
          do {
            if mode == "wal" { _ = try database.checkpoint(.truncate) }
          } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            // Somebody is reading.
            throw LedgerError.inUse(path: file.path, process: nil)
          }
        }
        try database.close()
      }
    } catch {
      guard case .damaged = error else { throw error }
    }
  }
}

extension LedgerError {
  /// The same of a backup, where other advice helps.
  fileprivate func of(_ backup: String) -> LedgerError {
    switch self {
    case .cannotOpen(_, let detail): .badBackup(path: backup, detail: detail)
    case .damaged(_, let detail): .badBackup(path: backup, detail: "it is damaged (\(detail))")
    case .inconsistent(_, let detail):
      .badBackup(path: backup, detail: "it contradicts itself: \(detail)")
    case .newer: .newer(path: backup)
    default: self
    }
  }
}
