package import Postgres

/// The daily sums. They are updated from time to time, not with each batch: a batch has one or two
/// entries of each kiosk, so it would update as many sums as it has rows.
extension ArchiveStore {
  /// Number of entries after which the sums are updated. Adding them takes about a second.
  package static let maximumUnsummed = 200_000

  /// Starts adding the entries that the sums do not include yet. Does nothing if the previous run
  /// is still active, unless more than twice `maximumUnsummed` entries are pending: then it waits
  /// for that run first.
  package func addSums() throws(DatabaseError) {
    if isSumming {
      let isOver = try summing.isFinished()
      guard isOver || unsummed >= 2 * Self.maximumUnsummed else { return }
      try finishSums()
    }
    // A DO block, and therefore one transaction. An entry that is committed meanwhile is above
    // `high`, or its transaction waits for the lock.
    try summing.begin(
      """
      DO $sums$ BEGIN
      PERFORM \(Self.lockSums);
      -- Reads one ledger after the other by its key, never all of `event`. PostgreSQL would sort rows of unknown
      -- number, on the disk.
      SET LOCAL enable_sort = off;
      INSERT INTO fresh SELECT \(freshColumns) FROM ledger CROSS JOIN LATERAL (
        SELECT * FROM event WHERE event.kiosk = ledger.kiosk AND event.epoch = ledger.epoch
          AND event.seq > ledger.summed AND event.seq <= ledger.high OFFSET 0
      ) event WHERE ledger.summed < ledger.high;
      \(Self.addFresh);
      -- Locks the rows in the same order as batches do, and as late as possible, because batches wait.
      UPDATE ledger SET summed = added.seq FROM (
        SELECT kiosk, epoch, last.seq
        FROM ledger JOIN (SELECT kiosk, epoch, max(seq) AS seq FROM fresh GROUP BY 1, 2) last
          USING (kiosk, epoch)
        ORDER BY kiosk, epoch FOR UPDATE OF ledger
      ) added WHERE ledger.kiosk = added.kiosk AND ledger.epoch = added.epoch;
      END $sums$
      """)
    isSumming = true
    unsummed = 0
  }

  /// Waits until the current run, if any, has finished.
  package func finishSums() throws(DatabaseError) {
    guard isSumming else { return }
    try summing.end()
    isSumming = false
  }

  /// The advisory lock of a transaction that updates the sums, or that commits entries which the
  /// sums may already have passed (`juic`, 3).
  static let lockSums = "pg_advisory_xact_lock(\(0x6A75_6963_0003))"

  /// Temporary tables: the rows being added, their part of `supply`, and the time from which the
  /// stockouts of each fruit have to be computed again.
  static let scratch = """
    CREATE TEMP TABLE fresh ON COMMIT DELETE ROWS AS SELECT kiosk, epoch, seq, at, at::date AS day, status,
      source, juice, machine, currency, job, quantity, amount, changes, missing FROM event LIMIT 0;
    CREATE TEMP TABLE fresh_supply ON COMMIT DELETE ROWS AS SELECT * FROM supply LIMIT 0;
    CREATE TEMP TABLE touched ON COMMIT DELETE ROWS AS SELECT kiosk, fruit, at FROM supply LIMIT 0
    """

  /// The columns of `fresh`, computed from a row of `event`.
  var freshColumns: String {
    """
    event.kiosk, event.epoch, event.seq, event.at, (event.at AT TIME ZONE '\(timeZone)')::date, event.status,
      event.source, event.juice, event.machine, event.currency, event.job, event.quantity, event.amount,
      event.changes, event.missing
    """
  }

  /// Adds the rows of `fresh` to the sums. Sorting is disabled for the daily sums, because
  /// PostgreSQL assumes that `fresh` is small and would sort it in order to group it.
  static let addFresh = [
    "SET LOCAL enable_sort = off", sales, takings, fruits, cups,
    "SET LOCAL enable_sort = on", freshSupplies, supplies, deleteStockouts, stockouts, fruitStatus,
  ].joined(separator: ";\n")

  /// Counts as the kiosk's own report does: an order with a machine counts when the juice is made.
  private static let sales = """
    INSERT INTO sales_day (day, kiosk, juice, glasses, orders, out_of_stock, rejected, failed)
    SELECT day, kiosk, coalesce(juice, ''),
      coalesce(sum(quantity) FILTER (WHERE status IN ('ready', 'made')), 0),
      count(*) FILTER (WHERE status IN ('ready', 'made')),
      count(*) FILTER (WHERE status = 'out_of_stock'),
      count(*) FILTER (WHERE status = 'rejected'),
      count(*) FILTER (WHERE status IN ('failed', 'returned'))
    FROM fresh
    WHERE status IN ('ready', 'made', 'out_of_stock', 'failed', 'returned')
      OR status = 'rejected' AND source LIKE 'order/%'
    GROUP BY 1, 2, 3
    ON CONFLICT (kiosk, day, juice) DO UPDATE SET glasses = sales_day.glasses + excluded.glasses,
      orders = sales_day.orders + excluded.orders,
      out_of_stock = sales_day.out_of_stock + excluded.out_of_stock,
      rejected = sales_day.rejected + excluded.rejected, failed = sales_day.failed + excluded.failed
    """

  private static let takings = """
    INSERT INTO takings_day (day, kiosk, currency, amount)
    SELECT day, kiosk, currency, sum(amount) FROM fresh
    WHERE status IN ('ready', 'made') AND currency IS NOT NULL AND amount IS NOT NULL
    GROUP BY 1, 2, 3
    ON CONFLICT (kiosk, day, currency) DO UPDATE SET amount = takings_day.amount + excluded.amount
    """

  /// Most rows contain the change of a recipe, so equal changes are counted before they are
  /// expanded.
  private static let fruits = """
    INSERT INTO fruit_day (day, kiosk, fruit, used, restocked)
    SELECT day, kiosk, change.key,
      coalesce(-sum(change.value::bigint * times) FILTER (WHERE NOT is_restock), 0),
      coalesce(sum(change.value::bigint * times) FILTER (WHERE is_restock), 0)
    FROM (
      SELECT day, kiosk, changes, status = 'restocked' AS is_restock,
        count(*) AS times
      FROM fresh WHERE changes IS NOT NULL AND status <> 'opened'
      GROUP BY 1, 2, 3, 4
    ) counted, jsonb_each(changes) change
    GROUP BY 1, 2, 3
    ON CONFLICT (kiosk, day, fruit) DO UPDATE SET used = fruit_day.used + excluded.used,
      restocked = fruit_day.restocked + excluded.restocked
    """

  /// The time is unknown for a cup whose order is missing, or later because a clock was set. Most
  /// orders are among the same rows.
  private static let cups = """
    INSERT INTO cup_day (day, kiosk, machine, made, seconds, slowest, unknown)
    SELECT day, kiosk, machine, count(*), coalesce(sum(seconds) FILTER (WHERE seconds >= 0), 0),
      coalesce(max(greatest(seconds, 0)), 0), count(*) FILTER (WHERE (seconds >= 0) IS NOT TRUE)
    FROM (
      SELECT fresh.day, fresh.kiosk, coalesce(fresh.machine, '') AS machine,
        date_part('epoch', fresh.at - coalesce(accepted.at, (
          SELECT at FROM event WHERE event.kiosk = fresh.kiosk AND event.epoch = fresh.epoch
            AND event.seq = fresh.job AND event.status = 'accepted'
        ))) AS seconds
      FROM fresh LEFT JOIN fresh accepted ON accepted.kiosk = fresh.kiosk
        AND accepted.epoch = fresh.epoch AND accepted.seq = fresh.job AND accepted.status = 'accepted'
      WHERE fresh.status = 'made'
    ) cup
    GROUP BY 1, 2, 3
    ON CONFLICT (kiosk, day, machine) DO UPDATE SET made = cup_day.made + excluded.made,
      seconds = cup_day.seconds + excluded.seconds,
      slowest = greatest(cup_day.slowest, excluded.slowest),
      unknown = cup_day.unknown + excluded.unknown
    """

  /// Restocks, and orders that lacked a fruit. A change that adds nothing gets NULL.
  private static let freshSupplies = """
    INSERT INTO fresh_supply (kiosk, fruit, epoch, seq, at, added)
    SELECT kiosk, change.key, epoch, seq, at, CASE
      WHEN status = 'out_of_stock' THEN 0
      WHEN change.value::bigint > 0 THEN change.value::bigint
    END
    FROM fresh, jsonb_each(CASE WHEN status = 'out_of_stock' THEN missing ELSE changes END) change
    WHERE status IN ('restocked', 'opened', 'out_of_stock')
    """

  /// A stockout that contains the first new supply, or begins after it, may change.
  private static let supplies = """
    WITH added AS (
      INSERT INTO supply SELECT * FROM fresh_supply WHERE added IS NOT NULL
      ON CONFLICT DO NOTHING RETURNING kiosk, fruit, at
    )
    INSERT INTO touched SELECT kiosk, fruit, coalesce((
      SELECT CASE WHEN until IS NULL OR until >= first.at THEN since END FROM stockout
      WHERE stockout.kiosk = first.kiosk AND stockout.fruit = first.fruit AND since <= first.at
      ORDER BY since DESC, seq DESC LIMIT 1
    ), at) FROM (SELECT kiosk, fruit, min(at) AS at FROM added GROUP BY 1, 2) first
    """

  private static let deleteStockouts = """
    DELETE FROM stockout USING touched
    WHERE stockout.kiosk = touched.kiosk AND stockout.fruit = touched.fruit AND stockout.since >= touched.at
    """

  /// A stockout lasts from the first order that lacked a fruit to its next restock. They are
  /// matched by time, because the restock may be in a later ledger than the order.
  private static let stockouts = """
    INSERT INTO stockout (kiosk, fruit, since, seq, until)
    SELECT kiosk, fruit, at, seq, until FROM (
      SELECT *, lead(at) OVER (PARTITION BY kiosk, fruit ORDER BY at, seq) AS until FROM (
        SELECT supply.*, lag(added) OVER (PARTITION BY kiosk, fruit ORDER BY supply.at, seq) AS before
        FROM touched JOIN supply USING (kiosk, fruit) WHERE supply.at >= touched.at
      ) step WHERE (added = 0) IS DISTINCT FROM (before = 0)
    ) turn WHERE added = 0
    """

  /// Recomputes the fruits that have new supplies, because rows may arrive out of order. A fruit is
  /// out of stock since the first order that lacked it after its last restock.
  private static let fruitStatus = """
    INSERT INTO fruit_status (kiosk, fruit, out_since)
    SELECT kiosk, fruit, (
      SELECT missed.at FROM supply missed
      WHERE missed.kiosk = touched.kiosk AND missed.fruit = touched.fruit AND (missed.at, missed.seq) > (
        SELECT coalesce(max(at), '-infinity'), coalesce(max(seq), 0) FROM (
          SELECT at, seq FROM supply
          WHERE supply.kiosk = touched.kiosk AND supply.fruit = touched.fruit AND added > 0
          ORDER BY at DESC, seq DESC LIMIT 1
        ) restock
      )
      ORDER BY missed.at, missed.seq LIMIT 1
    )
    FROM (SELECT DISTINCT kiosk, fruit FROM fresh_supply) touched
    ON CONFLICT (kiosk, fruit) DO UPDATE SET out_since = excluded.out_since
    WHERE fruit_status.out_since IS DISTINCT FROM excluded.out_since
    """
}
