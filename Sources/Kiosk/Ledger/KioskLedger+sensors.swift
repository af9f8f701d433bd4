import GRDB
import JuiceDomain
import KioskCore
import KioskProtocol

extension KioskLedger {
  static func sensors(in database: Database) throws -> [SensorID: SensorRecord] {
    var sensors: [SensorID: SensorRecord] = [:]
    for row in try database.rows("SELECT * FROM sensor") {
      guard let name = SensorID(row["name"] as String), let record = SensorRecord(row) else {
        continue
      }
      sensors[name] = record
    }
    return sensors
  }

  static func clock(in database: Database) throws -> ClockRecord? {
    try database.rows("SELECT * FROM last_clock").first.map { row in
      ClockRecord(
        at: Timestamp(milliseconds: row["at"]), boot: row["boot"],
        uptime: .milliseconds(row["uptime_ms"] as Int64),
        elapsed: .milliseconds(row["elapsed_ms"] as Int64), behind: row["behind_ms"],
        doubtful: row["doubtful"], isAccepted: row["accepted"])
    }
  }
}

extension LedgerWriter {
  /// Writes the changed states of sensors.
  func addSensors(of transaction: LedgerTransaction, on database: Database) throws {
    for (name, record) in transaction.sensors {
      try database.cachedStatement(
        sql: """
          INSERT OR REPLACE INTO sensor
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """
      ).execute(arguments: [
        name.text, record.state.rawValue, record.unit.rawValue, record.isSilent,
        record.since.milliseconds, record.at.milliseconds, record.value,
        record.outside.map { Int($0 / .milliseconds(1)) },
        record.fruits.map(\.text).joined(separator: " "),
        record.machines.map(\.text).joined(separator: " "), record.isDiscarded,
        record.hour?.at.milliseconds, record.hour?.low, record.hour?.high,
        record.hour?.secondsOutside, record.hour?.secondsMeasured,
        record.elapsed.milliseconds, record.unread?.milliseconds, record.isWaiting,
      ])
    }
  }

  /// Writes the clocks, for the next start.
  func set(_ clock: ClockRecord, on database: Database) throws {
    try database.cachedStatement(
      sql: "INSERT OR REPLACE INTO last_clock VALUES (1, ?, ?, ?, ?, ?, ?, ?)"
    ).execute(arguments: [
      clock.at.milliseconds, clock.boot, clock.uptime.milliseconds,
      clock.elapsed.milliseconds, clock.behind, clock.doubtful, clock.isAccepted,
    ])
  }
}

extension SensorRecord {
  fileprivate init?(_ row: Row) {
    guard let state = SensorReport.State(rawValue: row["state"]),
      let unit = SensorUnit(rawValue: row["unit"])
    else { return nil }
    self.init(state: state, unit: unit, since: Timestamp(milliseconds: row["since"]))
    isSilent = row["silent"]
    at = Timestamp(milliseconds: row["at"])
    value = row["value"]
    outside = (row["outside_ms"] as Int?).map { .milliseconds($0) }
    fruits = (row["fruits"] as String).split(separator: " ").compactMap { .init(String($0)) }
    machines = (row["machines"] as String).split(separator: " ").compactMap { .init(String($0)) }
    isDiscarded = row["discarded"]
    elapsed = .milliseconds(row["elapsed_ms"] as Int64)
    unread = (row["unread_ms"] as Int64?).map { .milliseconds($0) }
    isWaiting = row["waiting"]
    if let start = row["hour"] as Int64? {
      hour = SafetyDay.Hour(
        at: Timestamp(milliseconds: start), low: row["low"], high: row["high"],
        secondsOutside: row["outside_s"], secondsMeasured: row["measured_s"])
    }
  }
}
