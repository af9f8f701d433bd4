import Devices
import KioskCore
import KioskDaemon
import KioskProtocol
import MessageBroker

/// What the kiosk's account may do, by the broker's answers to the running kiosk and by the messages that the
/// doctor hears.
struct RightsCheck {
  let settings: KioskSettings
  let account: String?
  let isVersion5: Bool
  let ledger: LedgerView
  let now: Timestamp
  /// Whether a message of the doctor's on a topic of its own comes back.
  var hearsItself = false
  /// Kinds of commands that the account may publish, too, which it may where there is no access list.
  var mayCommand: [Command.Kind] = []
  /// Kinds of commands that were published and did not come back.
  var deaf: Set<Command.Kind> = []

  private var name: String { account.map { "the account \($0)" } ?? "everybody without an account" }

  // MARK: Publishing

  func publishing(_ heard: Listening.Heard) -> [Finding] {
    let base = settings.topics.base
    func unknown(_ why: String, fix: String) -> [Finding] {
      [.note(.rights, base, "whether \(name) may publish what it has to: \(why)", fix: fix)]
    }
    guard isVersion5 else {
      return unknown(
        "MQTT 3.1.1 has no word for what a broker refuses",
        fix: "see whether displays show the stock")
    }
    guard hearsItself else {
      return unknown(
        "nothing that it says comes round, the kiosk's health neither",
        fix: "the log of the running kiosk has it: journalctl -u juice-kiosk -g 'did not take'")
    }
    guard let health = heard.health(settings.topics) else {
      guard ledger.isRunning else {
        return unknown("that shows when the kiosk runs", fix: "start it, and ask again")
      }
      guard [settings.topics.info, settings.topics.stock].contains(where: heard.topics.contains)
      else {
        return unknown(
          "it may not read the kiosk's health, which has it",
          fix: "allow it: topic read \(base)/#")
      }
      return [
        .error(
          .rights, settings.topics.health, "the kiosk runs, but its health is not there",
          fix: "add to the broker's access list what deploy/mosquitto/acl allows a controller, "
            + "first of all: topic write \(settings.topics.health)")
      ]
    }
    guard !health.refused.isEmpty else {
      return [
        .ok(
          .rights, base, "\(name) may publish: until \(health.at) the broker has taken everything")
      ]
    }
    return Dictionary(grouping: health.refused, by: { settings.rule(for: $0.key) })
      .sorted { $0.key < $1.key }
      .map { rule, refused in
        .error(
          .rights, refused.map(\.key).sorted().listed,
          "\(name) may not publish there: \(refused[0].value)",
          fix: "add to the broker's access list: \(rule); then let the broker read it, and the "
            + "kiosk try again: systemctl reload juice-kiosk")
      }
  }

  // MARK: Subscribing

  func subscribing(heard: Set<String>, refused: [TopicFilter]) -> [Finding] {
    var findings: [Finding] = []
    var proven: [String] = []
    var unseen: [String] = []
    for filter in settings.subscriptions {
      let kind = settings.commandKinds.first {
        filter.text == "\(settings.topics.base)/\($0.rawValue)/+"
      }
      if refused.contains(filter) {
        findings.append(
          .error(
            .rights, filter.text, "the broker refuses \(name) the subscription",
            fix: "allow it: topic read \(filter.text)"))
      } else if let kind, deaf.contains(kind) {
        findings.append(
          .error(
            .rights, filter.text, "what is published there does not reach \(name)",
            fix: "add to the broker's access list: topic read \(filter.text)"))
      } else if heard.contains(where: filter.matches) {
        proven.append(filter.text)
      } else if let at = lastReceived(filter, kind) {
        proven.append("\(filter.text) (last heard at \(at))")
      } else {
        unseen.append(filter.text)
      }
    }
    if !proven.isEmpty {
      findings.append(.ok(.rights, proven.listed, "\(name) hears what is published there"))
    }
    if account != nil, !mayCommand.isEmpty {
      findings.append(
        .note(
          .rights, mayCommand.map { "\(settings.topics.base)/\($0.rawValue)/+" }.listed,
          "\(name) may send commands too, which the kiosk never needs to",
          fix: "allow it to read there, not to write (deploy/mosquitto/acl)"))
    }
    if !unseen.isEmpty {
      findings.append(
        .note(
          .rights, unseen.listed,
          "subscribed, but a broker with an access list does not say whether anything will arrive, and "
            + "this account cannot send itself something there",
          fix: "press each button once, restock once: the ledger knows what has arrived "
            + "(juice-kiosk ledger export); if nothing, allow: topic read \(unseen[0]). Or stop the "
            + "kiosk, and give the doctor accounts that may send there: --sender FILE"))
    }
    return findings
  }

  private func lastReceived(_ filter: TopicFilter, _ kind: Command.Kind?) -> Timestamp? {
    if let kind { return ledger.lastReceived(kind) }
    // The filter is for the topics of devices: any panel on them counts.
    let names = settings.panels.filter { $0.filters.contains(filter.text) }.map(\.name)
    return ledger.lastCommands.filter { names.contains($0.key.name) }.values.max()
  }
}

extension [String] {
  /// The first five, for a line, and how many more there are.
  var listed: String {
    let rest = count - 5
    return prefix(5).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
  }
}
