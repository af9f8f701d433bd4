package import KioskProtocol

// The sensors of a kiosk.
extension KioskState {
  /// The reports of all sensors, sorted by the name of the sensor.
  package var sensorReports: [(sensor: SensorID, report: SensorReport)] {
    reports.sensors.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Returns the steps of a sensor in `services` since it was within its limits, or since a release,
  /// the latest first.
  package func episode(of sensor: SensorID) -> [(entry: LedgerEntry, step: SensorStep)] {
    steps(of: sensor).prefix { ![.ok, .release].contains($0.step.kind) }.map { $0 }
  }

  /// Returns whether the latest step of a sensor in `services` is a release.
  package func isReleased(_ sensor: SensorID) -> Bool {
    steps(of: sensor).first?.step.kind == .release
  }

  private func steps(of sensor: SensorID) -> [(entry: LedgerEntry, step: SensorStep)] {
    services.compactMap { entry in
      guard case .sensor(let step) = entry.outcome, step.sensor == sensor else { return nil }
      return (entry, step)
    }
  }
}

extension SensorReport {
  /// Whether the last value is within the limits, or `nil` if there is none.
  package var isWithin: Bool? {
    value.map { $0 >= minimum ?? .min && $0 <= maximum ?? .max }
  }
}
