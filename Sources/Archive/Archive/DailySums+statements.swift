/// The statements that compute the sums of the days in `picked`.
extension DailySums {
  /// Temporary tables, empty after each transaction: the days being computed, their entries, the
  /// jobs that were made on these days, and the kiosks whose `supply` has changed.
  static let scratch = """
    CREATE TEMP TABLE picked (kiosk text COLLATE "C", day date) ON COMMIT DELETE ROWS;
    CREATE TEMP TABLE fresh ON COMMIT DELETE ROWS AS SELECT kiosk, at::date AS day, epoch, seq, at, status, source,
      juice, machine, currency, job, quantity, amount, changes, missing, device, charge, ticket, more,
      false AS is_misdated FROM event LIMIT 0;
    CREATE TEMP TABLE cup (kiosk text COLLATE "C", day date, epoch bigint, job bigint, machine text COLLATE "C",
      seconds double precision) ON COMMIT DELETE ROWS;
    CREATE TEMP TABLE touched (kiosk text COLLATE "C") ON COMMIT DELETE ROWS
    """

  func statements(for days: ArraySlice<Day>) -> [String] {
    let values = days.map { "('\($0.kiosk)', '\($0.day)'::date)" }.joined(separator: ", ")
    return [
      "INSERT INTO picked VALUES \(values)",
      // Waits for the transactions of batches that have locked a mark, so that the statement
      // `entries` reads their entries.
      "DELETE FROM dirty_day USING picked WHERE dirty_day.kiosk = picked.kiosk AND dirty_day.day = picked.day",
      "DELETE FROM picked USING closed_day WHERE closed_day.kiosk = picked.kiosk AND closed_day.day = picked.day",
      entries, Self.sales, Self.takings, Self.fruits, Self.jobs, Self.cups, Self.waitingCups,
      Self.lateOrders, Self.supplies, Self.stockouts, Self.charges, Self.totals,
    ]
  }

  private var entries: String {
    func columns(at time: String) -> String {
      """
      event.kiosk, day, event.epoch, event.seq, \(time), status, source, juice, machine, currency, job, quantity,
        amount, changes, missing, device, charge, ticket, CASE WHEN device IS NOT NULL THEN more END
      """
    }
    return """
      INSERT INTO fresh SELECT \(columns(at: "at")), false
      FROM picked CROSS JOIN LATERAL (SELECT * FROM event WHERE \(isOnDay("picked")) OFFSET 0) event
      UNION ALL
      SELECT \(columns(at: "arrived")), true
      FROM picked JOIN misdated ON misdated.kiosk = picked.kiosk
        AND (arrived AT TIME ZONE '\(settings.timeZone)')::date = day
      JOIN event ON event.kiosk = misdated.kiosk AND event.epoch = misdated.epoch AND event.seq = misdated.seq
      """
  }

  /// Returns an SQL condition that selects the entries of a table's `kiosk` and `day`, without those
  /// of `misdated`. The time
  /// range for the index has a margin of three hours, because a time zone may repeat or skip
  /// midnight.
  func isOnDay(_ table: String) -> String {
    """
    event.kiosk = \(table).kiosk
      AND at >= \(table).day::timestamp AT TIME ZONE '\(settings.timeZone)' - interval '3 h'
      AND at < (\(table).day + 1)::timestamp AT TIME ZONE '\(settings.timeZone)' + interval '3 h'
      AND (at AT TIME ZONE '\(settings.timeZone)')::date = \(table).day
      AND NOT EXISTS (SELECT FROM misdated WHERE misdated.kiosk = event.kiosk AND misdated.epoch = event.epoch
        AND misdated.seq = event.seq)
    """
  }

  /// Returns a statement that replaces the rows of a table for the picked days, or for the touched
  /// kiosks. Unchanged rows are not written.
  ///
  /// - Parameters:
  ///   - keys: The columns of the key, besides those of the scope.
  ///   - query: A query for the columns of the scope, the keys and the values.
  ///   - scope: The table with the days or kiosks whose rows are replaced, and its columns.
  ///   - then: The final statement, which can read `changed (kiosk)`; by default it returns no row.
  static func replace(
    _ table: String, keys: [String], values: [String], with query: String,
    in scope: (table: String, columns: [String]) = ("picked", ["kiosk", "day"]),
    then: String = "SELECT FROM changed WHERE false"
  ) -> String {
    let key = scope.columns + keys
    func list(_ columns: [String], _ prefix: String = "") -> String {
      columns.map { prefix + $0 }.joined(separator: ", ")
    }
    let update =
      values.isEmpty
      ? "NOTHING"
      : """
      UPDATE SET (\(list(values))) = ROW(\(list(values, "excluded.")))
        WHERE (\(list(values, "old."))) IS DISTINCT FROM (\(list(values, "excluded.")))
      """
    return """
      WITH new (\(list(key + values))) AS MATERIALIZED (\(query)), gone AS (
        DELETE FROM \(table) old USING (SELECT DISTINCT \(list(scope.columns)) FROM \(scope.table)) scope
        WHERE (\(list(scope.columns, "old."))) = (\(list(scope.columns, "scope.")))
          AND NOT EXISTS (SELECT FROM new WHERE (\(list(key, "new."))) = (\(list(key, "old."))))
        RETURNING old.kiosk
      ), put AS (
        INSERT INTO \(table) AS old (\(list(key + values))) SELECT * FROM new
        ON CONFLICT (\(list(key))) DO \(update) RETURNING old.kiosk
      ), changed AS (SELECT kiosk FROM gone UNION SELECT kiosk FROM put)
      \(then)
      """
  }

  /// The sales by juice, counted like the kiosk's own report: an order for a machine counts when
  /// the juice is made.
  private static let sales = replace(
    "sales_day", keys: ["juice"],
    values: ["glasses", "orders", "out_of_stock", "rejected", "failed"],
    with: """
      SELECT kiosk, day, coalesce(juice, ''),
        coalesce(sum(quantity) FILTER (WHERE status IN ('ready', 'made')), 0),
        count(*) FILTER (WHERE status IN ('ready', 'made')),
        count(*) FILTER (WHERE status = 'out_of_stock'),
        count(*) FILTER (WHERE status = 'rejected'),
        count(*) FILTER (WHERE status IN ('failed', 'returned'))
      FROM fresh
      WHERE status IN ('ready', 'made', 'out_of_stock', 'failed', 'returned')
        OR status = 'rejected' AND source LIKE 'order/%'
      GROUP BY 1, 2, 3
      """)

  private static let takings = replace(
    "takings_day", keys: ["currency"], values: ["amount"],
    with: """
      SELECT kiosk, day, currency, sum(amount) FROM fresh
      WHERE status IN ('ready', 'made', 'failed') AND currency IS NOT NULL AND amount IS NOT NULL
      GROUP BY 1, 2, 3
      """)

  /// The fruit used and restocked. Fruit that was removed, discarded or expired was not used by a
  /// juice: it counts as a negative restock, as on the kiosk. Most rows contain the change of a
  /// recipe, so equal changes are counted before they are expanded.
  private static let fruits = replace(
    "fruit_day", keys: ["fruit"], values: ["used", "restocked"],
    with: """
      SELECT kiosk, day, change.key,
        coalesce(-sum(change.value::bigint * times) FILTER (WHERE NOT is_restock), 0),
        coalesce(sum(change.value::bigint * times) FILTER (WHERE is_restock), 0)
      FROM (
        SELECT kiosk, day, changes, count(*) AS times,
          status IN ('restocked', 'expired', 'removed', 'sensor_discard') AS is_restock
        FROM fresh WHERE changes IS NOT NULL AND status <> 'opened'
        GROUP BY 1, 2, 3, 5
      ) counted, jsonb_each(changes) change
      GROUP BY 1, 2, 3
      """)

  /// The jobs that were made, with the time since their orders in seconds. Most orders are among
  /// the entries of the same day; the other ones are read from `event`.
  private static let jobs = """
    INSERT INTO cup SELECT kiosk, day, epoch, number, coalesce(machine, ''),
      CASE WHEN NOT is_misdated THEN date_part('epoch', at - coalesce(ordered, (
        SELECT at FROM event WHERE event.kiosk = made.kiosk AND event.epoch = made.epoch
          AND event.seq = made.number AND event.status IN ('accepted', 'awaiting_payment')
          AND NOT EXISTS (SELECT FROM misdated WHERE misdated.kiosk = event.kiosk AND misdated.epoch = event.epoch
            AND misdated.seq = event.seq)
      ))) END
    FROM (
      SELECT *, min(at) FILTER (WHERE status <> 'made' AND NOT is_misdated) OVER (PARTITION BY kiosk, epoch, number) AS ordered
      FROM (
        SELECT *, CASE WHEN status <> 'made' THEN seq WHEN job < seq THEN job END AS number
        FROM fresh WHERE status IN ('accepted', 'awaiting_payment', 'made')
      ) job
    ) made
    WHERE status = 'made'
    """

  /// The numbers and times of cups by machine. The time is unknown if the order of a cup is
  /// missing, or is later than the cup because a clock was set.
  private static let cups = replace(
    "cup_day", keys: ["machine"], values: ["made", "seconds", "slowest", "unknown"],
    with: """
      SELECT kiosk, day, machine, count(*), coalesce(sum(seconds) FILTER (WHERE seconds >= 0), 0),
        coalesce(max(greatest(seconds, 0)), 0), count(*) FILTER (WHERE (seconds >= 0) IS NOT TRUE)
      FROM cup GROUP BY 1, 2, 3
      """)

  /// The jobs of a day that need an order which has not arrived: made ones for their times, failed ones
  /// with an amount for the charge that paid for it.
  private static let waitingCups = replace(
    "cup_waiting", keys: ["epoch", "job"], values: [],
    with: """
      SELECT kiosk, day, epoch, job FROM cup WHERE seconds IS NULL AND job IS NOT NULL
      UNION SELECT kiosk, day, epoch, job FROM fresh
      WHERE status = 'failed' AND amount IS NOT NULL AND job < seq AND NOT EXISTS (
        SELECT FROM event WHERE event.kiosk = fresh.kiosk AND event.epoch = fresh.epoch AND event.seq = fresh.job)
      """)

  /// Marks the days of jobs whose orders have arrived late, because their times and charges can be
  /// computed now.
  private static let lateOrders = """
    INSERT INTO dirty_day (kiosk, day) SELECT DISTINCT kiosk, waiting.day
    FROM cup_waiting waiting JOIN fresh USING (kiosk, epoch)
    WHERE fresh.seq = waiting.job AND fresh.status IN ('accepted', 'awaiting_payment')
      AND (kiosk, waiting.day) NOT IN (SELECT kiosk, day FROM picked)
    """

  /// Omits an entry of a fruit if the previous one in its `run` has the same `is_out`. `run` is
  /// equal for entries with successive numbers: between two runs, an entry may be missing because a
  /// wrong clock put it on another day.
  private static let supplies = replace(
    "supply", keys: ["fruit", "epoch", "seq"], values: ["at", "is_out"],
    with: """
      SELECT kiosk, day, fruit, epoch, seq, at, is_out FROM (
        SELECT *, lag(is_out) OVER (PARTITION BY kiosk, day, fruit, epoch, run ORDER BY seq) AS before
        FROM (
          SELECT kiosk, day, change.key AS fruit, epoch, seq, run, at, status = 'out_of_stock' AS is_out
          FROM (
            SELECT *, seq - row_number() OVER (PARTITION BY kiosk, day, epoch ORDER BY seq) AS run FROM fresh
          ) fresh CROSS JOIN LATERAL jsonb_each(CASE status WHEN 'out_of_stock' THEN missing ELSE changes END) change
          -- Of all entries, few are left for jsonb_each.
          WHERE status IN ('out_of_stock', 'restocked', 'opened')
            AND (status = 'out_of_stock' OR change.value::bigint > 0)
        ) entry
      ) turn WHERE is_out IS DISTINCT FROM before
      """, then: "INSERT INTO touched SELECT kiosk FROM changed")

  /// The stockouts, each from the first order that lacked a fruit to the next restock of the fruit.
  /// Within a ledger, entries of `supply` are ordered by their numbers; of two ledgers, the one
  /// whose first such entry is earlier comes first. A time that is not between those of the entries
  /// before and after it is replaced by the nearer of the two.
  private static let stockouts = replace(
    "stockout", keys: ["fruit", "epoch", "seq"], values: ["since", "until", "is_bounded"],
    with: """
      WITH entry AS (
        SELECT kiosk, epoch, seq, at, lag(at) OVER ledger AS before, lead(at) OVER ledger AS after,
          first_value(at) OVER ledger AS began
        FROM (SELECT DISTINCT kiosk, epoch, seq, at FROM supply WHERE kiosk IN (SELECT kiosk FROM touched)) entry
        WINDOW ledger AS (PARTITION BY kiosk, epoch ORDER BY seq)
      ), turn AS (
        SELECT kiosk, fruit, epoch, seq, is_out, began, told, at, at <> told AS is_bounded,
          lag(is_out) OVER (PARTITION BY kiosk, fruit ORDER BY began, epoch, seq) AS was_out
        FROM (
          SELECT kiosk, fruit, epoch, seq, is_out, began, entry.at AS told, CASE
            WHEN before IS NULL OR after IS NULL THEN entry.at
            ELSE greatest(least(before, after), least(entry.at, greatest(before, after)))
          END AS at
          FROM entry JOIN supply USING (kiosk, epoch, seq)
        ) bounded
      ), period AS (
        SELECT *, lead(at) OVER fruit AS until, lead(is_bounded) OVER fruit AS until_is_bounded
        FROM turn WHERE is_out IS DISTINCT FROM was_out
        WINDOW fruit AS (PARTITION BY kiosk, fruit ORDER BY began, epoch, seq)
      )
      SELECT kiosk, fruit, epoch, seq,
        CASE WHEN until < at AND at > now() THEN until ELSE at END,
        CASE WHEN until < at AND at <= now() THEN at ELSE until END,
        is_bounded OR coalesce(until_is_bounded OR until < at, false)
      FROM period WHERE is_out
      """, in: ("touched", ["kiosk"]))
}
