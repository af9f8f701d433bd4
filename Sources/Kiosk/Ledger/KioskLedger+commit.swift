import GRDB
package import KioskCore

extension KioskLedger {
  /// Writes a transaction; when it returns, the disk has it.
  ///
  /// - Throws: `LedgerError`; nothing of the transaction has happened then, or, after an I/O error
  ///   in the last step, all of it: open the ledger again to know.
  package func commit(_ transaction: LedgerTransaction) throws(LedgerError) {
    let deliveries = uncounted + transaction.deliveries
    guard !transaction.isEmpty else {
      uncounted = deliveries
      // What came before so many has been acknowledged.
      if deliveries >= Fingerprint.kept {
        if writer?.keepsDeliveries != false { try deleteDeliveries() }
        uncounted = 0
      }
      return
    }
    do {
      try LedgerError.catching(path) {
        try index(transaction.records)
        try database.writeWithoutTransaction { database in
          let writer = try self.writer ?? LedgerWriter(database)
          self.writer = writer
          try writer.write(transaction, deliveries: deliveries, on: database)
        }
      }
    } catch {
      // What they remember of it is not there, or may not be.
      writer = nil
      requests = nil
      throw error
    }
    uncounted = 0
  }

  /// Forgets the deliveries that are acknowledged with this entry's, or all of them.
  package func deleteDeliveries(through seq: Int = .max) throws(LedgerError) {
    writer = nil
    try writing {
      try $0.execute(
        sql: "DELETE FROM delivery WHERE acknowledged_with <= ?", arguments: [seq])
    }
  }

  /// Finds out whether a commit works. SQLite does not write what would change nothing.
  package func probe() throws(LedgerError) {
    try writing {
      try $0.execute(sql: "UPDATE kiosk SET confirmed = confirmed + 1")
      try $0.execute(sql: "UPDATE kiosk SET confirmed = confirmed - 1")
    }
  }

  /// Notes which retained topics hold something of this kiosk.
  package func setTopics(_ topics: Set<String>) throws(LedgerError) {
    try writing { database in
      try database.execute(sql: "DELETE FROM topic")
      for topic in topics {
        try database.cachedStatement(sql: "INSERT INTO topic VALUES (?)")
          .execute(arguments: [topic])
      }
    }
  }
}
