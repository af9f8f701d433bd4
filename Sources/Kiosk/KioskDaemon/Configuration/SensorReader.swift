import Devices
import JuiceDomain
import KioskCore
import KioskProtocol
import MessageBroker
import YAMLConfiguration

/// Reads `sensors`: thermometers, scales and level meters, and the fruits and machines that they
/// block.
///
/// ```yaml
/// sensors:
///   - name: fridge
///     topic: zigbee2mqtt/fridge    # the device's own topic
///     value: /temperature          # JSON pointer; default: the whole payload is the number
///     key: /id                     # JSON pointer to the device's name, if several share the topic
///     device: 240                  # the name of this device
///     kind: ds18b20                # or sht3x; default: no value is a fault
///     unit: "°C"                   # or ml, g
///     min: 0                       # in the unit; at least one of min and max
///     max: 7
///     alarm_after_seconds: 600     # time outside the limits, at least 10; default: 600
///     block_after_seconds: 3600    # time outside the limits; default: never
///     silent_after_seconds: 3600   # time without a reading; default: 3600
///     stuck_after_hours: 24        # time with the same value, which is then no reading; default: never
///     fruits: [kiwi]               # the fruits that the sensor blocks
///     machines: [bar]              # the machines that the sensor blocks
/// ```
struct SensorReader {
  private(set) var sensors: [KioskSettings.Sensor] = []

  /// Reads the list `sensors` of a configuration.
  ///
  /// - Parameter base: The first levels of the kiosk's own topics.
  init(_ root: inout Section, fruits: [Fruit.ID], machines: [MachineID], base: String) {
    let own = TopicFilter(unchecked: "\(base)/#")
    root.list("sensors") { section in
      let errorsBefore = section.collector.errors.count
      let name: SensorID? = section.require("name", .identifier())
      let topic = section.require("topic", .topic)
      let value = section.read("value", .jsonPointer)
      let unit: SensorUnit? = section.require("unit", .choice())
      var sensor = KioskSettings.Sensor(
        name: name ?? "sensor", binding: SensorBinding(topic: topic ?? "", value: value),
        unit: unit ?? .celsius)
      sensor.binding.key = section.read("key", .jsonPointer)
      sensor.binding.device = section.read("device", .deviceName)
      sensor.binding.kind = section.read("kind", .choice())
      if (sensor.binding.key == nil) != (sensor.binding.device == nil) {
        section.report(
          Diagnostic("needs both 'key' and 'device'", hint: "key: /id, device: 240"),
          at: sensor.binding.key == nil ? "device" : "key")
      }
      sensor.minimum = section.read("min", .limit(of: sensor.unit))
      sensor.maximum = section.read("max", .limit(of: sensor.unit))
      section.read("alarm_after_seconds", .seconds(10...86_400), into: &sensor.alarmAfter)
      sensor.blockAfter = section.read("block_after_seconds", .seconds(1...604_800))
      section.read("silent_after_seconds", .seconds(60...604_800), into: &sensor.silentAfter)
      sensor.stuckAfter = section.read("stuck_after_hours", .integer(1...168)).map {
        Duration.seconds($0 * 3_600)
      }
      sensor.fruits = section.list("fruits", of: .name(of: "fruit", among: fruits)) ?? []
      sensor.machines = section.list("machines", of: .name(of: "machine", among: machines)) ?? []
      if let topic, own.overlaps(TopicFilter(unchecked: topic)),
        !topic.utf8.starts(with: "\(base)/measure/".utf8)
      {
        section.report(
          Diagnostic(
            "is one of the kiosk's own topics below \(base)",
            hint: "bind the device's topic, or one below \(base)/measure"),
          at: "topic")
      }
      if name == .clock {
        section.report(Diagnostic("is the name of the kiosk's own sensor"), at: "name")
      }
      if sensors.contains(where: { $0.name == name }) {
        section.report(Diagnostic("there is a sensor of this name already"), at: "name")
      }
      guard section.collector.errors.count == errorsBefore else { return }
      check(sensor, section)
      sensors.append(sensor)
    }
  }

  private func check(_ sensor: KioskSettings.Sensor, _ section: Section) {
    switch (sensor.minimum, sensor.maximum) {
    case (nil, nil): section.report(Diagnostic("a sensor needs a limit", hint: "add min or max"))
    case (let minimum?, let maximum?) where minimum >= maximum:
      section.report(Diagnostic("must be less than 'max'"), at: "min")
    default: break
    }
    guard let blockAfter = sensor.blockAfter else { return }
    if blockAfter < sensor.alarmAfter {
      section.report(
        Diagnostic("must not be less than 'alarm_after_seconds'"), at: "block_after_seconds")
    }
    if sensor.fruits.isEmpty, sensor.machines.isEmpty {
      section.report(
        Diagnostic("blocks nothing", hint: "add fruits or machines"), at: "block_after_seconds")
    }
  }
}

extension Format where Value == Int {
  /// Returns the format of a limit within the plausible range of a unit. The value is in
  /// thousandths of the unit.
  fileprivate static func limit(of unit: SensorUnit) -> Self {
    Format { scalar throws(Diagnostic) in
      let (low, high) = (unit.plausible.lowerBound, unit.plausible.upperBound)
      guard scalar.kind == .number || scalar.kind == .untyped,
        let value = Double(scalar.text)?.thousandths, unit.plausible.contains(value)
      else {
        throw Diagnostic(
          "must be a number from \(low.decimalText) to \(high.decimalText), not "
            + scalar.text.quoted)
      }
      return value
    }
  }
}

extension Format where Value == String {
  /// A name of a device in a message, which may be a number.
  fileprivate static let deviceName = Format { scalar throws(Diagnostic) in
    guard (1...64).contains(scalar.text.utf8.count) else {
      throw Diagnostic("must be a name or number of a device, of at most 64 bytes")
    }
    return scalar.text
  }
}

extension Format {
  fileprivate static func name<Entity>(
    of kind: String, among known: [Identifier<Entity>]
  ) -> Self where Value == Identifier<Entity> {
    Format { scalar throws(Diagnostic) in
      let text = try scalar.string()
      guard let name = Identifier<Entity>(text), known.contains(name) else {
        throw Diagnostic(
          "there is no \(kind) \(text.quoted)",
          hint: Suggestion.hint(for: text, among: known.map(\.text)))
      }
      return name
    }
  }
}
