import KioskCore
import KioskDaemon
import KioskProtocol

/// Checks for retained messages that the broker should not have.
struct UnexpectedRetained {
  let settings: KioskSettings
  let ledger: LedgerView

  /// Returns the findings.
  ///
  /// - Parameters:
  ///   - retained: the retained messages, by topic.
  ///   - isWhole: whether the account may read all of the kiosk's topics.
  func findings(_ retained: [String: [UInt8]], isWhole: Bool) -> [Finding] {
    // Machines publish their own status below the kiosk's topics.
    let expected = settings.stateTopics.union(
      settings.machines.map { settings.topics.status(of: $0.name) })
    var commands: [String] = []
    var outdated: [String] = []
    var unknown: [String] = []
    for topic in retained.keys.sorted() where topic.hasPrefix(settings.topics.base + "/") {
      if settings.topics.source(ofCommandOn: topic) != nil {
        commands.append(topic)
      } else if expected.contains(topic) {
        continue
      } else if ledger.topics.contains(topic) {
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
          "a retained command: it is never carried out, but rejected each time the kiosk connects",
          fix: clearing(commands, as: "the account that left it, or another that may publish there")
        ))
    }
    if !outdated.isEmpty {
      findings.append(
        .note(
          .retained, outdated.listed, "of an earlier configuration",
          fix: "restart the kiosk: it clears them when it connects"))
    }
    if !unknown.isEmpty {
      findings.append(
        .warning(
          .retained, unknown.listed,
          "nothing of this kiosk's configuration: displays show it as if it were true",
          fix: clearing(unknown, as: "an account that may publish there")))
    }
    if !findings.isEmpty { return findings }
    let base = settings.topics.base
    return [
      isWhole
        ? .ok(.retained, base, "nothing is left over")
        : .note(
          .retained, base,
          "only the commands could be looked at: this account may not read the rest",
          fix: "add to the broker's access list: topic read \(base)/#")
    ]
  }

  private func clearing(_ topics: [String], as account: String) -> String {
    let commands = topics.prefix(5).map { "mosquitto_pub -r -n -t '\($0)'" }
    return "clear it, as \(account): \(commands.joined(separator: "; "))"
  }
}
