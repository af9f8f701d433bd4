import JuiceDomain
import KioskProtocol
import MessageBroker
package import Postgres

/// The merge: stores a batch in the database in one transaction.
extension ArchiveStore {
  /// Commits a batch. Rows that the database rejects are found by bisection and quarantined.
  package func archive(_ batch: EventBatch) throws(DatabaseError) -> Outcome {
    do {
      return try commit(batch)
    } catch {
      guard error.remedy == .quarantine, let first = batch.rows.first else { throw error }
      guard batch.rows.count > 1 else {
        let rejection = EventBatch.Rejection(message: first.message, reason: "\(error)")
        var others = batch
        others.rows = []
        others.rejections.append(rejection)
        return try archive(others)
      }
      let half = batch.rows.count / 2
      var others = batch
      others.rows = Array(batch.rows[..<half])
      var outcome = try archive(others)
      let rest = try archive(EventBatch(rows: Array(batch.rows[half...])))
      outcome.stored += rest.stored
      outcome.conflicts.formUnion(rest.conflicts)
      outcome.rejected += rest.rejected
      return outcome
    }
  }

  private func commit(_ batch: EventBatch) throws(DatabaseError) -> Outcome {
    do {
      return try database.transaction { () throws(DatabaseError) in
        try merge(batch, isLedgerRight: true)
      }
    } catch {
      // unique_violation: another program has inserted rows that the table `ledger` does not cover.
      guard error.state == "23505" else { throw error }
      return try database.transaction { () throws(DatabaseError) in
        try merge(batch, isLedgerRight: false)
      }
    }
  }

  private func merge(
    _ batch: EventBatch, isLedgerRight: Bool
  ) throws(DatabaseError) -> Outcome {
    var outcome = Outcome()
    if !batch.rows.isEmpty {
      let isNew = try track(batch.rows, isLedgerRight: isLedgerRight)
      outcome.stored =
        isNew
        ? try database.copy("COPY event (\(EventRow.columnList)) FROM STDIN", batch.copyText)
        : try store(batch)
      unsummed += outcome.stored
      if outcome.stored < batch.rows.count { outcome.conflicts = try recordConflicts() }
    }
    try savePresence(batch.presence)
    try saveMenuReports(batch.menus)
    try quarantine(batch.rejections)
    outcome.rejected = batch.rejections
    return outcome
  }

  private func savePresence(_ presence: [KioskID: Bool]) throws(DatabaseError) {
    guard !presence.isEmpty else { return }
    let kiosks = presence.sorted { $0.key < $1.key }
    try database.run(
      """
      INSERT INTO presence (kiosk, is_online, since)
      SELECT *, now() FROM unnest($1::text[], $2::boolean[])
      ON CONFLICT (kiosk) DO UPDATE SET is_online = excluded.is_online, since = excluded.since
      WHERE presence.is_online <> excluded.is_online
      """, [.array(kiosks.map(\.key.text)), .array(kiosks.map { "\($0.value)" })])
  }

  /// Stores rows of which some may be stored already. If none is, COPY alone takes half the time.
  private func store(_ batch: EventBatch) throws(DatabaseError) -> Int {
    try database.copy("COPY arrival (\(EventRow.columnList)) FROM STDIN", batch.copyText)
    let counts = try database.run(
      """
      WITH event AS (
        INSERT INTO event SELECT * FROM arrival ON CONFLICT DO NOTHING RETURNING *
      ), late AS (
        INSERT INTO fresh SELECT \(freshColumns) FROM event JOIN ledger USING (kiosk, epoch)
        WHERE event.seq <= ledger.summed RETURNING 1
      ) SELECT (SELECT count(*) FROM event), (SELECT count(*) FROM late)
      """
    ).rows.first?.compactMap { $0.flatMap { Int($0) } }
    guard let counts, counts.count == 2 else { return 0 }
    if counts[1] > 0 { try database.run(Self.addFresh) }
    return counts[0]
  }

  /// Stores the rows whose key is stored with different content.
  ///
  /// - Returns: The kiosks with at least one new conflict.
  private func recordConflicts() throws(DatabaseError) -> Set<KioskID> {
    let columns = EventRow.columns
    let names = columns.map { "arrival.\($0)" }.joined(separator: ", ")
    let same = columns.dropFirst(3).map { "event.\($0)" }.joined(separator: ", ")
    let other = columns.dropFirst(3).map { "arrival.\($0)" }.joined(separator: ", ")
    let found = try database.run(
      """
      INSERT INTO conflict (\(EventRow.columnList), digest)
      SELECT DISTINCT \(names), md5(arrival::text)::uuid
      FROM arrival JOIN event USING (kiosk, epoch, seq)
      WHERE (\(other)) IS DISTINCT FROM (\(same))
      ON CONFLICT DO NOTHING RETURNING kiosk
      """)
    return Set(found.rows.compactMap { $0.first?.flatMap { KioskID($0) } })
  }

  /// Records which entries of which ledgers have arrived.
  ///
  /// - Parameters:
  ///   - rows: Rows sorted by key.
  ///   - isLedgerRight: Whether no other program has inserted rows into `event`.
  /// - Returns: Whether every row is new and follows the last known entry of its ledger. If not,
  ///   the sums may already cover some of the rows, and they are locked until this transaction
  ///   ends.
  private func track(
    _ rows: [EventRow], isLedgerRight: Bool
  ) throws(DatabaseError) -> Bool {
    let spans = LedgerSpan.spans(of: rows)
    let known = try knownLedgers(spans)
    var trackers = known.mapValues { SequenceTracker(low: $0.low, high: $0.high) }
    try findGaps(
      spans.filter { span in
        known[span.ledger].map { span.seqs.lowerBound <= $0.high } ?? false
      }, into: &trackers)

    var isNew = isLedgerRight
    for span in spans {
      let key = span.ledger
      var tracker = trackers[key] ?? SequenceTracker()
      for row in rows[span.rows] {
        // The rows are sorted, so a second row with the same number does not follow the first.
        isNew = isNew && row.key.seq > tracker.high
        tracker.insert(row.key.seq)
      }
      trackers[key] = tracker
    }
    if !isNew { try database.run("SELECT \(Self.lockSums)") }
    try save(spans, trackers, known, rows)
    return isNew
  }
}

/// The rows of one ledger in a batch.
private struct LedgerSpan {
  let ledger: LedgerKey
  let rows: Range<Int>
  let seqs: ClosedRange<Int>

  /// - Parameter rows: Rows sorted by key.
  static func spans(of rows: [EventRow]) -> [LedgerSpan] {
    var spans: [LedgerSpan] = []
    var start = 0
    for index in rows.indices.dropFirst() where rows[index].key.ledger != rows[start].key.ledger {
      spans.append(LedgerSpan(rows, start..<index))
      start = index
    }
    if !rows.isEmpty { spans.append(LedgerSpan(rows, start..<rows.count)) }
    return spans
  }

  private init(_ all: [EventRow], _ range: Range<Int>) {
    ledger = all[range.lowerBound].key.ledger
    rows = range
    seqs = all[range.lowerBound].key.seq...all[range.upperBound - 1].key.seq
  }
}

/// The row of one ledger in the table `ledger`.
private struct KnownLedger {
  let low: Int
  let high: Int
}

extension ArchiveStore {
  private func knownLedgers(
    _ spans: [LedgerSpan]
  ) throws(DatabaseError) -> [LedgerKey: KnownLedger] {
    let answer = try database.run(
      """
      SELECT kiosk, epoch, low, high FROM ledger
      JOIN unnest($1::text[], $2::bigint[]) AS requested (kiosk, epoch) USING (kiosk, epoch)
      """, [.array(spans.map(\.ledger.kiosk.text)), .array(spans.map(\.ledger.epoch))])
    var known: [LedgerKey: KnownLedger] = [:]
    for row in answer.rows {
      guard let key = LedgerKey(row) else { continue }
      let numbers = row[2...].compactMap { $0.flatMap { Int($0) } }
      guard numbers.count == 2 else { continue }
      known[key] = KnownLedger(low: numbers[0], high: numbers[1])
    }
    return known
  }

  /// Reads the gaps that entries of these spans may close.
  private func findGaps(
    _ spans: [LedgerSpan], into trackers: inout [LedgerKey: SequenceTracker]
  ) throws(DatabaseError) {
    guard !spans.isEmpty else { return }
    let answer = try database.run(
      """
      SELECT kiosk, epoch, first, last, since FROM gap
      JOIN unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
        AS requested (kiosk, epoch, low, high) USING (kiosk, epoch)
      WHERE gap.last >= requested.low AND gap.first <= requested.high
      ORDER BY kiosk, epoch, last
      """,
      [
        .array(spans.map(\.ledger.kiosk.text)), .array(spans.map(\.ledger.epoch)),
        .array(spans.map(\.seqs.lowerBound)), .array(spans.map(\.seqs.upperBound)),
      ])
    var gaps: [LedgerKey: [SequenceTracker.Gap]] = [:]
    for row in answer.rows {
      guard let key = LedgerKey(row), let first = row[2].flatMap({ Int($0) }),
        let last = row[3].flatMap({ Int($0) })
      else { continue }
      gaps[key, default: []].append(SequenceTracker.Gap(first: first, last: last, since: row[4]))
    }
    for (key, gaps) in gaps {
      guard let tracker = trackers[key] else { continue }
      trackers[key] = SequenceTracker(low: tracker.low, high: tracker.high, gaps: gaps)
    }
  }

  private func save(
    _ spans: [LedgerSpan], _ trackers: [LedgerKey: SequenceTracker],
    _ known: [LedgerKey: KnownLedger], _ rows: [EventRow]
  ) throws(DatabaseError) {
    var ledgers: [(span: LedgerSpan, tracker: SequenceTracker)] = []
    var closed: [(LedgerKey, Int)] = []
    var open: [(LedgerKey, SequenceTracker.Gap)] = []
    for span in spans {
      guard let tracker = trackers[span.ledger] else { continue }
      let before = known[span.ledger]
      if before?.low != tracker.low || before?.high != tracker.high {
        ledgers.append((span, tracker))
      }
      for (last, gap) in tracker.changes {
        if let gap { open.append((span.ledger, gap)) } else { closed.append((span.ledger, last)) }
      }
    }
    if !ledgers.isEmpty {
      try database.run(
        """
        INSERT INTO ledger (kiosk, epoch, low, high, summed, latest, last_received)
        SELECT *, now()
        FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::timestamptz[])
        ON CONFLICT (kiosk, epoch) DO UPDATE SET low = excluded.low, high = excluded.high,
          latest = excluded.latest, last_received = excluded.last_received
        """,
        [
          .array(ledgers.map(\.span.ledger.kiosk.text)), .array(ledgers.map(\.span.ledger.epoch)),
          .array(ledgers.map(\.tracker.low)), .array(ledgers.map(\.tracker.high)),
          .array(ledgers.map { $0.tracker.low - 1 }),
          .array(ledgers.map { rows[$0.span.rows.upperBound - 1].at.description }),
        ])
    }
    if !closed.isEmpty {
      try database.run(
        """
        DELETE FROM gap USING unnest($1::text[], $2::bigint[], $3::bigint[]) AS closed (kiosk, epoch, last)
        WHERE gap.kiosk = closed.kiosk AND gap.epoch = closed.epoch AND gap.last = closed.last
        """,
        [
          .array(closed.map(\.0.kiosk.text)), .array(closed.map(\.0.epoch)),
          .array(closed.map(\.1)),
        ])
    }
    if !open.isEmpty {
      try database.run(
        """
        INSERT INTO gap (kiosk, epoch, first, last, since, due)
        SELECT kiosk, epoch, first, last, coalesce(since, now()),
          coalesce(since, now()) + $6::bigint * interval '1 s'
        FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::timestamptz[])
          AS open (kiosk, epoch, first, last, since)
        ON CONFLICT (kiosk, epoch, last) DO UPDATE SET first = excluded.first
        """,
        [
          .array(open.map(\.0.kiosk.text)), .array(open.map(\.0.epoch)),
          .array(open.map(\.1.first)),
          .array(open.map(\.1.last)), .array(open.map(\.1.since)), "\(gapDelay)",
        ])
    }
  }
}

extension LedgerKey {
  /// Creates a key from the first two columns of a row.
  init?(_ row: [String?]) {
    guard let kiosk = row[0].flatMap({ KioskID($0) }), let epoch = row[1].flatMap({ Int($0) })
    else { return nil }
    self.init(kiosk: kiosk, epoch: epoch)
  }
}

extension String? {
  /// Returns the numbers as an array literal of PostgreSQL.
  static func array(_ numbers: [Int]) -> String? {
    "{" + numbers.map { String($0) }.joined(separator: ",") + "}"
  }

  /// Returns the texts as an array literal of PostgreSQL.
  ///
  /// - Parameter texts: Texts without quotes and backslashes; `nil` becomes NULL.
  static func array(_ texts: [String?]) -> String? {
    "{" + texts.map { $0.map { "\"\($0)\"" } ?? "NULL" }.joined(separator: ",") + "}"
  }
}
