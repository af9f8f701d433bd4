import KioskCore
import KioskDaemon
import KioskProtocol
import MessageBroker

/// Checks what the broker refuses to the kiosk's account: subscriptions, and messages whose topics
/// the running kiosk lists in `health`.
struct AccessCheck {
  let settings: KioskSettings
  let account: String?
  let isVersion5: Bool
  let isRunning: Bool
  let retained: RetainedMessages

  private var name: String { account.map { "the account \($0)" } ?? "a client without an account" }

  func findings() -> [Finding] {
    retained.refused.filter(settings.subscriptions.contains).map { filter in
      .error(
        .rights, filter.text, "the broker refuses \(name) the subscription",
        fix: "allow it in the broker's access list: topic read \(filter.text)")
    } + devices + publishing
  }

  /// A note with the topics of devices, and with the lines that allow them in an access list. A broker
  /// may grant a subscription and deliver nothing (mosquitto's `acl_file`).
  private var devices: [Finding] {
    let base = TopicFilter(unchecked: "\(settings.topics.base)/#")
    let topics = settings.subscriptions.filter {
      !base.covers($0) && !retained.refused.contains($0)
    }.map(\.text)
    guard account != nil, !topics.isEmpty else { return [] }
    return [
      .note(
        .rights, topics.listed,
        "whether \(name) receives what devices send there is unknown: a broker may grant a "
          + "subscription and deliver nothing",
        fix: "if presses do not arrive, allow in the broker's access list: "
          + topics.map { "topic read \($0)" }.listed)
    ]
  }

  private var publishing: [Finding] {
    let base = settings.topics.base
    func unknown(_ why: String, fix: String) -> [Finding] {
      [.note(.rights, base, "whether \(name) may publish everything is unknown: \(why)", fix: fix)]
    }
    guard isVersion5 else {
      return unknown(
        "with MQTT 3.1.1 a broker does not report what it refuses",
        fix: "check that displays show the stock")
    }
    guard let health = retained.health(settings.topics) else {
      guard isRunning else {
        return unknown("the kiosk does not run", fix: "start it, and run the doctor again")
      }
      return [
        .error(
          .rights, settings.topics.health,
          "the kiosk runs, but its health cannot be read: \(name) may not publish or read it",
          fix: "allow what deploy/mosquitto/acl allows a controller, first: topic readwrite "
            + settings.topics.health)
      ]
    }
    guard !health.refused.isEmpty else {
      return [
        .ok(.rights, base, "the broker has accepted everything from \(name) until \(health.at)")
      ]
    }
    return Dictionary(grouping: health.refused.keys, by: { health.refused[$0] ?? "" })
      .sorted { $0.key < $1.key }
      .map { reason, topics in
        .error(
          .rights, topics.sorted().listed, "\(name) may not publish there: \(reason)",
          fix: "allow it in the broker's access list (deploy/mosquitto/acl has every line), reload "
            + "the broker, then: systemctl reload juice-kiosk")
      }
  }
}

extension [String] {
  /// The first five elements on one line, and the number of further elements.
  var listed: String {
    let rest = count - 5
    return prefix(5).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
  }
}
