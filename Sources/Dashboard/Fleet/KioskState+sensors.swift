import JuiceDomain
package import KioskProtocol

// The sensors of a kiosk.
extension KioskState {
  /// The reports of all sensors, sorted by the name of the sensor.
  package var sensorReports: [(sensor: SensorID, report: SensorReport)] {
    sensors.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  var blockedFruits: Set<Fruit.ID> {
    sensors.values.reduce(into: []) { fruits, report in
      if report.state == .blocked { fruits.formUnion(report.fruits) }
    }
  }
}
