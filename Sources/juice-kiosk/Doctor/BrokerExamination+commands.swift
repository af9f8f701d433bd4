import KioskConfiguration
import KioskController
import KioskCore
import KioskMessages
import MessageBroker
import Program

// Whether commands arrive, tried with what is none, where nobody is who would answer.
extension BrokerExamination {
  /// Notes in `trial` which kinds of commands do not arrive.
  func tryCommands(
    _ trial: inout RightsTrial, _ listening: inout Listening
  ) async throws(Failure) -> [Finding] {
    for kind in trial.mayCommand {
      let topic = topic(of: kind, from: "doctor-\(number)")
      if await !listening.hearsItself(on: topic, saying: Self.words) { trial.deaf.insert(kind) }
    }
    // Where a right cannot be tried without being heard, the broker's answer is not to be had.
    guard trial.isPossible else { return [] }
    var findings: [Finding] = []
    for sender in senders {
      do throws(Failure) {
        findings += try await tryCommands(of: sender, &trial, &listening)
      } catch {
        findings.append(
          .error(
            .rights, sender.broker.username ?? "--sender", error.message,
            fix: "mend the configuration that --sender names", status: error.status))
      }
    }
    return findings
  }

  private func tryCommands(
    of sender: KioskConfiguration, _ trial: inout RightsTrial, _ listening: inout Listening
  ) async throws(Failure) -> [Finding] {
    // By the door, an account sends under its own name.
    let name = sender.broker.username ?? "doctor-\(number)"
    let topics = Command.Kind.allCases.map { topic(of: $0, from: name) }
    let visit = BrokerVisit(clientID: clientID + "-sender", topics: topics)
    let report: BrokerVisit.Report
    switch try await sender.broker.pay(visit, timeout: timeout) {
    case .success(let found): report = found
    case .failure(let error): throw Failure(error)
    }
    let allowed = Command.Kind.allCases.filter {
      report.accepted.contains(topic(of: $0, from: name))
    }
    guard !allowed.isEmpty else {
      return [
        .error(
          .rights, topics.listed, "\(name) may send no command",
          fix: "give it a role that may (security.md), or name another account with --sender")
      ]
    }
    for kind in allowed {
      let isHeard = try await listening.hears(
        sender, on: topic(of: kind, from: name), saying: Self.words, timeout: timeout)
      if !isHeard { trial.deaf.insert(kind) }
    }
    return [
      .ok(.rights, name, "may send \(allowed.map(\.rawValue).joined(separator: ", "))")
    ]
  }

  private func topic(of kind: Command.Kind, from name: String) -> String {
    settings.topics.command(from: Source(kind: kind, name: name))
  }
}
