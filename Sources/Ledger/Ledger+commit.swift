import GRDB
package import KioskCore

extension Ledger {
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
        if writer?.keepsDeliveries != false { try forgetDeliveries() }
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

  /// Forgets the fingerprints: nothing that an earlier session delivered will come again.
  package func forgetDeliveries() throws(LedgerError) {
    writer = nil
    try writing { try $0.execute(sql: "DELETE FROM delivery") }
  }

  /// Forgets the fingerprints up to those of an entry, which the broker knows to be acknowledged.
  package func forgetDeliveries(through seq: Int) throws(LedgerError) {
    writer = nil
    try writing {
      try $0.execute(
        sql: "DELETE FROM delivery WHERE number <= \(Self.lastDelivery)", arguments: [seq])
    }
  }

  /// Not simply by `seq`: a delivery that counts as one with an earlier entry came after it.
  // guard: a press that bounced tells nothing of what was acknowledged
  static let lastDelivery =
    "(SELECT IFNULL(MAX(number), 0) FROM delivery WHERE seq <= ? AND echo = 0)"

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
