import Devices
import JuiceDomain
import KioskCore
import KioskProtocol

/// Checks the machines, sensors and payment devices: the problems that the kiosk has published, and what
/// only the configuration or a device's own status shows.
struct DevicesCheck {
  private let settings: KioskSettings
  private let retained: RetainedMessages
  private let reports: KioskReports
  private let problems: [Problem.Kind]

  init(settings: KioskSettings, retained: RetainedMessages, now: Timestamp) {
    var reports = KioskReports()
    let base = "\(settings.topics.base)/"
    for (topic, payload) in retained.payloads where topic.hasPrefix(base) {
      let levels = topic.dropFirst(base.count).split(separator: "/").map(String.init)
      _ = reports.receive(levels[...], payload)
    }
    // While no kiosk runs, its last reports count.
    reports.status = .online
    (self.settings, self.retained, self.reports) = (settings, retained, reports)
    problems = reports.problems(at: now).map(\.kind)
  }

  func findings() -> [Finding] {
    let removed = reports.sensors.keys.sorted().filter { sensor in
      reports.sensors[sensor]?.state == .blocked
        && !settings.sensors.contains { $0.name == sensor }
    }
    var found = settings.machines.flatMap { findings(of: $0) }
    found += settings.sensors.flatMap { findings(of: $0) }
    found += removed.map { warning(.sensors, settings.topics.sensor($0), .sensor($0)) }
    found += prices
    for device in settings.payment?.devices ?? [] { found += findings(of: device) }
    return found
  }

  /// Returns a warning with the remedy of a problem, and with the command, the right or the key of the
  /// configuration that it needs.
  private func warning(_ check: Finding.Check, _ topic: String, _ problem: Problem.Kind) -> Finding
  {
    let text = ProblemText(reports, .english) { "\($0)" }
    return .warning(
      check, topic, text.sentence(about: problem),
      fix: [text.remedy(of: problem), hint(for: problem)].compactMap(\.self)
        .joined(separator: "; "))
  }

  /// Returns the findings about a device with these problems, or that it is online.
  ///
  /// - Parameters:
  ///   - topic: The topic of the kiosk's report.
  ///   - status: The topic of the device's status, or `nil` if the device is disabled.
  ///   - state: The problem of the device itself, which an unusable status replaces.
  private func findings(
    _ check: Finding.Check, _ topic: String, status: String?, _ problems: [Problem.Kind],
    about state: Problem.Kind
  ) -> [Finding] {
    let found = problems.map { warning(check, topic, $0) }
    guard let status else { return found }
    let payload = retained.payloads[status].map { String(decoding: $0.prefix(64), as: UTF8.self) }
    guard let text = payload, let reported = MachineStatus(text) else {
      let unusable = Finding.warning(
        check, status,
        (payload.map { "has an invalid status: \($0)" } ?? "it has never published its status")
          + ": it gets no orders",
        fix: "it must publish 'online', 'offline', 'fault: REASON' or '{\"out\":[\"FRUIT\"]}' "
          + "there, retained; its account needs the right: topic write \(status)")
      return [unusable] + problems.filter { $0 != state }.map { warning(check, topic, $0) }
    }
    if !found.isEmpty { return found }
    return [
      reported == .online
        ? .ok(check, status, "is online")
        // The kiosk has not reported it yet.
        : .warning(check, status, "is \(text)", fix: "repair it, or check its power and network")
    ]
  }

  private func findings(of machine: KioskSettings.Machine) -> [Finding] {
    let report = reports.machines[machine.name]
    // A machine that makes no juice, or a removed one with open jobs, need not work.
    let isNeeded =
      machine.isEnabled || machine.juices != []
      || report?.programs.contains(where: \.needsAttention) == true
    let own = problems.filter { problem in
      switch problem {
      case .machine(machine.name): isNeeded
      case .job(let job, _): report?.jobs.contains { $0.job == job } == true
      default: false
      }
    }
    return findings(
      .machines, settings.topics.report(of: machine.name),
      status: machine.isEnabled ? settings.topics.status(of: machine.name) : nil, own,
      about: .machine(machine.name))
  }

  private func findings(of sensor: KioskSettings.Sensor) -> [Finding] {
    let (topic, problem) = (settings.topics.sensor(sensor.name), Problem.Kind.sensor(sensor.name))
    let limits = limits(of: sensor)
    guard let report = reports.sensors[sensor.name] else {
      return limits + [.warning(.sensors, topic, "no reading yet", fix: hint(for: problem) ?? "")]
    }
    return limits + [
      problems.contains(problem)
        ? warning(.sensors, topic, problem)
        : .ok(.sensors, topic, "is \(report.state.rawValue): \(report.valueText)")
    ]
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

  private var prices: [Finding] {
    settings.payment?.isEnabled != true || settings.menu.hasPrices
      ? []
      : [
        .warning(
          .payment, "menu", "no juice has a price: nothing is paid",
          fix: "write menu.currency, and the price of each juice")
      ]
  }

  private func findings(of device: KioskSettings.Payment.Device) -> [Finding] {
    let report = reports.payments[device.name]
    let own = problems.filter { problem in
      switch problem {
      // A device that is disabled or removed gets no charges.
      case .payment(device.name): device.isEnabled
      case .difference(device.name): true
      case .charge(let charge, _): report?.charges.contains { $0.charge == charge } == true
      default: false
      }
    }
    return findings(
      .payment, settings.topics.payment(at: device.name),
      status: device.isEnabled ? settings.topics.paymentStatus(of: device.name) : nil, own,
      about: .payment(device.name))
  }

  // MARK: Hints

  private func hint(for problem: Problem.Kind) -> String? {
    let topics = settings.topics
    switch problem {
    case .machine(let id):
      let report = reports.machines[id]
      let program = report?.programs.first(where: \.needsAttention)
      if report?.state == .silent {
        return "its account needs the rights: topic read \(topics.make(by: id))/# and topic write "
          + topics.made(by: id)
      }
      if let job = program?.job, program?.state?.isUndecided == true {
        return "juice-kiosk job \(job): poured (it was done), again or give-back"
      }
      return program.map { program in
        program.missing == nil
          ? "juice-kiosk program \(id) \(program.program.rawValue)"
          : "or correct 'uses' of the program"
      }
    case .job(let number, _):
      let job = reports.machines.values.lazy.flatMap(\.jobs).first { $0.job == number }
      return job.map { "juice-kiosk job \($0.attempt): poured, again or give-back" }
    case .payment(let id):
      return reports.payments[id]?.state == .off
        ? "its account needs the rights: topic read \(topics.charge(by: id))/# and topic write "
          + topics.paid(by: id)
        : "restart the device; one of your own must answer \(topics.charge(.open, by: id))"
    case .charge(let charge, _):
      let found = reports.payments.values.lazy.flatMap(\.charges).first { $0.charge == charge }
      let decisions = found?.decisions.map(\.rawValue).joined(separator: ", ")
      return decisions.map { "juice-kiosk charge \(charge): \($0)" }
    case .difference: return "juice-kiosk report --charges"
    case .sensor(.clock):
      return "juice-kiosk sensor clock release REASON; a hardware clock (RTC) with a battery "
        + "prevents this"
    case .sensor(let id):
      let report = reports.sensors[id]
      if report?.state == .blocked { return "juice-kiosk sensor \(id): discard or release" }
      guard let sensor = settings.sensors.first(where: { $0.name == id }),
        report.map({ $0.isSilent || $0.state == .unknown }) ?? true
      else { return nil }
      let place = sensor.binding.value.map { " at \($0)" } ?? ""
      return "it must publish a number\(place) to \(sensor.binding.topic) at least every "
        + "\(sensor.silentAfter.components.seconds) s, because a message that the broker has kept is "
        + "no reading; the kiosk's account needs the right: topic read \(sensor.binding.topic)"
    default: return nil
    }
  }
}
