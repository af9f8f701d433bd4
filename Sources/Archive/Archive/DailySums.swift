package import Postgres

/// The daily sums, computed from `event` for each day of a kiosk for which entries have arrived.
///
/// A batch marks the days of its entries in `dirty_day`. `step()` selects the marks that are due,
/// reads all entries of their days, replaces the rows of their sums, and deletes the marks, in one
/// short transaction. So late, repeated and reordered entries need no special case. A closed day
/// keeps its sums. A day that cannot be computed, or takes too long, keeps its mark, with the error,
/// is computed again later and alone, and delays no other day.
///
/// ```swift
/// let sums = try DailySums(settings)
/// guard try sums.takeLock() else { return }  // Another archiver computes.
/// _ = try sums.adoptTimeZone()
/// while try sums.step() > 0 {}
/// ```
package final class DailySums {
  /// The day of a kiosk, in the archive's time zone.
  struct Day {
    let kiosk: String
    /// The date as PostgreSQL writes it.
    let day: String
  }

  let database: PostgresConnection
  let settings: ArchiveSettings
  /// The start of the last step that found marks, by the database's clock, and its duration.
  private var (pickedAt, taken) = (String?.none, Duration.zero)

  /// Maximum number of marks whose days are computed in one transaction. A day takes about a
  /// millisecond.
  package static let maximumMarks = 64

  /// Maximum duration of a statement. A day of 300 entries takes 2 ms, all statements together.
  private static let limit = "1500 ms"

  /// Connects to a migrated database.
  package init(_ settings: ArchiveSettings) throws(DatabaseError) {
    database = try PostgresConnection(archive: settings)
    self.settings = settings
    // The server cancels a statement before the client times out, and before it delays the days of
    // other kiosks.
    try database.run("SET statement_timeout = '\(Self.limit)'; \(Self.scratch)")
  }

  /// Tries to become the only session that computes sums: of two sessions, the slower one would
  /// replace newer rows with older ones. PostgreSQL holds the lock (`juic`, 3) for as long as the
  /// session exists.
  ///
  /// - Returns: `false` if another session holds the lock.
  package func takeLock() throws(DatabaseError) -> Bool {
    try database.run("SELECT pg_try_advisory_lock(\(0x6A75_6963_0003))").rows.first?.first == "t"
  }

  /// Marks all days of stored entries, in the old and in the new time zone, if the time zone has
  /// changed since the last start. Call it with the lock, before the first step.
  ///
  /// The marks become due one after another, so that they do not delay those of new entries.
  ///
  /// - Returns: Whether days were marked.
  package func adoptTimeZone() throws(DatabaseError) -> Bool {
    let old = try database.run("SELECT name FROM sum_zone").rows.first?.first ?? nil
    guard old != settings.timeZone else { return false }
    // The longer timeout is for a statement that reads all entries.
    let session = try PostgresConnection(
      archive: settings, timeout: PostgresConnection.longTimeout)
    session.whileWaiting = { _ throws(DatabaseError) in
      guard !Task.isCancelled else { throw DatabaseError("the archiver ends") }
    }
    try session.transaction { () throws(DatabaseError) in
      if let old {
        try session.run(
          """
          INSERT INTO dirty_day (kiosk, day, due)
          SELECT kiosk, day, now() + interval '2 milliseconds' * row_number() OVER (ORDER BY day DESC) FROM (
            SELECT DISTINCT kiosk, (coalesce(arrived, at) AT TIME ZONE zone)::date AS day
            FROM event LEFT JOIN misdated USING (kiosk, epoch, seq)
              CROSS JOIN unnest(ARRAY[$1::text, $2::text]) zone
          ) marked
          """, [old, settings.timeZone])
      }
      try session.run("DELETE FROM sum_zone")
      try session.run("INSERT INTO sum_zone VALUES ($1)", [settings.timeZone])
    }
    return old != nil
  }

  /// Computes the sums of the days of up to `maximumMarks` marks, the longest overdue first; then
  /// one day that could not be computed before.
  ///
  /// - Returns: The number of marks; 0 if no mark is due.
  package func step() throws(DatabaseError) -> Int {
    let start = ContinuousClock.now
    let (days, marks) = try due("attempts = 0", limit: Self.maximumMarks)
    if !days.isEmpty { try compute(days[...]) }
    let (failed, others) = try due("attempts > 0", limit: 1)
    if !failed.isEmpty { try compute(failed[...]) }
    taken = ContinuousClock.now - start
    return marks + others
  }

  private func due(
    _ condition: String, limit: Int
  ) throws(DatabaseError) -> (days: [Day], marks: Int) {
    var marks = 0
    let days = try database.run(
      """
      SELECT kiosk, day, now(), count(*) FROM (
        SELECT kiosk, day FROM dirty_day WHERE due <= now() AND \(condition) ORDER BY due LIMIT \(limit)
      ) due GROUP BY kiosk, day
      """
    ).rows.compactMap { row in
      pickedAt = row[2]
      marks += row[3].flatMap { Int($0) } ?? 0
      return if let kiosk = row[0], let day = row[1] { Day(kiosk: kiosk, day: day) } else { nil }
    }
    return (days, marks)
  }

  /// Returns the time to wait before the next step if more days are due: the duration of the last
  /// step if marks have become due since its start, otherwise zero. So batches get half of a
  /// processor's time.
  package func pause() throws(DatabaseError) -> Duration {
    let isMarked = try database.run(
      "SELECT FROM dirty_day WHERE due > $1::timestamptz AND due <= now() LIMIT 1", [pickedAt])
    return isMarked.rows.isEmpty ? .zero : taken
  }

  private func compute(_ days: ArraySlice<Day>) throws(DatabaseError) {
    do {
      try database.transaction { () throws(DatabaseError) in
        // One by one: `statement_timeout` is for a statement, the client's timeout for a response.
        for statement in statements(for: days) { try database.run(statement) }
      }
    } catch {
      guard error.concernsData else { throw error }
      guard days.count > 1 else { return try postpone(days, error) }
      guard error.state != "57014" else {
        // Bisection would wait for the limit again and again.
        for index in days.indices { try compute(days[index...index]) }
        return
      }
      let middle = (days.startIndex + days.endIndex) / 2
      try compute(days[..<middle])
      try compute(days[middle...])
    }
  }

  /// Stores the error and schedules the next attempt: after a minute, then after twice the time, up
  /// to an hour.
  private func postpone(_ days: ArraySlice<Day>, _ error: DatabaseError) throws(DatabaseError) {
    for day in days {
      try database.run(
        """
        UPDATE dirty_day SET attempts = attempts + 1, error = $3,
          due = now() + interval '1 minute' * least(60, 2.0 ^ least(attempts, 10))
        WHERE kiosk = $1 AND day = $2::date
        """, [day.kiosk, day.day, String("\(error)".prefix(1000))])
    }
  }
}

extension DatabaseError {
  /// Whether the statement or its data caused the error, so that other statements may succeed: not
  /// the connection, the server, its memory, its disk or another transaction.
  fileprivate var concernsData: Bool {
    // `query_canceled` is the statement's own timeout.
    if state == "57014" { return true }
    return !["", "08", "25", "40", "53", "55", "57", "58"].contains(String(state.prefix(2)))
  }
}
