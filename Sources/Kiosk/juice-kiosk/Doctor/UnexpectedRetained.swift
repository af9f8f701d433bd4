import Devices
import KioskCore
import KioskDaemon
import KioskProtocol
import MessageBroker

/// Finds retained messages that the broker should not have.
struct UnexpectedRetained {
  let settings: KioskSettings
  let ledger: LedgerView

  /// Returns a finding for each kind of unexpected message, or one finding if there are none.
  ///
  /// - Parameters:
  ///   - retained: The retained messages, by topic.
  ///   - isComplete: Whether the account could read the retained status of this kiosk.
  func findings(
    _ retained: [String: [UInt8]], at now: Timestamp, isComplete: Bool
  ) -> [Finding] {
    // Machines, payment devices and sensors publish retained messages below the kiosk's topics.
    let expected = settings.stateTopics(ledger.state, at: now)
      .union(settings.machines.map { settings.topics.status(of: $0.name) })
      .union(settings.paymentTopics)
      .union(settings.sensors.map(\.binding.topic))
    var commands: [String] = []
    var outdated: [String] = []
    var unknown: [String] = []
    for topic in retained.keys.sorted() where topic.hasPrefix(settings.topics.base + "/") {
      if settings.topics.source(ofCommandOn: topic) != nil {
        commands.append(topic)
      } else if expected.contains(topic) {
        continue
      } else if ledger.state.topics.contains(topic) {
        outdated.append(topic)
      } else {
        unknown.append(topic)
      }
    }
    var findings: [Finding] = []
    if !commands.isEmpty {
      findings.append(
        .warning(
          .retained, commands.listed,
          "a retained command: the kiosk never executes it, and rejects it at each connection",
          fix: clearing(commands, as: "the account that published it, or another that may")
        ))
    }
    if !outdated.isEmpty {
      findings.append(
        .note(
          .retained, outdated.listed, "from an earlier configuration",
          fix: "restart the kiosk: it clears them when it connects"))
    }
    if !unknown.isEmpty {
      findings.append(
        .warning(
          .retained, unknown.listed,
          "not in this kiosk's configuration: displays show it as if it were valid",
          fix: clearing(unknown, as: "an account that may publish there")))
    }
    if !findings.isEmpty { return findings }
    let base = settings.topics.base
    return [
      isComplete
        ? .ok(.retained, base, "no unexpected messages")
        : .note(
          .retained, base,
          "only commands could be read: no kiosk has run here, or the account may not read its topics",
          fix: "start the kiosk, or add to the broker's access list: topic read \(base)/#")
    ]
  }

  private func clearing(_ topics: [String], as account: String) -> String {
    let commands = topics.prefix(5).map { "mosquitto_pub -r -n -t '\($0)'" }
    return "clear it, as \(account): \(commands.joined(separator: "; "))"
  }
}

extension KioskSettings {
  /// Returns the topics of the kiosk's retained state, reports and discovery messages.
  fileprivate func stateTopics(_ ledger: LedgerState, at now: Timestamp) -> Set<String> {
    var opened = LedgerState()
    opened.stock = stock.initial
    (opened.batches, opened.expired) = (ledger.batches, ledger.expired)
    opened.sensors = ledger.sensors
    let core = Kiosk(settings: self, state: opened)
    let state = topics.state(of: core, at: now)
    let reports = [
      topics.status, topics.info, topics.health, topics.sales, topics.dailySales, topics.forecast,
      topics.history,
    ]
    return Set(state.map(\.topic) + reports + core.announcements.map(\.topic))
  }
}
