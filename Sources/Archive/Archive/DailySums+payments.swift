extension DailySums {
  /// The steps of charges, and the price of the juices that were made for them. If a juice was made
  /// after midnight, its order is an entry of another day.
  static let charges = replace(
    "charge_day", keys: ["charge"],
    values: [
      "at", "device", "currency", "panel", "juice", "ticket", "quantity", "asked", "sold", "held",
      "captured", "released", "refunded", "cash", "written_off", "receipt", "trace", "terminal",
      "card", "last4",
    ],
    with: """
      WITH step AS (
        SELECT *, CASE WHEN status = 'awaiting_payment' THEN seq ELSE job END AS number
        FROM fresh WHERE charge IS NOT NULL AND device IS NOT NULL
      ), made AS (
        SELECT kiosk, day, epoch, job, max(amount) AS amount FROM fresh
        WHERE status IN ('made', 'failed') AND amount IS NOT NULL AND kiosk IN (SELECT kiosk FROM step)
        GROUP BY 1, 2, 3, 4
      ), sold AS (
        SELECT kiosk, day, coalesce(charge, (
          SELECT charge FROM event WHERE event.kiosk = made.kiosk AND event.epoch = made.epoch
            AND event.seq = made.job AND event.status = 'awaiting_payment'
        )) AS charge, amount
        FROM made LEFT JOIN (
          SELECT kiosk, day, epoch, number AS job, min(charge) AS charge FROM step GROUP BY 1, 2, 3, 4
        ) known USING (kiosk, day, epoch, job)
      )
      SELECT kiosk, day, charge, min(at), min(device), min(currency),
        min(split_part(source, '/', 2)) FILTER (WHERE status = 'awaiting_payment'), min(juice), min(ticket),
        min(quantity), coalesce(sum(step.amount) FILTER (WHERE status = 'awaiting_payment'), 0),
        coalesce(min(sold.amount), 0), coalesce(sum(step.amount) FILTER (WHERE status = 'held'), 0),
        coalesce(sum(step.amount) FILTER (WHERE status = 'captured'), 0),
        coalesce(sum(step.amount) FILTER (WHERE status = 'released'), 0),
        coalesce(sum(step.amount) FILTER (WHERE status = 'refunded'), 0),
        coalesce(sum(step.amount) FILTER (WHERE status = 'paid_back'), 0),
        coalesce(sum(step.amount) FILTER (WHERE status = 'written_off'), 0),
        \(["receipt", "trace", "terminal", "card", "last4"].map {
          "max(left(more->'payment'->>'\($0)', 64))"
        }.joined(separator: ", "))
      FROM step LEFT JOIN (SELECT kiosk, day, charge, sum(amount) AS amount FROM sold GROUP BY 1, 2, 3) sold
        USING (kiosk, day, charge)
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
