package import JuiceDomain
package import KioskProtocol

/// The state of a sensor as recorded in the ledger.
package struct SensorRecord: Hashable, Sendable {
  package var state: SensorReport.State
  package let unit: SensorUnit
  package var isSilent = false
  /// The time at which the sensor got its present state.
  package var since: Timestamp
  /// The time of the last recorded reading or change.
  package var at: Timestamp
  /// The time of `at` as `ClockRecord.elapsed`.
  package var elapsed = Duration.zero
  /// The duration without a reading until `at`, also before the first one; or `nil` if the sensor was
  /// not configured. While the sensor `isWaiting`, it began with the last reading before the gap.
  package var unread: Duration?
  /// The last recorded value in thousandths of the unit, or `nil` if there was no reading.
  package var value: Int?
  /// The duration outside the limits until `at`, or `nil` within them.
  package var outside: Duration?
  /// The readings of the present hour, for which the ledger has no entry yet.
  package var hour: SafetyDay.Hour?
  /// The blocked fruits. They stay blocked if the sensor is removed from the configuration.
  package var fruits: [Fruit.ID] = []
  package var machines: [MachineID] = []
  /// Whether a person has discarded the fruit, so that the block ends with the first reading within
  /// the limits.
  package var isDiscarded = false
  /// Whether the block ends by itself if the readings after a gap permit it; see `Sensors`.
  package var isWaiting = false

  package init(state: SensorReport.State, unit: SensorUnit, since: Timestamp) {
    self.state = state
    self.unit = unit
    self.since = since
    at = since
  }
}

extension SensorRecord: StateRecord {
  package static let kind = StateKey.Kind.sensor

  package init(_ members: inout Members<Self>) throws(JSONError) {
    state = try members.required("state", \.state)
    unit = try members.required("unit", \.unit)
    isSilent = members.flag("silent", \.isSilent)
    since = try members.required("since", \.since)
    at = try members.required("at", \.at)
    elapsed = try members.required("elapsed_ms", \.elapsed)
    unread = members.optional("unread_ms", \.unread)
    value = members.optional("value", \.value)
    outside = members.optional("outside_ms", \.outside)
    hour = try members.optional("hour", \.hour)
    fruits = try members.required("fruits", \.fruits)
    machines = try members.required("machines", \.machines)
    isDiscarded = members.flag("discarded", \.isDiscarded)
    isWaiting = members.flag("waiting", \.isWaiting)
  }
}
