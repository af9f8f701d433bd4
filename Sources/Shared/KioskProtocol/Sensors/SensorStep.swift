package import JuiceDomain

/// A person's decision about the fruits and machines that a sensor has blocked.
package struct SensorDecision: Hashable, Sendable {
  package enum Choice: String, CaseIterable, Hashable, Sendable {
    /// Removes the blocked fruit from the stock. Fruit of later restocks and the machines stay
    /// blocked until the value is within the limits.
    case discard
    /// Ends the block. If the value is outside the limits, the time until the next block starts
    /// again.
    case release
  }

  package let sensor: SensorID
  package let choice: Choice
  /// The reason: 1 to `maximumWord` Unicode scalars on one line.
  package let word: String

  package static let maximumWord = 200

  package init(sensor: SensorID, choice: Choice, word: String) {
    self.sensor = sensor
    self.choice = choice
    self.word = word
  }
}

/// A change of a sensor's state, a decision about a sensor, or a sensor's readings of an hour: the
/// content of an entry.
package struct SensorStep: Hashable, Sendable {
  package enum Kind: String, CaseIterable, MemberValue {
    /// The value is outside the limits for longer than `alarm_after_seconds`.
    case alarm = "sensor_alarm"
    /// The value is outside the limits for longer than `block_after_seconds`: the sensor blocks
    /// fruits and machines.
    case blocked = "sensor_blocked"
    /// No reading has arrived for longer than `silent_after_seconds`.
    case silent = "sensor_silent"
    /// The first reading after a gap: a silence, or a time for which the kiosk was off.
    case gap = "sensor_gap"
    /// An alarm, a silence, or a block after `discard` is over.
    case ok = "sensor_ok"
    case discard = "sensor_discard"
    case release = "sensor_release"
    /// The readings of an hour that is over.
    case hour = "sensor_hour"

    var status: LedgerEntry.Status {
      switch self {
      case .alarm: .sensorAlarm
      case .blocked: .sensorBlocked
      case .silent: .sensorSilent
      case .gap: .sensorGap
      case .ok: .sensorOk
      case .discard: .sensorDiscard
      case .release: .sensorRelease
      case .hour: .sensorHour
      }
    }
  }

  package let kind: Kind
  package let sensor: SensorID
  /// The last value in thousandths of the unit, or `nil` for the kind `hour` or if there is none.
  package let value: Int?
  package let unit: SensorUnit
  /// The fruits and machines that are blocked, or that the decision is about.
  package let fruits: [Fruit.ID]
  package let machines: [MachineID]
  /// The reason that a person has given for a decision.
  package let word: String?
  /// The discarded fruit, as changes of the stock.
  package let changes: FruitAmounts
  /// The limits of the hour in thousandths of the unit; `nil` for other kinds, or without a limit.
  package let minimum, maximum: Int?
  /// The readings of an hour, for the kind `hour`; `nil` for other kinds.
  package let hour: SafetyDay.Hour?
  /// The shortest time without readings in seconds, for the kind `gap`, and whether the gap may have
  /// been longer, because the clock was in doubt.
  package var gap: Int?
  package var isGapInDoubt = false
  /// The number of seconds of the gap that count as outside the limits.
  package var outsideInGap: Int?

  package init(
    _ kind: Kind, of sensor: SensorID, value: Int?, unit: SensorUnit, fruits: [Fruit.ID] = [],
    machines: [MachineID] = [], word: String? = nil, changes: FruitAmounts = [:],
    minimum: Int? = nil, maximum: Int? = nil, hour: SafetyDay.Hour? = nil
  ) {
    self.kind = kind
    self.sensor = sensor
    self.value = value
    self.unit = unit
    (self.fruits, self.machines) = (fruits, machines)
    self.word = word
    self.changes = changes
    (self.minimum, self.maximum, self.hour) = (minimum, maximum, hour)
  }
}

extension SensorStep: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    kind = try members.reads("status", \.kind)
    sensor = try members.required("sensor", \.sensor)
    value = members.thousandths("value", \.value)
    unit = try members.required("unit", \.unit)
    fruits = members.identifiers("fruits", \.fruits, upTo: JSON.maximumMenuEntries)
    machines = members.identifiers("machines", \.machines, upTo: JSON.maximumMenuEntries)
    word = members.text("word", \.word, upTo: SensorDecision.maximumWord)
    minimum = members.thousandths("min", \.minimum)
    maximum = members.thousandths("max", \.maximum)
    hour = kind == .hour ? members.hour("hour", \.hour) : nil
    if kind == .hour, hour == nil { throw members.missing("hour") }
    gap = members.optional("gap", \.gap)
    outsideInGap = kind == .gap ? members.optional("outside", \.outsideInGap) : nil
    if kind != .gap { gap = nil }
    isGapInDoubt = members.optional("in_doubt", { $0.isGapInDoubt ? true : nil }) ?? false
    // The entry writes the changes.
    changes = members.json.amounts("changes") ?? [:]
  }
}

extension Members {
  /// Reads or writes a value of a sensor.
  mutating func thousandths(_ key: StaticString, _ get: (Message) -> Int?) -> Int? {
    other(
      get, read: { $0[key.description]?.thousandths },
      write: { $0.member(key, Double($1) / 1000) })
  }
}

extension SensorStep {
  /// The content of the step as text, for a log or a table.
  package var summary: String {
    let blocked = (fruits.map(\.text) + machines.map(\.text)).joined(separator: " ")
    return [
      "sensor \(sensor)", value.map { "\($0.decimalText) \(unit.rawValue)" },
      hour.map {
        "\($0.at): \($0.low.decimalText) to \($0.high.decimalText) \(unit.rawValue), "
          + "\($0.secondsOutside / 60) min outside"
      },
      gap.map { "\(isGapInDoubt ? "at least " : "")\($0 / 60) min without a reading" },
      outsideInGap.map { "\($0 / 60) min of it counted as outside" },
      blocked.isEmpty ? nil : blocked, word,
    ].compactMap(\.self).joined(separator: ", ")
  }
}

extension JSONWriter {
  mutating func members(_ decision: SensorDecision) {
    member("sensor", decision.sensor.text)
    member("decision", decision.choice.rawValue)
    member("word", decision.word)
  }
}
