import JuiceDomain

/// A request for one day of a kiosk's record of food safety.
package struct SafetyRequest: Hashable, Sendable {
  /// The id of the request, which its answer repeats.
  package let id: Request.ID
  /// The day in the kiosk's time zone.
  package let day: CivilDate

  package init(id: Request.ID, day: CivilDate) {
    self.id = id
    self.day = day
  }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("id", id.text)
      json.member("day", day.description)
    }
  }

  /// - Throws: `JSONError` if the payload is not a request; unknown members are ignored.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let id = json.text("id").flatMap({ Request.ID($0) }),
      let day = json.text("day").flatMap({ CivilDate($0) })
    else { throw JSONError(offset: 0, problem: "id and day are required") }
    self.init(id: id, day: day)
  }
}

/// One day of the record of food safety: what the sensors measured, and what was done.
package struct SafetyDay: Hashable, Sendable {
  /// Maximum number of entries of a day. Further ones are omitted.
  package static let maximumEntries = 500
  private static let maximumSensors = 100
  private static let maximumHours = 26

  package let id: Request.ID
  package let day: CivilDate
  package var sensors: [Sensor]
  /// Restocks, states of sensors, decisions and other entries that are no orders, in their order.
  package var entries: [LedgerEntry]
  /// Whether entries are omitted.
  package var isShortened: Bool

  package struct Sensor: Hashable, Sendable {
    package var name: SensorID
    package var unit: SensorUnit
    /// The limits in thousandths of the unit.
    package var minimum, maximum: Int?
    package var hours: [Hour]

    package init(
      name: SensorID, unit: SensorUnit, minimum: Int?, maximum: Int?, hours: [Hour]
    ) {
      (self.name, self.unit, self.hours) = (name, unit, hours)
      (self.minimum, self.maximum) = (minimum, maximum)
    }

    package var low: Int? { hours.map(\.low).min() }
    package var high: Int? { hours.map(\.high).max() }
    package var secondsOutside: Int { hours.reduce(0) { $0 + $1.secondsOutside } }
    /// The time of the day with readings.
    package var secondsMeasured: Int { hours.reduce(0) { $0 + $1.secondsMeasured } }
  }

  /// An hour with readings. Values are thousandths of the unit.
  package struct Hour: Hashable, Sendable {
    package var at: Timestamp
    package var low: Int
    package var high: Int
    package var secondsOutside: Int
    package var secondsMeasured: Int

    package init(at: Timestamp, low: Int, high: Int, secondsOutside: Int, secondsMeasured: Int) {
      (self.at, self.low, self.high) = (at, low, high)
      (self.secondsOutside, self.secondsMeasured) = (secondsOutside, secondsMeasured)
    }
  }

  package init(
    id: Request.ID, day: CivilDate, sensors: [Sensor], entries: [LedgerEntry], isShortened: Bool
  ) {
    (self.id, self.day, self.sensors) = (id, day, sensors)
    (self.entries, self.isShortened) = (entries, isShortened)
  }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("id", id.text)
      json.member("day", day.description)
      json.member("sensors", sensors) { json, sensor in
        json.member("name", sensor.name.text)
        json.member("unit", sensor.unit.rawValue)
        if let minimum = sensor.minimum { json.member("min", Double(minimum) / 1000) }
        if let maximum = sensor.maximum { json.member("max", Double(maximum) / 1000) }
        json.member("hours", sensor.hours) { json, hour in
          json.member("at", hour.at.description)
          json.member("low", Double(hour.low) / 1000)
          json.member("high", Double(hour.high) / 1000)
          json.member("outside", hour.secondsOutside)
          json.member("measured", hour.secondsMeasured)
        }
      }
      json.member("entries", entries) { $0.members($1) }
      if isShortened { json.member("shortened", true) }
    }
  }

  /// - Throws: `JSONError` if the payload is not a day of a record; unknown members are ignored.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let id = json.text("id").flatMap({ Request.ID($0) }),
      let day = json.text("day").flatMap({ CivilDate($0) }),
      let sensors = json.elements("sensors"), sensors.count <= Self.maximumSensors,
      let entries = json.elements("entries"), entries.count <= Self.maximumEntries
    else { throw JSONError(offset: 0, problem: "this is not a day of a record") }
    self.init(
      id: id, day: day, sensors: sensors.compactMap(Sensor.init),
      entries: entries.compactMap { try? LedgerEntry($0) },
      isShortened: json["shortened"] == .bool(true))
  }

  fileprivate static func hours(_ json: JSON) -> [Hour] {
    (json.elements("hours") ?? []).prefix(maximumHours).compactMap { json in
      // No hour has more, and sums of such numbers do not overflow.
      let seconds = 0...7200
      guard let at = json.text("at").flatMap(Timestamp.init), let low = json["low"]?.thousandths,
        let high = json["high"]?.thousandths, let outside = json.integer("outside"),
        let measured = json.integer("measured"), seconds.contains(outside),
        seconds.contains(measured)
      else { return nil }
      return Hour(
        at: at, low: low, high: high, secondsOutside: outside, secondsMeasured: measured)
    }
  }
}

extension SafetyDay.Sensor {
  fileprivate init?(_ json: JSON) {
    guard let name = json.text("name").flatMap({ SensorID($0) }),
      let unit = json.text("unit").flatMap(SensorUnit.init(rawValue:))
    else { return nil }
    self.init(
      name: name, unit: unit, minimum: json["min"]?.thousandths, maximum: json["max"]?.thousandths,
      hours: SafetyDay.hours(json))
  }
}
