import JuiceDomain
import KioskProtocol
import MessageBroker
package import Postgres

/// The merge: stores a batch in the database.
extension ArchiveStore {
  /// Commits a batch, without what exceeds the quotas of kiosks. If the database rejects rows, finds
  /// them by bisection and quarantines them.
  package func archive(_ batch: EventBatch) throws(DatabaseError) -> Outcome {
    var batch = batch
    let overQuota = try applyQuotas(to: &batch)
    var outcome = try store(batch)
    outcome.overQuota.formUnion(overQuota)
    return outcome
  }

  private func store(_ batch: EventBatch) throws(DatabaseError) -> Outcome {
    do {
      return try commit(batch)
    } catch {
      // Only the statements with the batch's rows contain values that a kiosk can make invalid.
      guard rowsError == error, error.remedy == .quarantine, let first = batch.rows.first else {
        throw error
      }
      guard batch.rows.count > 1 else {
        let rejection = EventBatch.QuarantinedMessage(message: first.message, reason: "\(error)")
        var others = batch
        others.rows = []
        others.rejections.append(rejection)
        return try store(others)
      }
      let half = batch.rows.count / 2
      var others = batch
      others.rows = Array(batch.rows[..<half])
      var outcome = try store(others)
      let rest = try store(EventBatch(rows: Array(batch.rows[half...])))
      outcome.stored += rest.stored
      outcome.conflicts.formUnion(rest.conflicts)
      outcome.overQuota.formUnion(rest.overQuota)
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
    rowsError = nil
    var batch = batch
    var outcome = Outcome()
    if !batch.rows.isEmpty || !batch.positions.isEmpty {
      let isNew = try track(&batch, &outcome)
      let new = isLedgerRight ? zip(batch.rows, isNew).filter(\.1).map(\.0) : []
      let other = isLedgerRight ? zip(batch.rows, isNew).filter { !$0.1 }.map(\.0) : batch.rows
      if !new.isEmpty { outcome.stored = try copy(new, into: "event") }
      if !other.isEmpty {
        try copy(other, into: "arrival")
        if !isLedgerRight { outcome.stored = try storeMissing() }
        outcome.conflicts = try recordConflicts()
      }
      try markDays(of: isLedgerRight ? new : other)
    }
    if batch.hasArrivals {
      try database.run("UPDATE reception SET received = now(), checked = now()")
    }
    try savePresence(batch.presence)
    try saveMenuReports(batch.menus)
    try quarantine(batch.rejections)
    outcome.rejected = batch.rejections
    return outcome
  }

  @discardableResult
  private func copy(_ rows: [EventRow], into table: String) throws(DatabaseError) -> Int {
    do {
      return try database.copy(
        "COPY \(table) (\(EventRow.columnList)) FROM STDIN", EventBatch(rows: rows).copyText)
    } catch {
      rowsError = error
      throw error
    }
  }

  /// Stores the rows of `arrival` that the table `event` lacks.
  private func storeMissing() throws(DatabaseError) -> Int {
    do {
      return try database.run(
        """
        INSERT INTO event (\(EventRow.columnList)) SELECT \(EventRow.columnList) FROM arrival
        WHERE NOT EXISTS (SELECT FROM event WHERE event.kiosk = arrival.kiosk
          AND event.epoch = arrival.epoch AND event.seq = arrival.seq)
        ON CONFLICT DO NOTHING
        """
      ).count
    } catch {
      rowsError = error
      throw error
    }
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

  /// Maximum number of stored conflicts per key. The archive keeps the first ones.
  private static let maximumConflicts = 10
  /// Maximum number of stored conflicts per kiosk.
  private static let maximumConflictsOfKiosk = 10_000

  /// Stores the rows of `arrival` whose key is stored with different content.
  ///
  /// - Returns: The kiosks of the stored conflicts.
  private func recordConflicts() throws(DatabaseError) -> Set<KioskID> {
    let columns = EventRow.columns
    let names = columns.map { "arrival.\($0)" }.joined(separator: ", ")
    let same = columns.dropFirst(3).map { "event.\($0)" }.joined(separator: ", ")
    let other = columns.dropFirst(3).map { "arrival.\($0)" }.joined(separator: ", ")
    let found = try database.run(
      """
      WITH stored AS MATERIALIZED (
        SELECT kiosk, count(*) AS conflicts FROM conflict
        WHERE kiosk IN (SELECT kiosk FROM arrival) GROUP BY kiosk
      )
      INSERT INTO conflict (\(EventRow.columnList), digest)
      SELECT \(EventRow.columnList), digest FROM (
        SELECT \(names), md5(arrival::text)::uuid AS digest, row_number() OVER (
          PARTITION BY arrival.kiosk, arrival.epoch, arrival.seq ORDER BY md5(arrival::text)
        ) AS number, row_number() OVER (
          PARTITION BY arrival.kiosk ORDER BY arrival.epoch, arrival.seq, md5(arrival::text)
        ) AS number_of_kiosk
        FROM arrival JOIN event USING (kiosk, epoch, seq)
        WHERE (\(other)) IS DISTINCT FROM (\(same))
          AND NOT EXISTS (SELECT FROM conflict known WHERE known.kiosk = arrival.kiosk
            AND known.epoch = arrival.epoch AND known.seq = arrival.seq
            AND known.digest = md5(arrival::text)::uuid)
      ) arrival LEFT JOIN stored USING (kiosk)
      WHERE number + (SELECT count(*) FROM conflict known WHERE known.kiosk = arrival.kiosk
        AND known.epoch = arrival.epoch AND known.seq = arrival.seq) <= \(Self.maximumConflicts)
        AND number_of_kiosk + coalesce(conflicts, 0) <= \(Self.maximumConflictsOfKiosk)
      ON CONFLICT DO NOTHING RETURNING kiosk
      """)
    return Set(found.rows.compactMap { $0.first?.flatMap { KioskID($0) } })
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
