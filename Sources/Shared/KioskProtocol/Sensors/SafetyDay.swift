import JuiceDomain

/// A request for one day of a kiosk's record of food safety.
package struct SafetyRequest: Hashable, Sendable {
  /// The id of the request, which its answer repeats.
  package let id: Request.ID
  /// The day in the kiosk's time zone.
  package let day: CivilDate
  /// The `seq` after which the requested page begins, or 0 for the first page.
  package let after: Int

  package init(id: Request.ID, day: CivilDate, after: Int = 0) {
    (self.id, self.day, self.after) = (id, day, after)
  }
}

extension SafetyRequest: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    id = try members.required("id", \.id)
    day = try members.required("day", \.day)
    after = members.optional("after") { $0.after > 0 ? $0.after : nil } ?? 0
  }
}

extension Timestamp {
  /// The start of the hour that contains this time, in UTC.
  package var hour: Timestamp {
    Timestamp(milliseconds: milliseconds - (milliseconds % 3_600_000 + 3_600_000) % 3_600_000)
  }
}

/// One day of the record of food safety: the readings of the sensors, and the entries that have no
/// juice and no status in `omitted`. A message has a page of it; `append(_:)` puts pages together.
package struct SafetyDay: Hashable, Sendable {
  /// Maximum number of entries of a page. Further ones are in the next page.
  package static let maximumEntries = 500
  private static let maximumSensors = 100
  fileprivate static let maximumHours = 26

  package let id: Request.ID
  package let day: CivilDate
  package var sensors: [Sensor]
  /// Restocks, states of sensors, decisions and other entries of the record, in the order of the ledger.
  package var entries: [LedgerEntry]
  /// The `seq` after which the next page begins, or `nil` if there are no further entries.
  package var next: Int?
  /// Whether there are more sensors or hours than a day can have, or entries that this version
  /// cannot read or the archive of the chain lacks.
  package var omitsSome = false
  /// The time of the first entry of the ledger, or `nil` if it is before this day or unknown. A
  /// restored ledger has it from its backup, so all time since then counts.
  package var begins: Timestamp?

  /// Whether the day has further entries, sensors or hours. Each form of the record shows it.
  package var isShortened: Bool { next != nil || omitsSome }

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
    /// The number of seconds of the day with readings.
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

    /// Maximum number of seconds of an hour, which a change of the clock may repeat. Sums of such
    /// numbers do not overflow.
    fileprivate static let maximumSeconds = 7200

    /// Adds readings of the same hour.
    package mutating func add(_ other: Hour) {
      (low, high) = (min(low, other.low), max(high, other.high))
      secondsOutside = min(Self.maximumSeconds, secondsOutside + other.secondsOutside)
      secondsMeasured = min(Self.maximumSeconds, secondsMeasured + other.secondsMeasured)
    }
  }

  package init(
    id: Request.ID, day: CivilDate, sensors: [Sensor], entries: [LedgerEntry], next: Int? = nil
  ) {
    (self.id, self.day, self.sensors) = (id, day, sensors)
    (self.entries, self.next) = (entries, next)
  }

  /// Returns the number of seconds without a reading of a sensor, which count from the first entry
  /// of the ledger.
  ///
  /// - Parameters:
  ///   - start: The start of the day.
  ///   - end: The end of the day, or the present time if it is earlier.
  package func secondsWithoutReading(
    of sensor: Sensor, from start: Timestamp, to end: Timestamp
  ) -> Int {
    let length = end.since(max(start, begins ?? start)).components.seconds
    return max(0, Int(clamping: length) - sensor.secondsMeasured)
  }

  /// Adds the page that begins after `next`.
  package mutating func append(_ page: SafetyDay) {
    entries += page.entries
    (next, omitsSome) = (page.next, omitsSome || page.omitsSome)
  }

  /// The statuses of the entries other than orders that a day does not show: rejections, payments,
  /// service changes, and the readings of sensors.
  package static let omitted: [LedgerEntry.Status] = [
    .rejected, .held, .captured, .released, .refunded, .capture, .release, .refund, .kept,
    .paidBack, .writtenOff, .total,
    .open, .closed, .sensorHour,
  ]

  /// Creates a day from its entries.
  ///
  /// - Parameters:
  ///   - sensors: The configured sensors, without hours. The day also gets other sensors with readings.
  ///   - entries: The readings of each hour, with the limits at that time, and the entries that the
  ///     day shows.
  ///   - open: The readings of hours that are not over.
  ///   - limit: Maximum number of entries other than readings.
  package init(
    id: Request.ID, day: CivilDate, sensors: [Sensor] = [], entries: [LedgerEntry],
    open: [SensorStep] = [], limit: Int = .max
  ) {
    var (sensors, others): ([Sensor], [LedgerEntry]) = (sensors, [])
    var omitsSome = false
    func add(_ step: SensorStep, _ hour: Hour) {
      let index = sensors.firstIndex { $0.name == step.sensor } ?? sensors.count
      if index == sensors.count {
        guard index < Self.maximumSensors else {
          omitsSome = true
          return
        }
        sensors.append(
          Sensor(name: step.sensor, unit: step.unit, minimum: nil, maximum: nil, hours: []))
      }
      (sensors[index].minimum, sensors[index].maximum) = (step.minimum, step.maximum)
      // After a change of the clock an hour may have two entries.
      if let same = sensors[index].hours.firstIndex(where: { $0.at == hour.at }) {
        sensors[index].hours[same].add(hour)
      } else if sensors[index].hours.count < Self.maximumHours {
        sensors[index].hours.append(hour)
      } else {
        omitsSome = true
      }
    }
    for entry in entries {
      if case .sensor(let step) = entry.outcome, let hour = step.hour {
        add(step, hour)
      } else {
        others.append(entry)
      }
    }
    for step in open { if let hour = step.hour { add(step, hour) } }
    let page = Array(others.prefix(limit))
    // guard: a record that is not whole says so
    let next = others.count > page.count ? page.last?.seq : nil
    self.init(id: id, day: day, sensors: sensors, entries: page, next: next)
    self.omitsSome = omitsSome
  }
}

extension SafetyDay: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    id = try members.required("id", \.id)
    day = try members.required("day", \.day)
    sensors = try members.page("sensors", \.sensors, upTo: Self.maximumSensors)
    entries = try members.page("entries", \.entries, upTo: Self.maximumEntries)
    next = members.optional("next", \.next)
    begins = members.optional("begins", \.begins)
    let omitsSome = members.optional("shortened") { $0.omitsSome ? true : nil } ?? false
    self.omitsSome = omitsSome || members.json.elements("entries")?.count ?? 0 > entries.count
  }
}

extension SafetyDay.Sensor: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    name = try members.required("name", \.name)
    unit = try members.required("unit", \.unit)
    minimum = members.thousandths("min", \.minimum)
    maximum = members.thousandths("max", \.maximum)
    hours = members.list("hours", \.hours, upTo: SafetyDay.maximumHours)
  }
}

extension SafetyDay.Hour: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    guard let hour = members.hour("at", { $0 }) else { throw members.missing("at") }
    self = hour
  }
}

extension Members {
  /// Reads or writes an hour. Returns `nil` if a member is absent or invalid.
  ///
  /// - Parameter key: The member with the time of the hour.
  mutating func hour(
    _ key: StaticString, _ get: (Message) -> SafetyDay.Hour?
  ) -> SafetyDay.Hour? {
    let seconds = 0...SafetyDay.Hour.maximumSeconds
    let at = optional(key) { get($0)?.at }
    let low = thousandths("low") { get($0)?.low }
    let high = thousandths("high") { get($0)?.high }
    let outside = optional("outside", { get($0)?.secondsOutside }, where: seconds.contains)
    let measured = optional("measured", { get($0)?.secondsMeasured }, where: seconds.contains)
    guard let at, let low, let high, let outside, let measured else { return nil }
    return SafetyDay.Hour(
      at: at, low: low, high: high, secondsOutside: outside, secondsMeasured: measured)
  }
}
