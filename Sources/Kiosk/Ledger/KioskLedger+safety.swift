import GRDB
import JuiceDomain
package import KioskCore
package import KioskProtocol

extension KioskLedger {
  /// Returns one day of the record of food safety.
  ///
  /// - Parameter settings: The limits of the sensors, and the time zone.
  package func safety(
    on day: CivilDate, id: Request.ID, _ settings: KioskSettings
  ) throws(LedgerError) -> SafetyDay {
    let start = settings.wallClock.start(ofDay: day.daysSinceEpoch)
    let end = settings.wallClock.start(ofDay: day.daysSinceEpoch + 1)
    let readings = try readings(from: start, to: end)
    let units = try reading { try Self.sensors(in: $0).mapValues(\.unit) }
    let entries: [LedgerEntry] = try reading { database in
      let rows = try database.rows(
        Self.safetyEntries, [start.milliseconds, end.milliseconds, SafetyDay.maximumEntries + 1])
      return try rows.map { try LedgerRow($0).entry }
    }
    let configured = settings.sensors.map(\.name)
    let others = Set(readings.map(\.sensor)).subtracting(configured).sorted()
    let sensors = (configured + others).map { name in
      let sensor = settings.sensors.first { $0.name == name }
      return SafetyDay.Sensor(
        name: name, unit: sensor?.unit ?? units[name] ?? .celsius, minimum: sensor?.minimum,
        maximum: sensor?.maximum,
        hours: Self.hours(of: readings.filter { $0.sensor == name }, sensor))
    }
    return SafetyDay(
      id: id, day: day, sensors: sensors,
      entries: Array(entries.prefix(SafetyDay.maximumEntries)),
      isShortened: entries.count > SafetyDay.maximumEntries)
  }

  /// The entries that are no orders and no payments, by the index `other_entry`.
  private static let safetyEntries = """
    SELECT * FROM entry WHERE juice IS NULL AND at >= ? AND at < ?
      AND status NOT IN ('rejected', 'held', 'captured', 'released', 'refunded', 'capture', 'release',
        'refund', 'kept', 'total', 'open', 'closed')
    ORDER BY seq LIMIT ?
    """

  /// Sums the readings of a sensor by hour. A reading stands for the time since the one before, but
  /// not for more than an hour or the time after which the sensor counts as silent.
  private static func hours(
    of readings: [SensorReading], _ sensor: KioskSettings.Sensor?
  ) -> [SafetyDay.Hour] {
    let longestGap = min(3_600_000, (sensor?.silentAfter.components.seconds ?? 3_600) * 1000)
    var hours: [SafetyDay.Hour] = []
    var last: Timestamp?
    for reading in readings {
      guard let values = reading.values else { continue }
      let gap = last.map { reading.at.milliseconds - $0.milliseconds } ?? 60_000
      last = reading.at
      let seconds = (0...longestGap).contains(gap) ? Int(gap / 1000) : 0
      let isOutside =
        sensor.map { !$0.isWithinLimits(values.low) || !$0.isWithinLimits(values.high) }
        ?? (reading.state == .outside || reading.state == .alarm)
      let hour = Timestamp(
        milliseconds: (reading.at.milliseconds / 3_600_000) * 3_600_000)
      if hours.last?.at != hour {
        hours.append(
          .init(
            at: hour, low: values.low, high: values.high, secondsOutside: 0, secondsMeasured: 0))
      }
      let index = hours.count - 1
      hours[index].low = min(hours[index].low, values.low)
      hours[index].high = max(hours[index].high, values.high)
      hours[index].secondsMeasured += seconds
      if isOutside { hours[index].secondsOutside += seconds }
    }
    return hours
  }
}
