package import Postgres

/// Retention: the archiver deletes whole partitions of `event`, and keeps the sums.
///
/// A partition receives new entries for a month, or for a tenth of `archive.keep_days` if that is
/// less. The archiver deletes it `keep_days` days after the next partition began. Without `keep_days`
/// partitions begin, too, so that a limit that is set after years frees space at once. `ledger` and `gap` still show which entries
/// have arrived, so that the archiver recognizes an entry that arrives again.
extension DailySums {
  /// Begins a new partition and deletes old ones, if they are due; deletes old conflicts, and the jobs of
  /// closed days that wait for their orders: such a day is not computed again.
  ///
  /// - Returns: The number of deleted partitions.
  package func retire() throws(DatabaseError) -> Int {
    let (days, length) =
      settings.keepDays.map { ("\($0)", min(30, Double($0) / 10)) } ?? ("NULL", 30)
    let parts = try database.run(
      """
      SELECT number, ended IS NULL FROM part WHERE CASE
        WHEN ended IS NULL THEN began < now() - interval '1 day' * \(length)
        ELSE ended < now() - interval '1 day' * \(days)
      END ORDER BY number
      """
    ).rows
    var deleted = 0
    for row in parts {
      guard let number = row[0].flatMap({ Int($0) }) else { continue }
      if row[1] == "t" {
        try begin(after: number)
      } else {
        try delete(number)
        deleted += 1
      }
    }
    try database.run(
      """
      DELETE FROM conflict WHERE ctid IN (
        SELECT ctid FROM conflict WHERE detected < now() - interval '1 day' * \(days)
        LIMIT \(Self.maximumConflictsDeleted));
      DELETE FROM cup_waiting WHERE (kiosk, day) IN (SELECT kiosk, day FROM closed_day)
      """)
    return deleted
  }

  /// Maximum number of conflicts that one call of `retire()` deletes, each with a key in one index.
  private static let maximumConflictsDeleted = 10_000

  private func begin(after number: Int) throws(DatabaseError) {
    try database.transaction { () throws(DatabaseError) in
      try database.run(
        """
        SET LOCAL lock_timeout = '2s';
        SET LOCAL client_min_messages = warning;
        CREATE TABLE event_\(number + 1) PARTITION OF event (PRIMARY KEY (kiosk, epoch, seq))
          FOR VALUES IN (\(number + 1));
        ALTER TABLE event ALTER part SET DEFAULT \(number + 1);
        UPDATE part SET ended = now() WHERE number = \(number);
        INSERT INTO part (number) VALUES (\(number + 1))
        """)
    }
  }

  /// Maximum number of `opened` entries of a kiosk that outlast their partition. Each names at least
  /// one new fruit of its ledger, so a kiosk has few.
  private static let maximumOpened = 100

  /// Deletes a partition. Moves to the current one the entries of marked days that are not closed,
  /// and the newest `opened` entries, which contain the fruits of kiosks. All statements read the same
  /// snapshot of the marks, so that a day is either closed or has all of its entries. The charges of
  /// closed days lose what identifies a customer or a card.
  private func delete(_ number: Int) throws(DatabaseError) {
    // The longer timeout is for a statement that reads an index of the whole partition.
    let session = try PostgresConnection(
      archive: settings, timeout: PostgresConnection.longTimeout)
    try session.transaction { () throws(DatabaseError) in
      try session.run(
        """
        SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
        SET LOCAL lock_timeout = '2s';
        INSERT INTO event (\(EventRow.columnList)) SELECT moved.* FROM (
          SELECT DISTINCT kiosk, day FROM dirty_day WHERE (kiosk, day) NOT IN (SELECT kiosk, day FROM closed_day)
        ) dirty CROSS JOIN LATERAL (
          SELECT \(EventRow.columnList) FROM event_\(number) event WHERE \(isOnDay("dirty")) OFFSET 0
        ) moved
        UNION SELECT \(EventRow.columnList) FROM (
          SELECT *, row_number() OVER (PARTITION BY kiosk ORDER BY at DESC, epoch DESC, seq DESC) AS age
          FROM event WHERE status = 'opened'
            AND kiosk IN (SELECT kiosk FROM event_\(number) WHERE status = 'opened')
        ) opened WHERE part = \(number) AND age <= \(Self.maximumOpened)
        UNION SELECT \(EventRow.columnList) FROM event_\(number) JOIN misdated USING (kiosk, epoch, seq)
        WHERE (kiosk, (arrived AT TIME ZONE '\(settings.timeZone)')::date) IN (SELECT kiosk, day FROM dirty_day);
        INSERT INTO closed_day
          SELECT kiosk, (coalesce(arrived, at) AT TIME ZONE '\(settings.timeZone)')::date
          FROM event_\(number) LEFT JOIN misdated USING (kiosk, epoch, seq)
          EXCEPT SELECT kiosk, day FROM dirty_day
          ON CONFLICT DO NOTHING;
        UPDATE charge_day SET ticket = NULL, receipt = NULL, trace = NULL, terminal = NULL, card = NULL, last4 = NULL
          FROM closed_day closed WHERE closed.kiosk = charge_day.kiosk AND closed.day = charge_day.day
          AND coalesce(ticket::text, receipt, trace, terminal, card, last4) IS NOT NULL;
        DROP TABLE event_\(number);
        DELETE FROM misdated WHERE NOT EXISTS (SELECT FROM event WHERE event.kiosk = misdated.kiosk
          AND event.epoch = misdated.epoch AND event.seq = misdated.seq);
        DELETE FROM part WHERE number = \(number)
        """)
    }
  }
}
