import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol

/// Checks whether the enabled machines are online and working, and whether a job or a program of a
/// configured or removed machine needs a person.
struct MachinesCheck {
  let settings: KioskSettings
  let retained: RetainedMessages

  func findings() -> [Finding] { settings.machines.flatMap(findings) }

  private func findings(of settings: KioskSettings.Machine) -> [Finding] {
    let machine = settings.name
    let topic = self.settings.topics.report(of: machine)
    // A report that cannot be read counts as no report.
    let report = retained.payloads[topic]
      .flatMap { try? MachineReport(payload: $0) }
    let waiting = report?.jobs.filter(\.state.isUndecided) ?? []
    let undecided = waiting.map { job in
      Finding.warning(
        .machines, topic,
        "job \(job.attempt), with ticket \(job.ticket), waits for a person's decision: its "
          + "result is unknown",
        fix: "check the machine, and decide in the dashboard or with "
          + "juice-kiosk job \(job.attempt): poured, again or give-back")
    }
    let programs = (report?.programs ?? []).filter(\.needsAttention).map { program in
      Finding.warning(
        .machines, topic, "\(program.program.rawValue) \(program.problem)",
        fix: program.fix(on: machine))
    }
    if settings.isEnabled { return [status(of: machine, report)] + undecided + programs }
    // A machine that makes no juice, or a removed machine that still has open jobs.
    if settings.juices == [] { return undecided + programs }
    let disabled = Finding.warning(
      .machines, topic, "is disabled or no longer configured: its juices are not sold",
      fix: "configure \(machine) with 'enabled: true'; or, if its juices need no machine, with "
        + "'juices: []'")
    return [disabled] + undecided + programs
  }

  private func status(of machine: MachineID, _ report: MachineReport?) -> Finding {
    let topic = settings.topics.status(of: machine)
    func down(_ text: String, fix: String) -> Finding {
      .warning(.machines, topic, "\(text): it gets no jobs", fix: fix)
    }
    guard let payload = retained.payloads[topic] else {
      return down(
        "it has never published its status",
        fix: "it must publish 'online' there, retained; its account needs the right: topic write "
          + topic)
    }
    let text = String(decoding: payload.prefix(64), as: UTF8.self)
    switch MachineStatus(text) {
    case .online: break
    case .out(let fruits):
      let names = fruits.map(\.text).sorted().joined(separator: ", ")
      return .warning(
        .machines, topic, "has no \(names): its juices of that fruit are not sold",
        fix: "refill it; it publishes 'online' when it has every fruit")
    case .offline:
      return down("is offline", fix: "check that it has power and reaches the broker")
    case .fault(let reason):
      return down(
        reason.isEmpty ? "is in fault" : "is in fault: \(reason)",
        fix: "repair the machine; it publishes 'online' when it can work")
    case nil:
      return down(
        "has an invalid status: \(text)",
        fix: "it must publish 'online', 'offline', 'fault: REASON' or '{\"out\":[\"FRUIT\"]}'")
    }
    switch report?.state {
    case .silent:
      return down(
        "is online, but has not answered",
        fix: "check that its account may receive its jobs (topic read "
          + "\(settings.topics.make(by: machine))/#) and answer (topic write "
          + "\(settings.topics.made(by: machine))); then restart the machine")
    case .failing:
      return down(
        "has failed three times in a row",
        fix: "repair the machine, and restart it: it then gets at most at_once jobs, and more jobs "
          + "after a success")
    default: return .ok(.machines, topic, "is online")
    }
  }
}

extension MachineReport.Program {
  /// The reason why the program needs attention by a person.
  fileprivate var problem: String {
    if let job, state?.isUndecided == true {
      return "did not end in time: job \(job) waits for a person's decision"
    }
    if let missing { return "is due, and its fruit is missing: \(missing)" }
    return isOverdue ? "is overdue: the machine takes no orders" : "is due, and a person starts it"
  }

  fileprivate func fix(on machine: MachineID) -> String {
    if let job, state?.isUndecided == true {
      return "check the machine, and decide in the dashboard or with juice-kiosk job \(job): "
        + "poured (it was done), again or give-back"
    }
    if missing != nil { return "restock the fruit, or correct 'uses' of the program" }
    return "start it in the dashboard or with juice-kiosk program \(machine) \(program.rawValue)"
  }
}
