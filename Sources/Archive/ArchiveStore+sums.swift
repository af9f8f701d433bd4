package import Postgres

/// The sums of days: added to from time to time and not with each batch, of which each kiosk has an entry or
/// two, and all of them together would be as many rows of sums as rows.
extension ArchiveStore {
  /// So many are added up at once, in about a second.
  package static let mostUnsummed = 200_000

  /// Adds what the sums do not hold yet.
  package func sumUp() throws(DatabaseError) {
    try database.transaction { () throws(DatabaseError) in
      // One ledger after the other by its key: never all of `event`. What PostgreSQL does not know the size
      // of it would sort, on the disk.
      try database.run(
        """
        SET LOCAL enable_sort = off;
        INSERT INTO fresh SELECT event.* FROM ledger CROSS JOIN LATERAL (
          SELECT * FROM event WHERE event.kiosk = ledger.kiosk AND event.epoch = ledger.epoch
            AND event.seq > ledger.summed AND event.seq <= ledger.high OFFSET 0
        ) event WHERE ledger.summed < ledger.high
        """)
      try addFresh()
      try database.run("UPDATE ledger SET summed = high WHERE summed < high")
    }
    unsummed = 0
  }

  /// Adds the rows of `fresh` to the sums.
  func addFresh() throws(DatabaseError) {
    for sums in Self.sums { try database.run(sums, sums.contains("$1") ? [timeZone] : []) }
  }

  private static let sums = [sales, fruits, cups, supplies, shelves]

  /// As the kiosk's own report counts: what a machine has to make when it is made.
  private static let sales = """
    INSERT INTO sales_day
      (day, kiosk, juice, currency, glasses, orders, out_of_stock, rejected, failed, amount)
    SELECT (at AT TIME ZONE $1)::date, kiosk, coalesce(juice, ''), coalesce(currency, ''),
      coalesce(sum(quantity) FILTER (WHERE status IN ('ready', 'made')), 0),
      count(*) FILTER (WHERE status IN ('ready', 'made')),
      count(*) FILTER (WHERE status = 'out_of_stock'),
      count(*) FILTER (WHERE status = 'rejected'),
      count(*) FILTER (WHERE status IN ('failed', 'returned')),
      coalesce(sum(amount) FILTER (WHERE status IN ('ready', 'made')), 0)
    FROM fresh
    WHERE status IN ('ready', 'made', 'out_of_stock', 'failed', 'returned')
      OR status = 'rejected' AND source LIKE 'order/%'
    GROUP BY 1, 2, 3, 4
    ON CONFLICT (kiosk, day, juice, currency) DO UPDATE SET glasses = sales_day.glasses + excluded.glasses,
      orders = sales_day.orders + excluded.orders,
      out_of_stock = sales_day.out_of_stock + excluded.out_of_stock,
      rejected = sales_day.rejected + excluded.rejected,
      failed = sales_day.failed + excluded.failed, amount = sales_day.amount + excluded.amount
    """

  /// Most rows have the change of a recipe: they are counted first, and taken apart then.
  private static let fruits = """
    INSERT INTO fruit_day (day, kiosk, fruit, used, restocked)
    SELECT day, kiosk, change.key,
      coalesce(-sum(change.value::bigint * times) FILTER (WHERE NOT is_restock), 0),
      coalesce(sum(change.value::bigint * times) FILTER (WHERE is_restock), 0)
    FROM (
      SELECT (at AT TIME ZONE $1)::date AS day, kiosk, changes, status = 'restocked' AS is_restock,
        count(*) AS times
      FROM fresh WHERE changes IS NOT NULL AND status <> 'opened'
      GROUP BY 1, 2, 3, 4
    ) counted, jsonb_each(changes) change
    GROUP BY 1, 2, 3
    ON CONFLICT (kiosk, day, fruit) DO UPDATE SET used = fruit_day.used + excluded.used,
      restocked = fruit_day.restocked + excluded.restocked
    """

  /// Of a cup whose order is not there, or later by a clock that was set, the time is unknown.
  private static let cups = """
    INSERT INTO cup_day (day, kiosk, machine, made, seconds, slowest, unknown)
    SELECT day, kiosk, machine, count(*), coalesce(sum(seconds), 0), coalesce(max(seconds), 0),
      count(*) FILTER (WHERE seconds IS NULL)
    FROM (
      SELECT (fresh.at AT TIME ZONE $1)::date AS day, fresh.kiosk, coalesce(fresh.machine, '') AS machine,
        extract(epoch FROM fresh.at - accepted.at)::double precision AS seconds
      FROM fresh LEFT JOIN LATERAL (
        SELECT at FROM event WHERE event.kiosk = fresh.kiosk AND event.epoch = fresh.epoch
          AND event.seq = fresh.job AND event.status = 'accepted' AND event.at <= fresh.at LIMIT 1
      ) accepted ON true
      WHERE fresh.status = 'made'
    ) cup
    GROUP BY 1, 2, 3
    ON CONFLICT (kiosk, day, machine) DO UPDATE SET made = cup_day.made + excluded.made,
      seconds = cup_day.seconds + excluded.seconds,
      slowest = greatest(cup_day.slowest, excluded.slowest),
      unknown = cup_day.unknown + excluded.unknown
    """

  private static let supplies = """
    INSERT INTO supply (kiosk, fruit, epoch, seq, at, added)
    SELECT kiosk, change.key, epoch, seq, at, change.value::bigint
    FROM fresh, jsonb_each(changes) change
    WHERE status IN ('restocked', 'opened') AND change.value::bigint > 0
    UNION ALL
    SELECT kiosk, missed.key, epoch, seq, at, 0 FROM fresh, jsonb_each(missing) missed
    WHERE status = 'out_of_stock'
    ON CONFLICT DO NOTHING
    """

  /// Of the fruits that something has come of: what came last may have come before. Out of stock since the
  /// first order that missed the fruit after its last restock.
  private static let shelves = """
    INSERT INTO shelf (kiosk, fruit, out_since)
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
    FROM (
      SELECT DISTINCT kiosk, change.key AS fruit
      FROM fresh, jsonb_each(CASE WHEN status = 'out_of_stock' THEN missing ELSE changes END) change
      WHERE status IN ('restocked', 'opened', 'out_of_stock')
    ) touched
    ON CONFLICT (kiosk, fruit) DO UPDATE SET out_since = excluded.out_since
    WHERE shelf.out_since IS DISTINCT FROM excluded.out_since
    """
}
