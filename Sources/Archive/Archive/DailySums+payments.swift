extension DailySums {
  /// The steps of charges, and the price of the juices that were made for them. If a juice was made
  /// after midnight, its order is an entry of another day, and its day may have no step of the charge.
  /// Most orders are among the entries of the same day; the other ones are read from `event`.
  static let charges = replace(
    "charge_day", keys: ["charge"],
    values: [
      "at", "device", "currency", "panel", "juice", "ticket", "quantity", "asked", "sold", "held",
      "captured", "released", "refunded", "cash", "written_off", "receipt", "trace", "terminal",
      "card", "last4",
    ],
    with: """
      WITH ending AS (
        SELECT kiosk, day, epoch, job, min(at) AS at, min(currency) AS currency, max(amount) AS amount FROM fresh
        WHERE status IN ('made', 'failed') AND amount IS NOT NULL AND job IS NOT NULL
        GROUP BY 1, 2, 3, 4
      ), known AS (
        SELECT kiosk, epoch, CASE WHEN status IN ('accepted', 'awaiting_payment') THEN seq ELSE job END AS job,
          min(charge) AS charge, min(device) AS device
        FROM fresh WHERE status = 'accepted' OR charge IS NOT NULL AND device IS NOT NULL
        GROUP BY 1, 2, 3
      ), step AS (
        SELECT kiosk, day, charge, at, device, currency, status, source, juice, ticket, quantity, amount, more,
          false AS is_end
        FROM fresh WHERE charge IS NOT NULL AND device IS NOT NULL
        UNION ALL
        SELECT ending.kiosk, ending.day, ordered.charge, ending.at, ordered.device, ending.currency,
          NULL, NULL, NULL, NULL, NULL, ending.amount, NULL, true
        FROM ending LEFT JOIN known
          ON known.kiosk = ending.kiosk AND known.epoch = ending.epoch AND known.job = ending.job
        CROSS JOIN LATERAL (
          SELECT known.charge, known.device WHERE known.charge IS NOT NULL AND known.device IS NOT NULL
          UNION ALL
          SELECT event.charge, event.device FROM event
          WHERE known.job IS NULL AND event.kiosk = ending.kiosk AND event.epoch = ending.epoch
            AND event.seq = ending.job AND event.status = 'awaiting_payment'
            AND event.charge IS NOT NULL AND event.device IS NOT NULL
        ) ordered
      )
      SELECT kiosk, day, charge, coalesce(min(at) FILTER (WHERE NOT is_end), min(at)), min(device), min(currency),
        min(split_part(source, '/', 2)) FILTER (WHERE status = 'awaiting_payment'), min(juice), min(ticket),
        min(quantity), coalesce(sum(amount) FILTER (WHERE status = 'awaiting_payment'), 0),
        coalesce(sum(amount) FILTER (WHERE is_end), 0),
        coalesce(sum(amount) FILTER (WHERE status = 'held'), 0),
        coalesce(sum(amount) FILTER (WHERE status = 'captured'), 0),
        coalesce(sum(amount) FILTER (WHERE status = 'released'), 0),
        coalesce(sum(amount) FILTER (WHERE status = 'refunded'), 0),
        coalesce(sum(amount) FILTER (WHERE status = 'paid_back'), 0),
        coalesce(sum(amount) FILTER (WHERE status = 'written_off'), 0),
        \(["receipt", "trace", "terminal", "card", "last4"].map {
          "max(left(more->'payment'->>'\($0)', 64))"
        }.joined(separator: ", "))
      FROM step
      GROUP BY 1, 2, 3
      """)

  static let totals = replace(
    "total_day", keys: ["epoch", "seq"],
    values: ["at", "device", "currency", "captured", "refunded", "count", "difference"],
    with: """
      SELECT kiosk, day, epoch, seq, at, device, left(more->'day_total'->>'currency', 16),
        \(["day_total,captured", "day_total,refunded", "day_total,count", "difference"].map {
          "CASE jsonb_typeof(more #> '{\($0)}') WHEN 'number' THEN (more #> '{\($0)}')::numeric END"
        }.joined(separator: ", "))
      FROM fresh WHERE status = 'total' AND device IS NOT NULL
      """)
}
