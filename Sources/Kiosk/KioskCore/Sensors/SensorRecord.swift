package import JuiceDomain
package import KioskProtocol

/// The state of a sensor that outlives a restart.
package struct SensorRecord: Hashable, Sendable {
  package var state: SensorReport.State
  package let unit: SensorUnit
  package var isSilent = false
  /// The time since when the state exists.
  package var since: Timestamp
  /// The time of the last recorded reading or change.
  package var at: Timestamp
  /// The last recorded value in thousandths of the unit.
  package var value: Int?
  /// The time outside the limits until `at`, by the monotonic clock; `nil` within them.
  package var outside: Duration?
  /// The blocked fruits. They stay blocked without the sensor's configuration.
  package var fruits: [Fruit.ID] = []
  package var machines: [MachineID] = []
  /// Whether a person has discarded the fruit, so that the block ends within the limits.
  package var isDiscarded = false

  package init(state: SensorReport.State, unit: SensorUnit, since: Timestamp) {
    self.state = state
    self.unit = unit
    self.since = since
    at = since
  }
}

/// The readings of a sensor since the last row, or a change of its state: a row of the ledger.
package struct SensorReading: Hashable, Sendable {
  package let sensor: SensorID
  package let at: Timestamp
  package let state: SensorReport.State
  package let isSilent: Bool
  /// The last, the lowest and the highest value in thousandths of the unit, or `nil` if there was
  /// none.
  package let values: Values?

  package struct Values: Hashable, Sendable {
    package var last, low, high: Int

    package init(last: Int, low: Int, high: Int) {
      (self.last, self.low, self.high) = (last, low, high)
    }

    mutating func add(_ value: Int) {
      (last, low, high) = (value, min(low, value), max(high, value))
    }
  }

  package init(
    sensor: SensorID, at: Timestamp, state: SensorReport.State, isSilent: Bool, values: Values?
  ) {
    self.sensor = sensor
    self.at = at
    self.state = state
    self.isSilent = isSilent
    self.values = values
  }
}
