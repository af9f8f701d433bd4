import JuiceDomain
import KioskProtocol
import Postgres

/// The tables `ledger` and `gap`: which entries have arrived, and which are missing.
extension ArchiveStore {
  /// Records which entries of which ledgers have arrived or are known to exist. Removes from the
  /// batch what would open gaps of kiosks that have the maximum number of them, except one gap of
  /// each in `gapDelay`, up to `maximumGaps`.
  ///
  /// - Parameter isLimited: Whether that has been removed.
  /// - Returns: For each row, whether it is new according to `ledger`, `gap` and the rows before
  ///   it. The tables still cover an entry whose row was deleted with its partition.
  func track(
    _ batch: inout EventBatch, _ outcome: inout Outcome, isLimited: Bool = false
  ) throws(DatabaseError) -> [Bool] {
    let rows = batch.rows
    let spans = LedgerSpan.spans(of: rows)
    let ledgers = Set(spans.map(\.ledger)).union(batch.positions.keys).sorted()
    let known = try knownLedgers(ledgers)
    var trackers = known.mapValues { SequenceTracker(low: $0.low, high: $0.high) }
    try findGaps(
      spans.filter { span in
        known[span.ledger].map { span.seqs.lowerBound <= $0.high } ?? false
      }, into: &trackers)

    let earlier = trackers
    var isNew: [Bool] = []
    isNew.reserveCapacity(rows.count)
    for span in spans {
      var tracker = trackers[span.ledger] ?? SequenceTracker()
      for row in rows[span.rows] { isNew.append(tracker.insert(row.key.seq)) }
      trackers[span.ledger] = tracker
    }
    for (ledger, last) in batch.positions {
      trackers[ledger, default: SequenceTracker()].expect(through: last)
    }
    let growing = ledgers.filter { ledger in
      (trackers[ledger]?.gaps.count ?? 0) > (earlier[ledger]?.gaps.count ?? 0)
    }
    let full =
      try isLimited ? [:] : kiosksWithMaximumGaps(among: Set(growing.map(\.kiosk)))
    if !full.isEmpty {
      try removeGaps(of: full, from: &batch, earlier)
      outcome.overQuota.formUnion(full.keys)
      return try track(&batch, &outcome, isLimited: true)
    }
    try save(
      ledgers, trackers, known, Dictionary(uniqueKeysWithValues: spans.map { ($0.ledger, $0) }),
      rows)
    return isNew
  }
}

extension ArchiveStore {
  /// Removes from a batch the rows and positions that would open gaps of kiosks, and records these
  /// kiosks in the table `over_quota`. Each kiosk may open one gap in `gapDelay`, up to
  /// `maximumGaps`: a later entry then opens the gap that contains what was removed, so that the
  /// archiver requests it.
  ///
  /// - Parameter kiosks: The kiosks, and the number of gaps of each.
  private func removeGaps(
    of kiosks: [KioskID: Int], from batch: inout EventBatch,
    _ trackers: [LedgerKey: SequenceTracker]
  ) throws(DatabaseError) {
    var (kept, trackers): ([EventRow], [LedgerKey: SequenceTracker]) = ([], trackers)
    var refused: [KioskID: Int] = [:]
    for span in LedgerSpan.spans(of: batch.rows) {
      guard let gaps = kiosks[span.ledger.kiosk] else {
        kept += batch.rows[span.rows]
        continue
      }
      var tracker = trackers[span.ledger] ?? SequenceTracker()
      for row in batch.rows[span.rows] {
        if tracker.opensGap(row.key.seq), !mayOpenGap(span.ledger.kiosk, gaps) {
          refused[span.ledger.kiosk, default: 0] += 1
        } else {
          tracker.insert(row.key.seq)
          kept.append(row)
        }
      }
      trackers[span.ledger] = tracker
    }
    batch.rows = kept
    batch.positions = batch.positions.filter { ledger, last in
      guard let gaps = kiosks[ledger.kiosk], last > trackers[ledger]?.high ?? 0 else { return true }
      return mayOpenGap(ledger.kiosk, gaps)
    }
    var over: [KioskID: (quota: QuotaTracker.Quota, rest: Duration)] = [:]
    for kiosk in kiosks.keys { over[kiosk] = (.gaps, QuotaTracker.period) }
    try saveOverQuota(over, refused)
  }

  /// Returns whether a kiosk with the maximum number of gaps may open another one, and if so,
  /// records that it does.
  private func mayOpenGap(_ kiosk: KioskID, _ gaps: Int) -> Bool {
    guard gaps < Self.maximumGaps else { return false }
    let now = ContinuousClock.now
    if let last = extraGaps[kiosk], now - last < .seconds(gapDelay) { return false }
    extraGaps[kiosk] = now
    return true
  }
}

/// The rows of one ledger in a batch.
struct LedgerSpan {
  let ledger: LedgerKey
  let rows: Range<Int>
  let seqs: ClosedRange<Int>

  /// Returns the spans of a batch's rows, one per ledger.
  ///
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
  /// The number of the lowest entry that has arrived, or `nil` if none has.
  let first: Int?
}

extension ArchiveStore {
  private func knownLedgers(
    _ ledgers: [LedgerKey]
  ) throws(DatabaseError) -> [LedgerKey: KnownLedger] {
    let answer = try database.run(
      """
      SELECT kiosk, epoch, low, high, first FROM ledger
      JOIN unnest($1::text[], $2::bigint[]) AS requested (kiosk, epoch) USING (kiosk, epoch)
      """, [.array(ledgers.map(\.kiosk.text)), .array(ledgers.map(\.epoch))])
    var known: [LedgerKey: KnownLedger] = [:]
    for row in answer.rows {
      guard let key = LedgerKey(row) else { continue }
      let numbers = row[2...].map { $0.flatMap { Int($0) } }
      guard let low = numbers[0], let high = numbers[1] else { continue }
      known[key] = KnownLedger(low: low, high: high, first: numbers[2])
    }
    return known
  }

  /// Reads into the trackers the gaps that overlap the spans.
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
    _ ledgers: [LedgerKey], _ trackers: [LedgerKey: SequenceTracker],
    _ known: [LedgerKey: KnownLedger], _ spans: [LedgerKey: LedgerSpan], _ rows: [EventRow]
  ) throws(DatabaseError) {
    var changed: [(key: LedgerKey, tracker: SequenceTracker)] = []
    var closed: [(LedgerKey, Int)] = []
    var open: [(LedgerKey, SequenceTracker.Gap)] = []
    for key in ledgers {
      guard let tracker = trackers[key] else { continue }
      let before = known[key]
      let isEarlier = spans[key].map { $0.seqs.lowerBound < before?.first ?? .max } ?? false
      if before?.low != tracker.low || before?.high != tracker.high || isEarlier {
        changed.append((key, tracker))
      }
      for (last, gap) in tracker.changes {
        if let gap { open.append((key, gap)) } else { closed.append((key, last)) }
      }
    }
    if !changed.isEmpty {
      let arrived = changed.map { spans[$0.key] }
      let latest = zip(changed, arrived).map { ledger, span in
        span.flatMap {
          $0.seqs.upperBound > known[ledger.key]?.high ?? 0 ? rows[$0.rows.upperBound - 1].at : nil
        }
      }
      try database.run(
        """
        INSERT INTO ledger (kiosk, epoch, low, high, first, began, latest)
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
          $6::timestamptz[], $7::timestamptz[])
        ON CONFLICT (kiosk, epoch) DO UPDATE SET low = excluded.low, high = excluded.high,
          first = least(ledger.first, excluded.first),
          began = CASE WHEN ledger.first <= excluded.first THEN ledger.began
            ELSE coalesce(excluded.began, ledger.began) END,
          latest = coalesce(excluded.latest, ledger.latest),
          last_received = CASE WHEN excluded.first IS NULL THEN ledger.last_received ELSE now() END
        """,
        [
          .array(changed.map(\.key.kiosk.text)), .array(changed.map(\.key.epoch)),
          .array(changed.map(\.tracker.low)), .array(changed.map(\.tracker.high)),
          .array(arrived.map { $0.map { "\($0.seqs.lowerBound)" } }),
          .array(arrived.map { $0.map { rows[$0.rows.lowerBound].at.description } }),
          .array(latest.map { $0?.description }),
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
    try joinTails(open.filter { key, gap in known[key]?.high == gap.first - 1 })
  }

  /// Joins each new gap at the end of a ledger with the gap before it, if there is one: a kiosk may
  /// report higher and higher last entries of which none arrives, and has one gap then. The archiver
  /// requests the joint gap when the first of the two requests is due.
  private func joinTails(
    _ tails: [(LedgerKey, SequenceTracker.Gap)]
  ) throws(DatabaseError) {
    guard !tails.isEmpty else { return }
    try database.run(
      """
      WITH tail AS (
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
          AS tail (kiosk, epoch, first, last)
      ), before AS (
        DELETE FROM gap USING tail
        WHERE gap.kiosk = tail.kiosk AND gap.epoch = tail.epoch AND gap.last = tail.first - 1
        RETURNING gap.kiosk, gap.epoch, gap.first, gap.since, gap.due, gap.requests, gap.answer,
          tail.last
      )
      UPDATE gap SET first = before.first, since = before.since, requests = before.requests,
        answer = before.answer, due = least(before.due, gap.due)
      FROM before
      WHERE gap.kiosk = before.kiosk AND gap.epoch = before.epoch AND gap.last = before.last
      """,
      [
        .array(tails.map(\.0.kiosk.text)), .array(tails.map(\.0.epoch)),
        .array(tails.map(\.1.first)), .array(tails.map(\.1.last)),
      ])
  }
}

extension LedgerKey {
  /// Creates a key from the first two columns of a row. Returns `nil` if a value is invalid.
  init?(_ row: [String?]) {
    guard let kiosk = row[0].flatMap({ KioskID($0) }), let epoch = row[1].flatMap({ Int($0) })
    else { return nil }
    self.init(kiosk: kiosk, epoch: epoch)
  }
}
