import GRDB
package import KioskCore

extension KioskLedger {
  /// Writes a transaction unless it is empty. When the call returns, the transaction is on the disk.
  ///
  /// - Returns: The events of the entries, as the ledger stores them.
  /// - Throws: `LedgerError`. The transaction then had no effect; or, after an I/O error in the
  ///   last step, it may be complete: read the state again.
  @discardableResult
  package func commit(_ transaction: LedgerTransaction) throws(LedgerError) -> [[UInt8]] {
    let deliveries = uncounted + transaction.deliveries
    guard !transaction.isEmpty else {
      uncounted = deliveries
      // All deliveries before the last `Fingerprint.kept` ones have been acknowledged.
      if deliveries >= Fingerprint.kept {
        if writer?.keepsDeliveries != false { try deleteDeliveries() }
        uncounted = 0
      }
      return []
    }
    do {
      let events = try LedgerError.catching(path) {
        try index(transaction.records)
        return try database.writeWithoutTransaction { database in
          let writer = try self.writer ?? LedgerWriter(database)
          self.writer = writer
          return try writer.write(transaction, deliveries: deliveries, on: database)
        }
      }
      uncounted = 0
      return events
    } catch {
      // The cached values of the writer and the index may differ from the file.
      writer = nil
      requests = nil
      throw error
    }
  }

  /// Deletes the recorded deliveries acknowledged with entries up to `seq`, by default all.
  package func deleteDeliveries(through seq: Int = .max) throws(LedgerError) {
    writer = nil
    try writing {
      try $0.execute(
        sql: "DELETE FROM delivery WHERE acknowledged_with <= ?", arguments: [seq])
    }
  }

  /// Tests whether a commit works. Changes a value and restores it, because an update without a
  /// change writes nothing.
  package func probe() throws(LedgerError) {
    try writing {
      try $0.execute(sql: "UPDATE kiosk SET confirmed = confirmed + 1")
      try $0.execute(sql: "UPDATE kiosk SET confirmed = confirmed - 1")
    }
  }

  /// Returns the ids of the fruits that the ledger has ever held.
  package func fruits() throws(LedgerError) -> Set<String> {
    try reading { database in
      Set(try database.rows("SELECT fruit FROM stock").map { $0["fruit"] as String })
    }
  }

  /// Records which retained topics may hold a message of this kiosk.
  package func setTopics(_ topics: Set<String>) throws(LedgerError) {
    try writing { database in
      try database.execute(sql: "DELETE FROM topic")
      for topic in topics {
        try database.cachedStatement(sql: "INSERT INTO topic VALUES (?)")
          .execute(arguments: [topic])
      }
    }
  }

  /// Records which filters the session with the broker may contain.
  package func setSubscriptions(_ filters: Set<String>) throws(LedgerError) {
    let kind = StateKey.Kind.subscription.rawValue
    try writing { database in
      try database.execute(sql: "DELETE FROM state WHERE kind = ?", arguments: [kind])
      for filter in filters {
        try database.execute(
          sql: "INSERT INTO state VALUES (?, ?, '{}')", arguments: [kind, filter])
      }
    }
  }
}
