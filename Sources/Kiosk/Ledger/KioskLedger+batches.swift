import GRDB
import JuiceDomain
import KioskCore
import KioskProtocol

// Reads and verifies the batches of fruit with a date.
extension KioskLedger {
  /// Reads the batches, the amounts of expired fruit, and the entries whose fruit may return to a
  /// batch.
  static func readBatches(into state: inout LedgerState, in database: Database) throws {
    for row in try database.rows("SELECT * FROM batch") {
      guard let id = BatchID(row) else { continue }
      state.batches[id] = Batch(
        quantity: row["quantity"], expires: Timestamp(milliseconds: row["expires"]),
        bestBefore: (row["best_before"] as Int64?).map(Timestamp.init(milliseconds:)),
        at: Timestamp(milliseconds: row["at"]), behind: row["behind"])
    }
    for row in try database.rows("SELECT * FROM expired") {
      if let id = BatchID(row) { state.expired[id] = row["quantity"] }
    }
    state.taken = try database.rows(taken).map { try LedgerRow($0).entry }
  }

  /// Selects the entries of open orders and programs, and of the decisions to make them again, in
  /// the order of their numbers. Selects nothing if no such entry has taken fruit with a date.
  private static let taken = """
    WITH open AS (SELECT seq FROM job UNION SELECT seq FROM charge),
      taking AS (
        SELECT * FROM entry
        WHERE seq IN (SELECT seq FROM open) OR job IN (SELECT seq FROM open) AND status = 'again')
    SELECT * FROM taking
    WHERE EXISTS (SELECT 1 FROM taking WHERE event -> 'batches' IS NOT NULL)
    ORDER BY seq
    """

  /// Selects a batch whose quantity differs from the sum of its entries.
  static let wrongBatch = """
    SELECT fruit, number, SUM(quantity) AS quantity, SUM(amount) AS sum FROM (
      SELECT fruit, number, quantity, 0 AS amount FROM batch
      UNION ALL SELECT json_extract(value, '$.fruit'), json_extract(value, '$.batch'), 0,
        json_extract(value, '$.amount')
      FROM entry, json_each(event, '$.batches') WHERE instr(event, '"batches":['))
    GROUP BY fruit, number HAVING SUM(quantity) <> SUM(amount) LIMIT 1
    """

  /// Selects a fruit whose expired amount in the kiosk differs from the sum of its entries.
  static let wrongExpired = """
    SELECT fruit, SUM(quantity) AS quantity, SUM(amount) AS sum FROM (
      SELECT fruit, quantity, 0 AS amount FROM expired
      UNION ALL SELECT key, 0, -value FROM entry, json_each(event, '$.changes') WHERE status = 'expired'
      UNION ALL SELECT key, 0, -value FROM entry, json_each(event, '$.expired')
        WHERE status = 'removed')
    GROUP BY fruit HAVING SUM(quantity) <> SUM(amount) LIMIT 1
    """

  /// Selects a fruit whose batches add up to more than its stock.
  static let wrongDates = """
    SELECT fruit, SUM(batch.quantity) AS sum, stock.quantity FROM batch JOIN stock USING (fruit)
    GROUP BY fruit HAVING sum > stock.quantity LIMIT 1
    """
}

extension LedgerWriter {
  /// Writes the changed batches and amounts of expired fruit. Most ledgers have neither.
  func setBatches(of transaction: LedgerTransaction, on database: Database) throws {
    for (id, batch) in transaction.batches {
      guard let batch else {
        try database.cachedStatement(sql: "DELETE FROM batch WHERE fruit = ? AND number = ?")
          .execute(arguments: [id.fruit.text, id.number])
        continue
      }
      try database.cachedStatement(sql: "INSERT OR REPLACE INTO batch VALUES (?, ?, ?, ?, ?, ?, ?)")
        .execute(arguments: [
          id.fruit.text, id.number, batch.quantity, batch.expires.milliseconds,
          batch.at.milliseconds, batch.behind, batch.bestBefore?.milliseconds,
        ])
    }
    for (id, quantity) in transaction.expired {
      if let quantity {
        try database.cachedStatement(sql: "INSERT OR REPLACE INTO expired VALUES (?, ?, ?)")
          .execute(arguments: [id.fruit.text, id.number, quantity])
      } else {
        try database.cachedStatement(sql: "DELETE FROM expired WHERE fruit = ? AND number = ?")
          .execute(arguments: [id.fruit.text, id.number])
      }
    }
  }
}

extension BatchID {
  fileprivate init?(_ row: Row) {
    guard let fruit = Fruit.ID(row["fruit"] as String) else { return nil }
    self.init(fruit: fruit, number: row["number"])
  }
}
