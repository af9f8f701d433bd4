import GRDB
import JuiceDomain
import KioskCore
import KioskProtocol

extension KioskLedger {
  /// The number of entries after which the kiosk moves the checkpoint.
  static let checkpointInterval = 10_000

  /// Moves the checkpoint to the last entry.
  static let checkpoint = """
    INSERT OR REPLACE INTO checkpoint
    SELECT fruit, (SELECT MAX(seq) FROM entry), quantity FROM stock
    """

  /// Checks the whole ledger: that SQLite's structures and references are intact, that no entry is
  /// missing, that each entry can be read and agrees with its columns, that the entries add up to
  /// the stock, its batches and the expired fruit, that each made juice has the price of its order,
  /// and that the steps of each charge agree with its order.
  ///
  /// - Returns: The number of entries.
  /// - Throws: `LedgerError` for the first problem found.
  @discardableResult
  package func verify() throws(LedgerError) -> Int {
    return try reading { database in
      let report = try String.fetchAll(database, sql: "PRAGMA integrity_check")
      guard report == ["ok"] else {
        throw LedgerError.damaged(path: path, detail: report.prefix(3).joined(separator: "; "))
      }
      try Self.checkNumbers(database, path: path, after: 0)
      try Self.checkEntries(database, path: path)
      try Self.checkBalances(database, path: path, after: 0)
      try Self.checkBalances(database, path: path, after: Self.checkpointSeq(in: database))
      if let wrong = try Row.fetchOne(database, sql: Self.wrongBatch) {
        throw LedgerError.inconsistent(
          path: path,
          detail: "batch \(wrong["number"] as Int) of \(wrong["fruit"] as String) has "
            + "\(wrong["quantity"] as Int), but its entries add up to \(wrong["sum"] as Int)")
      }
      if let wrong = try Row.fetchOne(database, sql: Self.wrongExpired) {
        throw LedgerError.inconsistent(
          path: path,
          detail: "\(wrong["quantity"] as Int) of \(wrong["fruit"] as String) are expired, "
            + "but the entries add up to \(wrong["sum"] as Int)")
      }
      if let wrong = try Int.fetchOne(database, sql: Self.wrongAmount) {
        throw LedgerError.inconsistent(
          path: path, detail: "entry \(wrong) was made for another amount than it was ordered for")
      }
      if let wrong = try Row.fetchOne(database, sql: Self.wrongCharge) {
        let (charge, flaw): (Int, String) = (wrong["charge"], wrong["flaw"])
        throw LedgerError.inconsistent(path: path, detail: "charge \(charge) \(flaw)")
      }
      if let lost = try Row.fetchOne(database, sql: "PRAGMA foreign_key_check") {
        let (table, parent): (String, String) = (lost["table"], lost["parent"])
        throw LedgerError.inconsistent(
          path: path, detail: "there is a row of \(table) without its \(parent)")
      }
      return try Self.state(in: database).seq
    }
  }

  /// Checks numbers, columns and sums only for the entries after the checkpoint, so that years of orders do not delay a
  /// start. Moves the checkpoint if there are more than `checkpointInterval` entries after it.
  func verifySinceCheckpoint() throws(LedgerError) {
    let isDue = try reading { database in
      let start = try Self.checkpointSeq(in: database)
      try Self.checkNumbers(database, path: path, after: start)
      if let wrong = try Int.fetchOne(database, sql: Self.wrongEvent, arguments: [start]) {
        throw Self.contradiction(in: wrong, path: path)
      }
      try Self.checkBalances(database, path: path, after: start)
      return try Bool.fetchOne(
        database,
        sql: "SELECT MAX(seq) > ? + (SELECT IFNULL(MAX(seq), 0) FROM checkpoint) FROM entry",
        arguments: [Self.checkpointInterval]) ?? false
    }
    if isDue { try writing { try Self.moveCheckpoint(in: $0) } }
  }

  static func moveCheckpoint(in database: Database) throws {
    try database.execute(
      sql: "INSERT OR REPLACE INTO ticket \(ticketsSinceCheckpoint); \(checkpoint)")
  }

  /// Returns the number of the entry of the checkpoint, or 0 if there is none.
  private static func checkpointSeq(in database: Database) throws -> Int {
    try Int.fetchOne(database, sql: "SELECT MAX(seq) FROM checkpoint") ?? 0
  }

  /// Checks that no entry after `start` is missing.
  private static func checkNumbers(
    _ database: Database, path: String, after start: Int
  ) throws {
    let numbering = try Row.fetchOne(
      database, sql: "SELECT COUNT(*), IFNULL(MAX(seq), ?1) FROM entry WHERE seq > ?1",
      arguments: [start])
    if let count = numbering?[0] as Int?, let last = numbering?[1] as Int?, last - start != count {
      throw LedgerError.inconsistent(
        path: path, detail: "\(last - start - count) entries are missing after entry \(start)")
    }
  }

  /// Reads each entry, one at a time, and compares it with its columns.
  private static func checkEntries(_ database: Database, path: String) throws {
    let rows = try Row.fetchCursor(database, sql: "SELECT * FROM entry ORDER BY seq")
    while let row = try rows.next() {
      let seq: Int = row["seq"]
      guard let entry = try? LedgerRow(row).entry else {
        throw LedgerError.inconsistent(path: path, detail: "entry \(seq) cannot be read")
      }
      let (at, status): (Int64, String) = (row["at"], row["status"])
      let (source, id): (String?, String?) = (row["source"], row["id"])
      let (job, charge, day): (Int?, Int?, Int?) = (row["job"], row["charge"], row["day"])
      guard at == entry.at.milliseconds, status == entry.status.rawValue,
        source == entry.source?.description, id == entry.id?.text, job == entry.outcome.job,
        charge == entry.outcome.charge, day == entry.ticket?.day
      else { throw contradiction(in: seq, path: path) }
    }
  }

  private static func contradiction(in seq: Int, path: String) -> LedgerError {
    .inconsistent(path: path, detail: "the columns of entry \(seq) contradict its event")
  }

  /// Checks that the entries after `start` add up to the stock, and the batches as well.
  private static func checkBalances(
    _ database: Database, path: String, after start: Int
  ) throws {
    let checks: [(sql: String, arguments: StatementArguments, flaw: (Row) -> String)] = [
      (wrongBalance, [start], { "its entries add up to \($0["sum"] as Int)" }),
      (wrongDates, [], { "its batches add up to \($0["sum"] as Int)" }),
      (wrongStock, [], { "entry \($0["seq"] as Int) says \($0["told"] as Int)" }),
    ]
    for (sql, arguments, flaw) in checks {
      guard let wrong = try Row.fetchOne(database, sql: sql, arguments: arguments) else { continue }
      throw LedgerError.inconsistent(
        path: path,
        detail: "the stock of \(wrong["fruit"] as String) is \(wrong["quantity"] as Int), "
          + "but \(flaw(wrong))")
    }
  }

  /// Selects an entry whose event is no JSON or differs from a column: what a start can check in little time.
  private static let wrongEvent = """
    SELECT seq FROM entry
    WHERE seq > ?1 AND (NOT json_valid(event) OR event ->> 'seq' IS NOT seq
      OR event ->> 'status' IS NOT status OR event ->> 'source' IS NOT source OR event ->> 'id' IS NOT id
      OR event ->> 'job' IS NOT job OR event ->> 'charge' IS NOT charge)
    LIMIT 1
    """

  /// Selects a fruit whose stock differs from the stock at the start of the check plus the later
  /// changes.
  private static let wrongBalance = """
    SELECT stock.fruit, stock.quantity,
      IFNULL((SELECT quantity FROM checkpoint WHERE fruit = stock.fruit AND ?1 > 0), 0)
        + IFNULL(moved.amount, 0) AS sum
    FROM stock LEFT JOIN
      (SELECT key AS fruit, SUM(value * count) AS amount
        FROM (SELECT changes, COUNT(*) AS count FROM log WHERE seq > ?1 GROUP BY changes),
          json_each(changes)
        GROUP BY key) AS moved
      USING (fruit)
    WHERE sum <> stock.quantity LIMIT 1
    """

  /// Selects a made juice whose price differs from the price in its order.
  private static let wrongAmount = """
    SELECT made.seq FROM log AS made JOIN log AS ordered ON ordered.seq = made.job
    WHERE made.status = 'made'
      AND (made.amount IS NOT ordered.amount OR made.currency IS NOT ordered.currency)
    LIMIT 1
    """

  /// Selects a charge that was captured or held twice, that the device has refunded twice, or that was refunded for
  /// more than was captured. Of the orders' charges that are not open and about which no person has decided, selects one
  /// whose order has not ended, whose captured amount is not wholly refunded although nothing was made, or whose
  /// captured amount, without a refund, is not the price of the glasses that were made.
  private static let wrongCharge = """
    SELECT charge, flaw FROM (
      SELECT step.charge, CASE
          WHEN step.captured > 1 THEN 'is captured twice'
          WHEN step.refunded > 1 THEN 'is refunded twice'
          WHEN step.held > 1 THEN 'is held twice'
          WHEN step.returned > step.captured_amount THEN 'is refunded for more than was captured'
          WHEN open.key IS NOT NULL OR step.decided THEN NULL
          WHEN step.ordered IS NULL THEN NULL
          WHEN job.key IS NOT NULL THEN 'is not open, and its juice is being made'
          WHEN ending.seq IS NULL THEN 'is not open, and its order has not ended'
          WHEN ending.amount IS NULL AND step.captured_amount > step.returned
            THEN 'is captured, and nothing was made'
          WHEN ending.amount IS NOT NULL AND step.returned = 0 AND step.captured_amount <> ending.amount
            THEN 'is captured for ' || step.captured_amount || ', and ' || ending.amount || ' was made'
        END AS flaw
      FROM (SELECT charge, SUM(status = 'captured') AS captured,
            SUM(status = 'refunded' AND source IS NULL) AS refunded, SUM(status = 'held') AS held,
            SUM(IIF(status = 'captured', amount, 0)) AS captured_amount,
            SUM(IIF(status = 'refunded', amount, 0)) AS returned,
            MAX(IIF(status = 'awaiting_payment', seq, NULL)) AS ordered,
            MAX(source IS NOT NULL AND status <> 'awaiting_payment' AND status <> 'held') AS decided
          FROM log WHERE charge IS NOT NULL GROUP BY 1) AS step
        LEFT JOIN state AS open ON open.kind = 'charge' AND open.key = CAST(step.charge AS TEXT)
        LEFT JOIN state AS job ON job.kind = 'job' AND job.key = CAST(step.ordered AS TEXT)
        LEFT JOIN log AS ending ON ending.job = step.ordered
          AND ending.status IN ('made', 'failed', 'returned'))
    WHERE flaw IS NOT NULL LIMIT 1
    """

  /// Selects a fruit whose stock differs from the stock in the last entry, if that entry has one.
  private static let wrongStock = """
    SELECT seq, fruit, quantity, value AS told
    FROM (SELECT seq, stock AS amounts FROM entry ORDER BY seq DESC LIMIT 1),
      json_each(amounts) JOIN stock ON fruit = key
    WHERE quantity <> value LIMIT 1
    """
}
