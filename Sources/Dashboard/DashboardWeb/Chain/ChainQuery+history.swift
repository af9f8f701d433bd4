import Fleet
import JuiceDomain
import KioskProtocol
import Postgres

extension ChainQuery {
  /// Returns the latest records: entries, stockouts, and the outages of kiosks that are offline now
  /// and not in the fleet. An entry with an impossible time has the time of its arrival. Also
  /// returns the names of the kiosks of these records, and whether there may be further records.
  ///
  /// - Parameters:
  ///   - kiosk: The kiosk, or `nil` for all kiosks.
  ///   - kind: The kind of records, or `nil` for all kinds.
  ///   - start: Omits entries that were recorded, and stockouts that ended, before this time.
  func history(
    of kiosk: KioskID?, _ kind: ActivityLog.Kind?, since start: Timestamp, in fleet: KioskFleet
  ) throws(DatabaseError) -> (
    records: [ActivityLog.Record], names: [KioskID: String], isCut: Bool
  ) {
    let statuses = (kind.map { [$0] } ?? ActivityLog.Kind.allCases).flatMap(\.statuses)
    let rows = try rows(
      """
      , past (kiosk, kind, at, until, what) AS (
        SELECT kiosk, 'entry', at, at, \(Self.entry)
        FROM juice.event WHERE at >= $4::timestamptz AND status = ANY ($3::text[]) AND NOT EXISTS (
          SELECT FROM juice.misdated wrong
          WHERE wrong.kiosk = event.kiosk AND wrong.epoch = event.epoch AND wrong.seq = event.seq)
        UNION ALL
        SELECT kiosk, 'entry', arrived, arrived, \(Self.entry)
        FROM juice.misdated JOIN juice.event USING (kiosk, epoch, seq)
        WHERE arrived >= $4::timestamptz AND status = ANY ($3::text[])
        UNION ALL
        SELECT kiosk, 'out', since, until, fruit FROM juice.sold_out
        WHERE coalesce(until, now()) >= $4::timestamptz AND \(kind == nil || kind == .stockouts)
        UNION ALL
        SELECT kiosk, 'offline', since, NULL, NULL FROM juice.presence
        WHERE NOT is_online AND \(kind == nil || kind == .outages)
      )
      SELECT kiosk, name, kind, \(Self.milliseconds("at")),
        \(Self.milliseconds("until")), what
      FROM own JOIN past USING (kiosk) WHERE $2::text IS NULL OR kiosk = $2
      ORDER BY at DESC LIMIT \(ActivityStore.maximumRecords)
      """,
      [kiosk?.text, "{\(statuses.map(\.rawValue).joined(separator: ","))}", start.description])
    var names: [KioskID: String] = [:]
    let records = rows.compactMap { row -> ActivityLog.Record? in
      guard let kiosk = row.kiosk(0), let at = row.time(3) else { return nil }
      names[kiosk] = row.text(1)
      switch row[2] {
      case "entry":
        guard let entry = try? LedgerEntry(payload: Array(row[5].utf8)) else { return nil }
        return ActivityLog.Record(at: at, .entry(kiosk, entry))
      case "out":
        guard let fruit = Fruit.ID(row[5]) else { return nil }
        return ActivityLog.Record(
          at: at, .alert(.problem(.out(fruit), at: kiosk), .init(), until: row.time(4)))
      default:
        guard fleet[kiosk] == nil else { return nil }
        return ActivityLog.Record(
          at: at, .alert(.problem(.offline, at: kiosk), .init(), until: nil))
      }
    }
    return (records, names, rows.count >= ActivityStore.maximumRecords)
  }

  /// An SQL expression for the JSON text of an entry, as its kiosk has sent it.
  private static let entry = "juice.payload(event)::text"

  /// Returns one day of a kiosk's record of food safety.
  ///
  /// - Parameter timeZone: The time zone of the archive.
  func safety(
    of kiosk: KioskID, on day: CivilDate, _ localTime: LocalTime, timeZone: String
  ) throws(DatabaseError) -> SafetyDay {
    let next = CivilDate(daysSinceEpoch: day.daysSinceEpoch + 1)
    let limit = SafetyDay.maximumEntries * SafetyPage.maximumPages
    let times = [day, next].map { localTime.time(field: "\($0)T00:00")?.description }
    let rows = try rows(
      """
      , entry AS (
        (SELECT kiosk, at, epoch, seq, \(Self.entry) AS entry FROM juice.event
          WHERE kiosk = $2 AND status = 'sensor_hour' AND left(more->>'hour', 20) >= $3
            AND left(more->>'hour', 20) < $4 LIMIT \(Self.maximumHours))
        UNION ALL
        (SELECT kiosk, at, epoch, seq, \(Self.entry) FROM juice.event
          WHERE kiosk = $2 AND at >= $3::timestamptz AND at < $4::timestamptz AND juice IS NULL
            AND status <> ALL ($5::text[])
          ORDER BY at, epoch, seq LIMIT \(limit + 1))
      )
      SELECT entry FROM own JOIN entry USING (kiosk) ORDER BY at, epoch, seq
      """,
      [kiosk.text] + times + ["{\(SafetyDay.omitted.map(\.rawValue).joined(separator: ","))}"])
    let entries = rows.compactMap { try? LedgerEntry(payload: Array($0[0].utf8)) }
    var safety = SafetyDay(id: "archive", day: day, entries: entries, limit: limit)
    let hours = entries.count { $0.status == .sensorHour }
    if hours >= Self.maximumHours || entries.count < rows.count { safety.omitsSome = true }
    if try lacksEntries(of: kiosk, times, timeZone: timeZone) { safety.omitsSome = true }
    return safety
  }

  /// Returns whether the archive may lack entries of a kiosk between two times: their partition was
  /// deleted, a gap may have them, the kiosk's first ledger does not begin with entry 1, or no later
  /// entry has arrived and the kiosk was not online for the last hour.
  private func lacksEntries(
    of kiosk: KioskID, _ times: [String?], timeZone: String
  ) throws(DatabaseError) -> Bool {
    let row = try rows(
      """
      SELECT EXISTS (SELECT FROM juice.closed_day closed WHERE closed.kiosk = own.kiosk
          AND day BETWEEN ($3::timestamptz AT TIME ZONE $5)::date
            AND (($4::timestamptz - interval '1 second') AT TIME ZONE $5)::date)
        OR EXISTS (
          SELECT FROM juice.missing gap LEFT JOIN LATERAL (
            SELECT at FROM juice.event WHERE kiosk = gap.kiosk AND epoch = gap.epoch AND seq < gap.first
            ORDER BY seq DESC LIMIT 1
          ) before ON true LEFT JOIN LATERAL (
            SELECT at FROM juice.event WHERE kiosk = gap.kiosk AND epoch = gap.epoch AND seq > gap.last
            ORDER BY seq LIMIT 1
          ) after ON true
          WHERE gap.kiosk = own.kiosk
            AND coalesce(before.at, (SELECT max(latest) FROM juice.ledger
              WHERE kiosk = gap.kiosk AND epoch <> gap.epoch AND latest < after.at), '-infinity') < $4::timestamptz
            AND coalesce(after.at, (SELECT min(began) FROM juice.ledger
              WHERE kiosk = gap.kiosk AND epoch <> gap.epoch AND began > before.at), 'infinity') >= $3::timestamptz)
        OR coalesce((SELECT low > 1 AND began > $3::timestamptz FROM juice.ledger
          WHERE ledger.kiosk = own.kiosk ORDER BY began LIMIT 1), false)
        OR NOT EXISTS (SELECT FROM juice.ledger WHERE ledger.kiosk = own.kiosk
            AND least(latest, last_received) >= least($4::timestamptz, now() - interval '2 hours'))
          AND NOT EXISTS (SELECT FROM juice.presence, juice.reception WHERE presence.kiosk = own.kiosk
            AND is_online AND is_connected AND checked > now() - interval '1 minute'
            AND greatest(presence.since, reception.since) < now() - interval '1 hour')
      FROM own WHERE own.kiosk = $2
      """, [kiosk.text] + times + [timeZone]
    ).first
    return row?.bool(0) ?? true
  }

  /// Maximum number of hours of sensors of one day.
  private static let maximumHours = 5000
}

extension ActivityLog.Kind {
  /// The statuses of the ledger entries that `history` reads for this kind.
  fileprivate var statuses: [LedgerEntry.Status] {
    switch self {
    case .outages, .stockouts, .actions: []
    // Orders that were not paid, and refunds.
    case .payments: [.failed, .returned, .refund, .refunded, .paidBack]
    case .machines: [.failed, .returned, .poured, .again, .giveBack]
    case .safety:
      [
        .expired, .removed, .programRequested, .programDone, .programFailed, .sensorAlarm,
        .sensorBlocked, .sensorSilent, .sensorGap, .sensorOk, .sensorDiscard, .sensorRelease,
      ]
    case .service: [.open, .closed]
    case .restocks: [.restocked]
    }
  }
}
