import JuiceDomain
import Postgres

/// The quotas of kiosks.
extension ArchiveStore {
  /// Removes from a batch what exceeds the quotas of its kiosks, and records these kiosks in the
  /// table `over_quota`.
  ///
  /// - Returns: The kiosks whose entries were removed.
  func applyQuotas(to batch: inout EventBatch) throws(DatabaseError) -> Set<KioskID> {
    var over: [KioskID: (quota: QuotaTracker.Quota, rest: Duration)] = [:]
    var refused: [KioskID: Int] = [:]
    for span in LedgerSpan.spans(of: batch.rows) {
      let rows = batch.rows[span.rows]
      let bytes = rows.reduce(0) { $0 + $1.line.count }
      guard
        let found = quotas.add(
          rows.lazy.map(\.at), bytes: bytes, of: span.ledger.kiosk, at: .now)
      else { continue }
      over[span.ledger.kiosk] = found
    }
    for row in batch.rows where over[row.key.ledger.kiosk] != nil {
      refused[row.key.ledger.kiosk, default: 0] += 1
    }
    batch.rows.removeAll { over[$0.key.ledger.kiosk] != nil }
    // Afterwards: a ledger of which no entry is stored must not count as known.
    let excess = try ledgersOverQuota(in: batch)
    for (ledger, count) in excess {
      refused[ledger.kiosk, default: 0] += count
      if over[ledger.kiosk] == nil { over[ledger.kiosk] = (.ledgers, QuotaTracker.period) }
    }
    guard !over.isEmpty else { return [] }
    batch.rows.removeAll { excess[$0.key.ledger] != nil }
    batch.positions = batch.positions.filter { excess[$0.key] == nil }
    try saveOverQuota(over, refused)
    return Set(over.keys)
  }

  /// Returns the ledgers of a batch that would be too many for their kiosks, each with its number
  /// of entries in the batch.
  private func ledgersOverQuota(in batch: EventBatch) throws(DatabaseError) -> [LedgerKey: Int] {
    let spans = LedgerSpan.spans(of: batch.rows)
    let unknown = Set(spans.map(\.ledger)).union(batch.positions.keys).subtracting(seenLedgers)
    guard !unknown.isEmpty else { return [:] }
    var stored: [KioskID: Set<LedgerKey>] = [:]
    let kiosks = Set(unknown.map(\.kiosk.text)).sorted()
    for row in try database.run(
      "SELECT kiosk, epoch FROM ledger WHERE kiosk = ANY ($1::text[])", [.array(kiosks)]
    ).rows {
      guard let key = LedgerKey(row) else { continue }
      stored[key.kiosk, default: []].insert(key)
      seenLedgers.insert(key)
    }
    var excess: [LedgerKey: Int] = [:]
    // A new ledger does not count as seen yet: none of its entries may be stored.
    for ledger in unknown.sorted() where !seenLedgers.contains(ledger) {
      if stored[ledger.kiosk, default: []].count < QuotaTracker.Quota.ledgers.limit {
        stored[ledger.kiosk, default: []].insert(ledger)
      } else {
        excess[ledger] = 0
      }
    }
    for span in spans { excess[span.ledger]? += span.rows.count }
    return excess
  }

  /// Maximum number of gaps of a kiosk, with those that it may open in excess of its quota.
  static let maximumGaps = 20_000

  /// Returns those of the kiosks whose number of gaps has reached the quota, and the number, at most
  /// `maximumGaps`.
  func kiosksWithMaximumGaps(
    among kiosks: Set<KioskID>
  ) throws(DatabaseError) -> [KioskID: Int] {
    guard !kiosks.isEmpty else { return [:] }
    let names = kiosks.map(\.text).sorted()
    let found = try database.run(
      """
      SELECT kiosk, gaps FROM unnest($1::text[]) AS growing (kiosk), LATERAL (
        SELECT count(*) AS gaps FROM (
          SELECT 1 FROM gap WHERE gap.kiosk = growing.kiosk LIMIT \(Self.maximumGaps)
        ) AS counted
      ) AS number
      WHERE gaps >= \(QuotaTracker.Quota.gaps.limit)
      """, [.array(names)])
    var full: [KioskID: Int] = [:]
    for row in found.rows {
      guard let kiosk = row[0].flatMap({ KioskID($0) }) else { continue }
      full[kiosk] = row[1].flatMap { Int($0) }
    }
    return full
  }

  /// Records kiosks in the table `over_quota`.
  ///
  /// - Parameters:
  ///   - over: The exceeded quota of each kiosk, and the time until its entries are stored again.
  ///   - refused: The number of entries of each kiosk that were not stored.
  func saveOverQuota(
    _ over: [KioskID: (quota: QuotaTracker.Quota, rest: Duration)], _ refused: [KioskID: Int]
  ) throws(DatabaseError) {
    let kiosks = over.sorted { $0.key < $1.key }
    try database.run(
      """
      INSERT INTO over_quota AS old (kiosk, quota, until, refused)
      SELECT kiosk, quota, now() + seconds * interval '1 s', refused
      FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) new (kiosk, quota, seconds, refused)
      ON CONFLICT (kiosk) DO UPDATE SET quota = excluded.quota, until = excluded.until,
        since = CASE WHEN old.until < now() THEN now() ELSE old.since END,
        refused = excluded.refused + CASE WHEN old.until < now() THEN 0 ELSE old.refused END
      """,
      [
        .array(kiosks.map(\.key.text)), .array(kiosks.map(\.value.quota.rawValue)),
        .array(kiosks.map { Int($0.value.rest.components.seconds) + 1 }),
        .array(kiosks.map { refused[$0.key] ?? 0 }),
      ])
  }
}
