import GRDB
package import KioskProtocol

extension KioskLedger {
  /// The outcome of a restore.
  package struct Restoration: Hashable, Sendable {
    /// The number of entries of the backup.
    package let entries: Int
    /// The time of the last entry, or `nil` if there is none.
    package let last: Timestamp?
    /// The path under which the previous ledger is kept, or `nil` if there was none or nothing was replaced.
    package let kept: String?
    /// Whether the restore changed nothing, because the ledger already has the same entries.
    package let wasThere: Bool
  }

  /// Replaces the ledger with a backup, after checking the whole backup.
  ///
  /// The existing ledger stays in place until the last step, which keeps it under another name. The
  /// restore deletes the records of the session with the broker. So the kiosk begins a new session,
  /// in which the broker does not redeliver orders that the backup does not contain. Later entries
  /// have a new epoch.
  ///
  /// - Parameters:
  ///   - backup: A ledger of this version or an earlier one.
  ///   - path: The path of the kiosk's ledger.
  ///   - replacing: Whether to replace a ledger with entries that the backup does not have.
  /// - Throws: `LedgerError`, for example `inUse` while a process uses the ledger, `badBackup`, or
  ///   `notReplaced` if entries could be lost. After these three errors, the ledger is unchanged.
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
    // The replaced ledger may have used the next numbers for other entries.
    try restored.writing {
      try $0.execute(sql: "UPDATE kiosk SET epoch = \(LedgerSchema.newEpoch)")
    }
    try restored.close()
    if file.exists { try checkpointJournal(file) }
    lock.clear()
    let kept = try copy.replace(file)
    return Restoration(entries: entries, last: last?.at, kept: kept, wasThere: false)
  }

  /// Returns a copy of a backup, migrated to this version and verified.
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

  /// Writes the write-ahead log into the database, so that the log is empty. Keeps the log if the
  /// database is damaged.
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
            // A reader has the database open.
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
  /// Returns the same error about a backup, with advice for the backup.
  fileprivate func of(_ backup: String) -> LedgerError {
    switch self {
    case .cannotOpen(_, let detail): .badBackup(path: backup, detail: detail)
    case .damaged(_, let detail): .badBackup(path: backup, detail: "it is damaged (\(detail))")
    case .inconsistent(_, let detail):
      .badBackup(path: backup, detail: "it is inconsistent: \(detail)")
    case .newer: .newer(path: backup)
    default: self
    }
  }
}
