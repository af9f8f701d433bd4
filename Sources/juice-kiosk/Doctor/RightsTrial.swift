import KioskController
import KioskCore
import KioskMessages
import MessageBroker
import Panels

/// What came of trying what the kiosk's account may do.
struct RightsTrial {
  let settings: KioskSettings
  let account: String?
  /// `nil` if the broker does not speak MQTT 5.
  var limits: BrokerLimits?
  /// What the doctor says on a topic of its own comes round.
  var hearsItself = false
  /// The broker passes nothing on before it is released; only then is it safe to try.
  var holdsBack = false
  var accepted: Set<String> = []
  var refusals: [String: String] = [:]
  var failure: BrokerError?
  /// Commands that were published, and did not come round.
  var deaf: Set<Command.Kind> = []

  init(settings: KioskSettings, account: String?) {
    self.settings = settings
    self.account = account
  }

  var isPossible: Bool { limits?.maximumQoS == 2 && holdsBack }

  /// Everything that is tried: what the kiosk publishes, and the commands that it must not.
  var topics: [String] {
    settings.rights.map(\.topic) + Command.Kind.allCases.map { command(of: $0) }
  }

  /// Kinds of commands that the account may publish too, as it may where there is no access list.
  var mayCommand: [Command.Kind] {
    Command.Kind.allCases.filter { accepted.contains(command(of: $0)) }
  }

  private func command(of kind: Command.Kind) -> String {
    settings.topics.command(from: Source(kind: kind, name: "doctor"))
  }

  private var name: String { account.map { "the account \($0)" } ?? "everybody without an account" }

  // MARK: Publishing

  func publishing() -> [Finding] {
    let base = settings.topics.base
    guard isPossible else {
      return [
        .note(
          .rights, base, "what \(name) may publish was not tried: \(obstacle)",
          fix:
            "allow it what deploy/mosquitto/acl allows a controller (security.md), and see whether "
            + "displays show the stock")
      ]
    }
    if let failure {
      return [
        .note(
          .rights, base, "what \(name) may publish could not be tried to the end: \(failure)",
          fix: "see the broker's log")
      ]
    }
    let denied = settings.rights.filter { refusals[$0.topic] != nil }
    var findings = Dictionary(grouping: denied, by: \.rule).sorted { $0.key < $1.key }.map {
      rule, rights in
      Finding.error(
        .rights, rights.map(\.topic).listed,
        "\(name) may not publish there: \(refusals[rights[0].topic] ?? "denied")",
        fix: "add to the broker's access list: \(rule)")
    }
    let unanswered = settings.rights.filter {
      refusals[$0.topic] == nil && !accepted.contains($0.topic)
    }
    if !unanswered.isEmpty {
      findings.append(
        .note(
          .rights, unanswered.map(\.topic).listed,
          "the broker has not said whether \(name) may publish there"))
    }
    let granted = settings.rights.count - denied.count - unanswered.count
    if granted > 0 {
      findings.append(.ok(.rights, base, "\(name) may publish to \(granted) topics of the kiosk"))
    }
    return findings
  }

  private var obstacle: String {
    switch (limits?.maximumQoS, hearsItself) {
    case (nil, _): "the broker does not speak MQTT 5, and no other version tells"
    case (2, false):
      "nothing that it says comes round, so that it cannot tell whether trying would be heard"
    case (2, true):
      "this broker passes on at once what others hold back, and displays would hear it"
    default: "the broker has no QoS 2, and anything else would be heard by displays"
    }
  }

  // MARK: Subscribing

  func subscribing(
    heard: Set<String>, refused: [TopicFilter], ledger: LedgerView
  ) -> [Finding] {
    var findings: [Finding] = []
    var proven: [String] = []
    var unseen: [String] = []
    for filter in settings.subscriptions {
      let kind = Command.Kind.allCases.first {
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
      } else if let at = lastHeard(filter, kind, ledger) {
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

  private func lastHeard(
    _ filter: TopicFilter, _ kind: Command.Kind?, _ ledger: LedgerView
  ) -> Timestamp? {
    if let kind { return ledger.lastHeard(kind) }
    // A device's own topics: whichever of its panels was heard.
    let names = settings.panels.filter { $0.filters.contains(filter.text) }.map(\.name)
    return ledger.heard.filter { names.contains($0.key.name) }.values.max()
  }
}

extension [String] {
  /// The first few, for a line.
  var listed: String {
    let rest = count - 5
    return prefix(5).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
  }
}
