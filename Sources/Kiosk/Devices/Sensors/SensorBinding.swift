import KioskProtocol

/// The topic of a sensor, and the place of the value in its messages.
package struct SensorBinding: Hashable, Sendable {
  package var topic: String
  /// The member that is the value, or `nil` if the whole payload is a number.
  package var value: JSONPointer?
  /// The member that names the device, and the name of this device, if several devices publish on the
  /// topic.
  package var key: JSONPointer?
  package var device: String?
  package var kind: Kind?

  /// A sensor whose faults are known values.
  package enum Kind: String, CaseIterable, Sendable {
    case ds18b20, sht3x

    /// The values, in thousandths of a degree, that are no measurements.
    fileprivate var faults: [Int] {
      switch self {
      // 85 is the content of the register after power-up (Maxim, "DS18B20", table 1), -127 the value
      // of drivers for a sensor that does not answer (DEVICE_DISCONNECTED_C of DallasTemperature).
      case .ds18b20: [85_000, -127_000]
      // The least and the greatest number that the sensor can send, as a bus without a sensor does
      // (Sensirion, "SHT3x-DIS", 4.13).
      case .sht3x: [-45_000, 130_000]
      }
    }
  }

  package init(topic: String, value: JSONPointer? = nil) {
    self.topic = topic
    self.value = value
  }

  /// Returns whether a message is from the device of this sensor.
  package func isOwn(_ payload: [UInt8]) -> Bool {
    guard let key else { return true }
    guard payload.count <= Request.maximumPayload, let json = try? JSON.parse(payload) else {
      return false
    }
    // guard: the reading of another device is no reading
    return json[key]?.word == device
  }

  /// Returns the value of a message in thousandths of the unit, or `nil` if it cannot be read or is
  /// a fault of the sensor.
  package func read(_ payload: [UInt8]) -> Int? {
    guard payload.count <= Request.maximumPayload else { return nil }
    let json = value == nil ? nil : try? JSON.parse(payload)
    let reading =
      value.map { json?[$0]?.thousandths }
      ?? JSON.string(String(decoding: payload, as: UTF8.self)).thousandths
    // guard: a fault value of a sensor is no reading
    guard let reading, kind?.faults.contains(reading) != true else { return nil }
    return reading
  }

  /// Warnings about sensors that would read the messages of several devices.
  package static func sharedTopics(of sensors: [(name: String, binding: SensorBinding)]) -> [String]
  {
    let keyed = Set(sensors.filter { $0.binding.key != nil }.map(\.binding.topic))
    return sensors.filter { sensor in
      let levels = sensor.binding.topic.split(separator: "/")
      let isReceiver = levels.first == "rtl_433" && levels.last == "events"
      return sensor.binding.key == nil && (isReceiver || keyed.contains(sensor.binding.topic))
    }.map {
      "sensor \($0.name): several devices publish on \($0.binding.topic), and each reading would count: "
        + "add key and device, such as key: /id, device: 240"
    }
  }
}
