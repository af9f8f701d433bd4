import Foundation
import JuiceDomain
import KioskProtocol
import Postgres

/// The marks of days whose sums lack entries.
extension ArchiveStore {
  /// Marks the days of stored rows: `DailySums` has to compute the sums of these days again. A row
  /// with an impossible time counts for the day of its arrival, which `misdated` stores.
  ///
  /// The statement locks each existing mark until this transaction ends, so that a computation that
  /// deletes the mark waits and then reads these rows. It skips a mark that a computation is
  /// deleting, and inserts a new one: a batch never waits for a computation.
  ///
  /// New marks of one kiosk are due one after the other, so that a kiosk that sends many days
  /// delays its own sums and not those of others.
  func markDays(of rows: [EventRow]) throws(DatabaseError) {
    let (times, misdated) = Self.times(of: rows)
    if !misdated.isEmpty {
      try database.run(
        """
        INSERT INTO misdated (kiosk, epoch, seq)
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) ON CONFLICT DO NOTHING
        """,
        [
          .array(misdated.map(\.ledger.kiosk.text)), .array(misdated.map(\.ledger.epoch)),
          .array(misdated.map(\.seq)),
        ])
    }
    guard !times.isEmpty || !misdated.isEmpty else { return }
    try database.run(
      """
      WITH day AS (
        SELECT kiosk, (at AT TIME ZONE '\(timeZone)')::date AS day
        FROM unnest($1::text[], $2::timestamptz[]) AS row (kiosk, at)
        UNION SELECT kiosk, (now() AT TIME ZONE '\(timeZone)')::date FROM unnest($3::text[]) AS kiosk
      ), kept AS (
        SELECT kiosk, day FROM dirty_day JOIN day USING (kiosk, day)
        FOR KEY SHARE OF dirty_day SKIP LOCKED
      ), new AS (
        SELECT kiosk, day, row_number() OVER (PARTITION BY kiosk ORDER BY day DESC) AS place
        FROM (SELECT kiosk, day FROM day EXCEPT SELECT kiosk, day FROM kept) missing
      )
      INSERT INTO dirty_day (kiosk, day, due)
      SELECT kiosk, day, greatest(now(), last + \(Self.markInterval)) + (place - 1) * \(Self.markInterval)
      FROM new CROSS JOIN LATERAL (
        SELECT max(due) AS last FROM dirty_day mark WHERE mark.kiosk = new.kiosk AND attempts = 0
      ) earlier
      """,
      [
        .array(times.map(\.0.text)), .array(times.map(\.1.description)),
        .array(misdated.map(\.ledger.kiosk.text)),
      ])
  }

  /// Returns times on all days of the rows, and the rows with an impossible time.
  private static func times(
    of rows: [EventRow]
  ) -> (times: [(KioskID, Timestamp)], misdated: [EventKey]) {
    var times: [(KioskID, Timestamp)] = []
    var misdated: [EventKey] = []
    let possible =
      Self
      .firstTime...Timestamp(
        milliseconds: Int64(Date.now.timeIntervalSince1970 * 1000) + 86_400_000)
    for span in LedgerSpan.spans(of: rows) {
      // Times within half a day fall on at most two days in any time zone: the days of the first
      // and of the last time. Entries are mostly in the order of their times.
      var range: ClosedRange<Timestamp>?
      func add() {
        guard let range else { return }
        times.append((span.ledger.kiosk, range.lowerBound))
        if !(range.lowerBound == range.upperBound) {
          times.append((span.ledger.kiosk, range.upperBound))
        }
      }
      for row in rows[span.rows] {
        guard possible.contains(row.at) else {
          misdated.append(row.key)
          continue
        }
        let bounds =
          min(range?.lowerBound ?? row.at, row.at)...max(range?.upperBound ?? row.at, row.at)
        if bounds.upperBound.milliseconds - bounds.lowerBound.milliseconds > 43_200_000 {
          add()
          range = row.at...row.at
        } else {
          range = bounds
        }
      }
      add()
    }
    return (times, misdated)
  }

  /// The time between two marks of a kiosk. A mark costs about two milliseconds.
  private static let markInterval = "interval '0.5 s'"
  /// The start of the year 2020. A kiosk whose clock shows an earlier time has lost its time.
  private static let firstTime = Timestamp(milliseconds: 1_577_836_800_000)
}
