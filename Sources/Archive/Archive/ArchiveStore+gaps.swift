import JuiceDomain
import Postgres

/// What is missing, and what kiosks have said of it.
extension ArchiveStore {
  /// Why a gap is still there after its kiosk was asked.
  enum GapAnswer {
    /// The kiosk does not answer, or has no time.
    case later(String)
    /// All that it has was told again, and this was not among it.
    case incomplete
    /// It has nothing of it.
    case never(String)
  }

  /// Gaps for which it is time to ask their kiosks.
  ///
  /// - Parameter kiosks: those that are being asked already.
  func dueGaps(
    without kiosks: [KioskID], limit: Int
  ) throws(DatabaseError) -> [(ledger: LedgerKey, range: ClosedRange<Int>)] {
    let answer = try database.run(
      """
      SELECT kiosk, epoch, first, last FROM gap WHERE due <= now() AND kiosk <> ALL ($1::text[])
      ORDER BY due LIMIT \(limit)
      """, [.array(kiosks.map(\.text))])
    return answer.rows.compactMap { row in
      guard let ledger = LedgerKey(row), let first = row[2].flatMap({ Int($0) }),
        let last = row[3].flatMap({ Int($0) })
      else { return nil }
      return (ledger, first...last)
    }
  }

  /// Asks for what is left of a range again: the less it has helped so far, the later.
  func postpone(
    _ ledger: LedgerKey, _ range: ClosedRange<Int>, _ answer: GapAnswer
  ) throws(DatabaseError) {
    let day = 86_400
    let (text, least, most) =
      switch answer {
      case .later(let text): (text, 0, 3600)
      case .incomplete: ("the kiosk has told again all that it has", 0, day)
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

  /// A kiosk has said where a ledger begins. What is before it nobody misses, and the ledger before it goes
  /// up to there.
  ///
  /// - Parameters:
  ///   - low: up to now.
  ///   - before: the epoch of the ledger before it; `nil` if there is none.
  func begin(
    _ ledger: LedgerKey, low: Int, with seq: Int, before: Int?
  ) throws(DatabaseError) {
    let values = [ledger.kiosk.text, "\(ledger.epoch)", "\(seq)"]
    try database.transaction { () throws(DatabaseError) in
      try database.run("SELECT \(Self.lockSums)")
      let begun = try database.run(
        """
        UPDATE ledger SET low = $3::bigint
        WHERE kiosk = $1 AND epoch = $2::bigint AND low = \(low) AND low < $3::bigint
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
          SELECT $1 AS kiosk, $2::bigint AS epoch, $3::bigint - 1 AS last
        ), gone AS (
          INSERT INTO gap (kiosk, epoch, first, last, since, due)
          SELECT kiosk, epoch, coalesce(ledger.high, 0) + 1, last, now(), now()
          FROM before LEFT JOIN ledger USING (kiosk, epoch)
          WHERE coalesce(ledger.high, 0) < last
          ON CONFLICT DO NOTHING
        )
        INSERT INTO ledger (kiosk, epoch, low, high, summed, latest, last_received)
        SELECT before.kiosk, before.epoch, 1, before.last, 0, 'epoch', now() FROM before
        ON CONFLICT (kiosk, epoch) DO UPDATE SET high = greatest(ledger.high, excluded.high)
        """, [ledger.kiosk.text, "\(before)", "\(seq)"])
    }
  }
}
