import GRDB
import JuiceDomain
package import KioskCore
package import KioskProtocol

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

  /// Returns the readings of a time, in the order in which they were recorded.
  ///
  /// - Parameter limit: Maximum number of readings; the first ones are returned.
  package func readings(
    from start: Timestamp, to end: Timestamp, limit: Int = 2_000_000
  ) throws(LedgerError) -> [SensorReading] {
    try reading { database in
      let sql = "SELECT * FROM reading WHERE at >= ? AND at < ? ORDER BY number LIMIT ?"
      return try database.rows(sql, [start.milliseconds, end.milliseconds, limit])
        .compactMap(SensorReading.init)
    }
  }
}

extension LedgerWriter {
  /// Writes the states and the readings of sensors, and deletes the oldest readings.
  func addSensors(of transaction: LedgerTransaction, on database: Database) throws {
    for (name, record) in transaction.sensors {
      try database.cachedStatement(
        sql: "INSERT OR REPLACE INTO sensor VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
      ).execute(arguments: [
        name.text, record.state.rawValue, record.unit.rawValue, record.isSilent,
        record.since.milliseconds, record.at.milliseconds, record.value,
        record.outside.map { Int($0 / .milliseconds(1)) },
        record.fruits.map(\.text).joined(separator: " "),
        record.machines.map(\.text).joined(separator: " "), record.isDiscarded,
      ])
    }
    for reading in transaction.readings {
      try database.cachedStatement(
        sql: "INSERT INTO reading VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)"
      ).execute(arguments: [
        reading.at.milliseconds, reading.sensor.text,
        reading.state == .ok ? nil : reading.state.rawValue, reading.isSilent ? 1 : nil,
        reading.values?.last, reading.values?.low, reading.values?.high,
      ])
    }
    // By number and not by time, because a clock that jumps ahead must not delete the record.
    try database.cachedStatement(
      sql: "DELETE FROM reading WHERE number <= (SELECT MAX(number) FROM reading) - ?"
    ).execute(arguments: [transaction.keptReadings])
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
  }
}

extension SensorReading {
  fileprivate init?(_ row: Row) {
    guard let sensor = SensorID(row["sensor"] as String),
      let state = (row["state"] as String?).map(SensorReport.State.init(rawValue:)) ?? .ok
    else { return nil }
    var values: Values?
    if let last = row["value"] as Int?, let low = row["low"] as Int?, let high = row["high"] as Int?
    {
      values = Values(last: last, low: low, high: high)
    }
    self.init(
      sensor: sensor, at: Timestamp(milliseconds: row["at"]), state: state,
      isSilent: row["silent"] as Int? == 1, values: values)
  }
}
