import JuiceDomain
import Postgres

/// Missing entries, and the answers of kiosks to requests for them.
extension ArchiveStore {
  /// The reason why a gap remains after a request to its kiosk.
  enum GapAnswer {
    /// The kiosk did not answer, or was busy.
    case later(String)
    /// The kiosk published all the requested entries that it has, and some entries of the range are
    /// still missing.
    case incomplete
    /// The kiosk has no entry of the range, or cannot read the request.
    case never(String)
  }

  /// Returns at most `limit` gaps whose next request is due, the longest overdue first, without
  /// those of kiosks over their quota. A kiosk with too many gaps is asked, so that it has fewer.
  ///
  /// - Parameter kiosks: Kiosks that are excluded because a request to them is pending.
  func dueGaps(
    without kiosks: [KioskID], limit: Int
  ) throws(DatabaseError) -> [(ledger: LedgerKey, range: ClosedRange<Int>)] {
    let answer = try database.run(
      """
      SELECT kiosk, epoch, first, last FROM gap WHERE due <= now() AND kiosk <> ALL ($1::text[])
        AND kiosk NOT IN (SELECT kiosk FROM over_quota WHERE until > now() AND quota <> 'gaps')
      ORDER BY due LIMIT \(limit)
      """, [.array(kiosks.map(\.text))])
    return answer.rows.compactMap { row in
      guard let ledger = LedgerKey(row), let first = row[2].flatMap({ Int($0) }),
        let last = row[3].flatMap({ Int($0) })
      else { return nil }
      return (ledger, first...last)
    }
  }

  /// Schedules the next request for the remaining gaps of a range.
  ///
  /// The delay starts at `gapDelay` and doubles with each request, up to one hour (`later`) or one
  /// day (`incomplete`). For `never` it is one day.
  func postpone(
    _ ledger: LedgerKey, _ range: ClosedRange<Int>, _ answer: GapAnswer
  ) throws(DatabaseError) {
    let day = 86_400
    let (text, least, most) =
      switch answer {
      case .later(let text): (text, 0, 3600)
      case .incomplete: ("the kiosk has replayed all entries that it has", 0, day)
      case .never(let text): (text, day, day)
      }
    try database.run(
      """
      UPDATE gap SET requests = requests + 1, answer = $5, due = now() + interval '1 s'
        * greatest($6::bigint, least($7::bigint, \(gapDelay) * 2.0 ^ least(requests, 20)))
      WHERE kiosk = $1 AND epoch = $2::bigint AND last >= $3::bigint AND first <= $4::bigint
      """,
      [
        ledger.kiosk.text, "\(ledger.epoch)", "\(range.lowerBound)", "\(range.upperBound)", text,
        "\(least)", "\(most)",
      ])
  }

  /// Records the first entry of a ledger, as its kiosk reported it. Deletes or shortens the gaps
  /// below it, and records a gap if entries are missing at the end of the preceding ledger. Ignores
  /// a preceding ledger that would exceed the kiosk's quota. Has no effect unless `low` is the first
  /// expected entry of the ledger, and is below `seq`. Has no effect either if there is a preceding
  /// ledger and its gap would exceed the kiosk's quota: the kiosk is then asked again.
  ///
  /// - Parameters:
  ///   - low: The number of the first requested entry.
  ///   - seq: The number of the first entry of the ledger.
  ///   - before: The epoch of the preceding ledger, or `nil` if there is none.
  func begin(
    _ ledger: LedgerKey, low: Int, with seq: Int, before: Int?
  ) throws(DatabaseError) {
    let values = [ledger.kiosk.text, "\(ledger.epoch)", "\(seq)"]
    let hasPlace =
      before == nil
      ? ""
      : """
      AND (SELECT count(*) FROM gap WHERE kiosk = $1 AND NOT (epoch = $2::bigint AND last < $3::bigint))
        < \(QuotaTracker.Quota.gaps.limit)
      """
    try database.transaction { () throws(DatabaseError) in
      let begun = try database.run(
        """
        UPDATE ledger SET low = $3::bigint
        WHERE kiosk = $1 AND epoch = $2::bigint AND low = \(low) AND low < $3::bigint
        \(hasPlace)
        """, values)
      guard begun.count > 0 else { return }
      try database.run(
        "DELETE FROM gap WHERE kiosk = $1 AND epoch = $2::bigint AND last < $3::bigint", values)
      try database.run(
        """
        UPDATE gap SET first = $3::bigint
        WHERE kiosk = $1 AND epoch = $2::bigint AND first < $3::bigint
        """, values)
      guard let before else { return }
      try database.run(
        """
        WITH before AS (
          SELECT $1::text AS kiosk, $2::bigint AS epoch, $3::bigint - 1 AS last
          WHERE EXISTS (SELECT FROM ledger WHERE ledger.kiosk = $1 AND ledger.epoch = $2::bigint)
            OR (SELECT count(*) FROM ledger WHERE ledger.kiosk = $1) < \(QuotaTracker.Quota.ledgers.limit)
        ), gone AS (
          INSERT INTO gap (kiosk, epoch, first, last, since, due)
          SELECT kiosk, epoch, coalesce(ledger.high, 0) + 1, last, now(), now()
          FROM before LEFT JOIN ledger USING (kiosk, epoch)
          WHERE coalesce(ledger.high, 0) < last
          ON CONFLICT DO NOTHING
        )
        INSERT INTO ledger (kiosk, epoch, low, high)
        SELECT before.kiosk, before.epoch, 1, before.last FROM before
        ON CONFLICT (kiosk, epoch) DO UPDATE SET high = greatest(ledger.high, excluded.high)
        """, [ledger.kiosk.text, "\(before)", "\(seq)"])
    }
  }
}
