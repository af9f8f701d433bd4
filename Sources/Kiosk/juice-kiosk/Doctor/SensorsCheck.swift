import Devices
import JuiceDomain
import KioskCore
import KioskProtocol

/// Checks whether the configured sensors have limits that fit their unit, send readings, and are
/// within their limits, and whether a configured or removed sensor blocks something.
struct SensorsCheck {
  let settings: KioskSettings
  let retained: RetainedMessages

  func findings() -> [Finding] {
    let configured = settings.sensors.flatMap { limits(of: $0) + [state(of: $0)] }
    let prefix = "\(settings.topics.base)/sensor/"
    let removed = retained.payloads.keys.filter { topic in
      topic.hasPrefix(prefix)
        && !settings.sensors.contains { settings.topics.sensor($0.name) == topic }
    }
    return configured
      + removed.sorted().compactMap { topic in
        guard let report = report(on: topic), report.state == .blocked else { return nil }
        return blocked(report, String(topic.dropFirst(prefix.count)), on: topic)
      }
  }

  private func report(on topic: String) -> SensorReport? {
    // A report that cannot be read counts as no report.
    retained.payloads[topic].flatMap { try? SensorReport(payload: $0) }
  }

  private func limits(of sensor: KioskSettings.Sensor) -> [Finding] {
    let text: String? =
      switch (sensor.unit, sensor.minimum, sensor.maximum) {
      case (.celsius, _, let maximum?) where maximum > 25_000 && !sensor.fruits.isEmpty:
        "fruit spoils below its limit of \(maximum.decimalText) °C: is that in °F?"
      case (.milliliters, let minimum?, nil) where minimum <= 0,
        (.grams, let minimum?, nil) where minimum <= 0:
        "it never raises an alarm: its container cannot have less than \(minimum.decimalText) "
          + sensor.unit.rawValue
      default: nil
      }
    return text.map {
      [.warning(.sensors, sensor.name.text, $0, fix: "change its min or max in the configuration")]
    } ?? []
  }

  private func state(of sensor: KioskSettings.Sensor) -> Finding {
    let topic = settings.topics.sensor(sensor.name)
    let report = report(on: topic)
    let value = report?.value.map { "\($0.decimalText) \(sensor.unit.rawValue)" } ?? "no value"
    let place = sensor.binding.value.map { " at \($0)" } ?? ""
    let fix =
      "check its battery and connection, and that it publishes a number\(place) to "
      + "\(sensor.binding.topic) at least every \(sensor.silentAfter.components.seconds) s, because a message that "
      + "the broker has kept is no reading; the kiosk's account needs the right: topic read "
      + sensor.binding.topic
    let ignored = report.map {
      $0.ignored > 0 ? ", \($0.ignored) messages have no usable value" : ""
    }
    if let report, report.state == .blocked { return blocked(report, sensor.name.text, on: topic) }
    guard let report, report.value != nil else {
      return .warning(.sensors, topic, "has never sent a reading\(ignored ?? "")", fix: fix)
    }
    if report.isSilent {
      return .warning(
        .sensors, topic,
        "has sent no reading for \(sensor.silentAfter.components.seconds) s\(ignored ?? "")",
        fix: fix)
    }
    if report.state == .alarm {
      return .warning(
        .sensors, topic, "is outside its limits: \(value)",
        fix: "check what it measures: close the door, refill, or repair the cooling")
    }
    return .ok(.sensors, topic, "is \(report.state.rawValue): \(value)")
  }

  private func blocked(_ report: SensorReport, _ name: String, on topic: String) -> Finding {
    let what = (report.fruits.map(\.text) + report.machines.map(\.text)).joined(separator: ", ")
    if name == SensorID.clock.text {
      return .warning(
        .sensors, topic,
        "\(what): not sold, because nothing shows how long the computer had no power, or that its "
          + "clock is right",
        fix: "wait for the network's time, or compare the clock with a watch, set it, and run "
          + "juice-kiosk sensor clock release REASON; a hardware clock (RTC) with a battery "
          + "prevents this")
    }
    return .warning(
      .sensors, topic, "has blocked \(what): it is not used until a person decides",
      fix: "check the fruit, and decide in the dashboard or with juice-kiosk sensor \(name): "
        + "discard or release")
  }
}
