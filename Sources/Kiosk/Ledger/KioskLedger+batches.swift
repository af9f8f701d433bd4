import GRDB
import JuiceDomain
import KioskCore
import KioskProtocol

// Queries about the batches of fruit with a date.
extension KioskLedger {
  /// Selects the entries of open orders and programs, and of the decisions to make them again, in
  /// the order of their numbers. Selects nothing if no such entry has taken fruit with a date.
  static let taken = """
    WITH open AS (
        SELECT value ->> 'seq' AS seq FROM state WHERE kind = 'job'
        UNION SELECT value ->> '$.sale.seq' FROM state WHERE kind = 'charge'),
      taking AS (
        SELECT * FROM entry
        WHERE seq IN (SELECT seq FROM open) OR job IN (SELECT seq FROM open) AND status = 'again')
    SELECT * FROM taking
    WHERE EXISTS (SELECT 1 FROM taking WHERE event -> 'batches' IS NOT NULL)
    ORDER BY seq
    """

  /// Selects the fruit of a kind of records that belong to batches.
  private static func fruit(_ kind: StateKey.Kind) -> String {
    """
    SELECT substr(key, 1, instr(key, '/') - 1) AS fruit,
      CAST(substr(key, instr(key, '/') + 1) AS INTEGER) AS number, value ->> 'quantity' AS quantity
    FROM state WHERE kind = '\(kind.rawValue)'
    """
  }

  /// Selects a batch whose quantity differs from the sum of its entries.
  static let wrongBatch = """
    SELECT fruit, number, SUM(quantity) AS quantity, SUM(amount) AS sum FROM (
      SELECT fruit, number, quantity, 0 AS amount FROM (\(fruit(.batch)))
      UNION ALL SELECT json_extract(value, '$.fruit'), json_extract(value, '$.batch'), 0,
        json_extract(value, '$.amount')
      FROM entry, json_each(event, '$.batches') WHERE instr(event, '"batches":['))
    GROUP BY fruit, number HAVING SUM(quantity) <> SUM(amount) LIMIT 1
    """

  /// Selects a fruit whose expired amount in the kiosk differs from the sum of its entries.
  static let wrongExpired = """
    SELECT fruit, SUM(quantity) AS quantity, SUM(amount) AS sum FROM (
      SELECT fruit, quantity, 0 AS amount FROM (\(fruit(.expired)))
      UNION ALL SELECT key, 0, -value FROM entry, json_each(event, '$.changes') WHERE status = 'expired'
      UNION ALL SELECT key, 0, -value FROM entry, json_each(event, '$.expired')
        WHERE status = 'removed')
    GROUP BY fruit HAVING SUM(quantity) <> SUM(amount) LIMIT 1
    """

  /// Selects a fruit whose batches add up to more than its stock.
  static let wrongDates = """
    SELECT fruit, SUM(batch.quantity) AS sum, stock.quantity
    FROM (\(fruit(.batch))) AS batch JOIN stock USING (fruit)
    GROUP BY fruit HAVING sum > stock.quantity LIMIT 1
    """
}
