import GRDB
import JuiceDomain
package import KioskCore
package import KioskProtocol
import TimeZones

extension KioskLedger {
  /// Returns one day of the record of food safety, or one page of its entries. Only the first page
  /// has the readings of sensors.
  ///
  /// - Parameters:
  ///   - seq: The entry after which the page begins.
  ///   - limit: Maximum number of entries of the page.
  ///   - id: The id of the request.
  ///   - settings: The settings with the sensors, their limits and the time zone.
  package func safety(
    on day: CivilDate, after seq: Int = 0, limit: Int = .max - 1, id: Request.ID,
    _ settings: KioskSettings
  ) throws(LedgerError) -> SafetyDay {
    let start = settings.wallClock.start(ofDay: day.daysSinceEpoch)
    let end = settings.wallClock.start(ofDay: day.daysSinceEpoch + 1)
    return try reading { database in
      let rows = try database.rows(
        Self.otherEntries, [start.milliseconds, end.milliseconds, seq, limit + 1])
      if seq > 0 {
        return SafetyDay(
          id: id, day: day, entries: try rows.map { try LedgerRow($0).entry }, limit: limit)
      }
      let hours = try database.rows(Self.sensorHours, [start.description, end.description])
      // An hour that is not over has no entry yet.
      let records: [SensorID: SensorRecord] = try Self.records(in: database)
      let open = records.compactMap { name, record -> SensorStep? in
        guard let hour = record.hour, (start..<end).contains(hour.at) else { return nil }
        let sensor = settings.sensors.first { $0.name == name }
        return SensorStep(
          .hour, of: name, value: nil, unit: record.unit, minimum: sensor?.minimum,
          maximum: sensor?.maximum, hour: hour)
      }
      let configured = settings.sensors.map {
        SafetyDay.Sensor(
          name: $0.name, unit: $0.unit, minimum: $0.minimum, maximum: $0.maximum, hours: [])
      }
      var safety = SafetyDay(
        id: id, day: day, sensors: configured,
        entries: try (hours + rows).map { try LedgerRow($0).entry }, open: open, limit: limit)
      let first: Int64? = try database.rows(Self.earliest).first?[0]
      if let begins = first.map({ Timestamp(milliseconds: $0) }), begins >= start {
        safety.begins = begins
        // Nothing is known about the sensors before the ledger.
        if begins >= end { safety.sensors.removeAll(where: \.hours.isEmpty) }
      }
      return safety
    }
  }

  /// The condition of the index `other_entry`: entries that are not orders. A list with `IN` would make SQLite build
  /// a table for each order.
  static let isOther = [
    LedgerEntry.Status.ready, .accepted, .made, .failed, .outOfStock, .returned, .awaitingPayment,
  ].map { "status <> '\($0.rawValue)'" }.joined(separator: " AND ")

  /// Selects the entries that are not orders and have no status of `SafetyDay.omitted`, with the index `other_entry`.
  static let otherEntries = """
    SELECT * FROM entry WHERE \(isOther) AND at >= ? AND at < ? AND +seq > ?
      AND status NOT IN (\(omitted)) ORDER BY seq LIMIT ?
    """

  /// Selects the earliest time of the entries that are not orders, with the index `other_entry`.
  /// The first entry of a ledger is one of them.
  private static let earliest =
    "SELECT at FROM entry WHERE \(isOther) ORDER BY at LIMIT 1"

  private static let omitted =
    SafetyDay.omitted.map { "'\($0.rawValue)'" }.joined(separator: ", ")

  /// Selects the hours of sensors, with the index `sensor_hour`. The index contains the start of
  /// the hour, because the kiosk may record the entry of an hour later, even on the next day.
  static let sensorHours = """
    SELECT * FROM entry WHERE status = 'sensor_hour' AND event ->> 'hour' >= ? AND event ->> 'hour' < ?
    ORDER BY seq
    """
}
