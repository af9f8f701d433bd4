import KioskCore
import KioskDaemon
import KioskProtocol

/// Checks whether the configured machines are online, working, and without an undecided job.
struct MachinesCheck {
  let settings: KioskSettings
  let retained: RetainedMessages

  func findings() -> [Finding] { settings.machines.map(\.name).flatMap(findings) }

  private func findings(of machine: MachineID) -> [Finding] {
    let report = retained.payloads[settings.topics.report(of: machine)]
      .flatMap { try? MachineReport(payload: $0) }
    let waiting = report?.jobs.filter(\.state.isUndecided) ?? []
    let undecided = waiting.map { job in
      Finding.warning(
        .machines, settings.topics.report(of: machine),
        "job \(job.job), with ticket \(job.ticket), waits for a person: nobody knows what became of it",
        fix: "look at the machine, and decide in the dashboard or with juice-kiosk job \(job.job): "
          + "poured, again or give-back")
    }
    return [status(of: machine, report)] + undecided
  }

  private func status(of machine: MachineID, _ report: MachineReport?) -> Finding {
    let topic = settings.topics.status(of: machine)
    func down(_ text: String, fix: String) -> Finding {
      .warning(.machines, topic, "\(text): it gets no orders", fix: fix)
    }
    guard let payload = retained.payloads[topic] else {
      return down(
        "nothing was ever heard of it",
        fix: "it has to publish 'online' there, retained, and its account to be allowed to: topic "
          + "write \(topic)")
    }
    let text = String(decoding: payload.prefix(64), as: UTF8.self)
    switch MachineStatus(text) {
    case .online: break
    case .offline:
      return down("is offline", fix: "see whether it has power and reaches the broker")
    case .fault(let reason):
      return down(
        reason.isEmpty ? "is in fault" : "says that something is wrong: \(reason)",
        fix: "see to the machine; it says 'online' when it can work")
    case nil:
      return down(
        "says what is no status: \(text)", fix: "let it say 'online', 'offline' or 'fault: why'")
    }
    switch report?.state {
    case .silent:
      return down(
        "says that it is online, but has not answered",
        fix: "see whether its account gets its jobs (topic read "
          + "\(settings.topics.make(by: machine))/#) and may answer (topic write "
          + "\(settings.topics.made(by: machine))); then start the machine again")
    case .failing:
      return down(
        "has failed three times in a row",
        fix: "see to the machine, and start it again: it gets one order then, and others if it "
          + "succeeds")
    default: return .ok(.machines, topic, "is online")
    }
  }
}
