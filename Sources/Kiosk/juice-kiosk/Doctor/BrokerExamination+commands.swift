import CommandLineSupport
import KioskCore
import KioskDaemon
import KioskProtocol
import MessageBroker
import YAMLConfiguration

// Checks whether commands reach the kiosk's account. It publishes a text that is not a command, and
// only while no kiosk can receive it.
extension BrokerExamination {
  /// Records in `rights` the kinds of commands that do not arrive.
  func tryCommands(
    _ rights: inout RightsCheck, _ listening: inout Listening
  ) async throws(Failure) -> [Finding] {
    for kind in settings.commandKinds {
      let topic = topic(of: kind, from: "doctor-\(number)")
      switch await listening.hears(on: topic, saying: Self.words) {
      case .all: rights.mayCommand.append(kind)
      case .nothing:
        // An MQTT 3.1.1 broker does not report that it has refused a message.
        guard rights.isVersion5 else { break }
        rights.mayCommand.append(kind)
        rights.deaf.insert(kind)
      case .refusal: break
      }
    }
    var findings: [Finding] = []
    for sender in senders {
      do throws(Failure) {
        findings += try await tryCommands(of: sender, &rights, &listening)
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
    of sender: KioskConfiguration, _ rights: inout RightsCheck, _ listening: inout Listening
  ) async throws(Failure) -> [Finding] {
    // With the access list of deploy/mosquitto, an account may send only under its own name.
    let name = sender.broker.username ?? "doctor-\(number)"
    var allowed: [Command.Kind] = []
    let topics = settings.commandKinds.map { topic(of: $0, from: name) }
    let answers = try await listening.hears(
      sender, on: topics, saying: Self.words, timeout: timeout)
    for (kind, answer) in zip(settings.commandKinds, answers) where answer != .refusal {
      allowed.append(kind)
      if answer == .nothing, sender.broker.protocol == .v5 { rights.deaf.insert(kind) }
    }
    guard !allowed.isEmpty else {
      return [
        .error(
          .rights, topics.listed, "\(name) may send no command",
          fix: "give it a role that may (security.md), or name another account with --sender")
      ]
    }
    return [
      .ok(.rights, name, "may send \(allowed.map(\.rawValue).joined(separator: ", "))")
    ]
  }

  private func topic(of kind: Command.Kind, from name: String) -> String {
    settings.topics.command(from: Source(kind: kind, name: name))
  }
}
