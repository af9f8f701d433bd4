package import JuiceDomain

package typealias SensorID = Identifier<SensorReport>

/// The unit of a sensor. Values are integers in thousandths of the unit.
package enum SensorUnit: String, CaseIterable, Hashable, Sendable {
  case celsius = "°C"
  case milliliters = "ml"
  case grams = "g"
  /// The unit of the kiosk's own sensor `clock`. No configured sensor has it.
  case seconds = "s"

  /// The units of the sensors in a configuration.
  package static let allCases: [SensorUnit] = [.celsius, .milliliters, .grams]

  /// The values that a sensor can measure, in thousandths of the unit. The kiosk ignores others.
  package var plausible: ClosedRange<Int> {
    self == .celsius ? -60_000...150_000 : -1_000_000...1_000_000_000
  }

  /// The largest change within a minute that needs no second reading, in thousandths of the unit,
  /// or `nil` without a limit. The temperature of a fridge changes slowly, but the value of a scale
  /// changes at once when a person lifts the container.
  package var jump: Int? { self == .celsius ? 10_000 : nil }

  /// The distance from a limit, in thousandths of the unit, at which a value ends an alarm.
  package var hysteresis: Int { self == .celsius ? 500 : 10_000 }
}

extension SensorID {
  /// The kiosk's own sensor, which blocks fruit whose age is in doubt.
  package static let clock: SensorID = "clock"
}

/// The state of a sensor: the retained payload of `sensor/<sensor>`.
package struct SensorReport: Hashable, Sendable {
  package var state: State
  /// The last recorded value in thousandths of the unit, or `nil` before the first one.
  package var value: Int?
  package var unit: SensorUnit
  /// The limits in thousandths of the unit.
  package var minimum, maximum: Int?
  /// The time at which the state began, or `nil` if it is unknown.
  package var since: Timestamp?
  /// Whether the sensor has sent no reading for too long, or is no longer configured.
  package var isSilent: Bool
  /// The fruits and the machines that the sensor blocks.
  package var fruits: [Fruit.ID]
  package var machines: [MachineID]
  /// The number of messages without a usable value since the last reading.
  package var ignored: Int

  /// Maximum number of fruits and of machines in a report.
  private static let maximumBlocked = 1_000

  package enum State: String, CaseIterable, Hashable, Sendable {
    /// The sensor has never reported a value.
    case unknown
    case ok
    /// The value is outside the limits, but not longer than `alarm_after_seconds`.
    case outside
    /// The value is outside the limits for longer than `alarm_after_seconds`.
    case alarm
    /// The value was outside the limits for longer than `block_after_seconds`: a person decides.
    case blocked
  }

  package init(
    state: State, value: Int? = nil, unit: SensorUnit, minimum: Int? = nil, maximum: Int? = nil,
    since: Timestamp? = nil, isSilent: Bool = false, fruits: [Fruit.ID] = [],
    machines: [MachineID] = [], ignored: Int = 0
  ) {
    self.state = state
    self.value = value
    self.unit = unit
    (self.minimum, self.maximum) = (minimum, maximum)
    self.since = since
    self.isSilent = isSilent
    (self.fruits, self.machines) = (fruits, machines)
    self.ignored = ignored
  }

  /// Whether the sensor needs attention by a person. A sensor that has never sent a value does.
  package var needsAttention: Bool { isSilent || state != .ok && state != .outside }
}

extension SensorReport: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    state = try members.required("state", \.state)
    value = members.thousandths("value", \.value)
    unit = try members.required("unit", \.unit)
    minimum = members.thousandths("min", \.minimum)
    maximum = members.thousandths("max", \.maximum)
    since = members.optional("since", \.since)
    isSilent = members.flag("silent", \.isSilent)
    fruits = members.identifiers("fruits", \.fruits, upTo: Self.maximumBlocked)
    machines = members.identifiers("machines", \.machines, upTo: Self.maximumBlocked)
    ignored = members.optional("ignored") { $0.ignored > 0 ? $0.ignored : nil } ?? 0
  }
}

extension SensorReport.State: MemberValue {}

extension JSON {
  /// The number in thousandths, also if it is written as a text of at most 32 bytes; or `nil` if the
  /// value is not a number, or is too large.
  package var thousandths: Int? {
    switch self {
    case .integer(let number): Double(number).thousandths
    case .number(let number): number.thousandths
    case .string(let text): text.utf8.count <= 32 ? Double(text)?.thousandths : nil
    default: nil
    }
  }
}

extension Double {
  /// The number in thousandths, or `nil` if it is not finite or too large.
  package var thousandths: Int? {
    let scaled = (self * 1000).rounded()
    return scaled.magnitude < 1e15 ? Int(exactly: scaled) : nil
  }
}

extension Int {
  /// The number of thousandths as a decimal number: `4.5` for 4500.
  package var decimalText: String {
    let (whole, rest) = (magnitude / 1000, magnitude % 1000)
    guard rest > 0 else { return "\(self < 0 ? "-" : "")\(whole)" }
    var digits = String(String(rest + 1000).dropFirst())
    while digits.last == "0" { digits.removeLast() }
    return "\(self < 0 ? "-" : "")\(whole).\(digits)"
  }
}
