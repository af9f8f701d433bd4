import Devices
import KioskCore
import KioskDaemon
import KioskProtocol
import MessageBroker
import YAMLConfiguration

/// Retained topics with mosquitto's own statistics.
enum BrokerStatistics {
  /// Number of messages that mosquitto has dropped, for example because a queue was full.
  static let dropped = "$SYS/broker/publish/messages/dropped"
  static let version = "$SYS/broker/version"
}

/// Checks whether the broker's limits suffice for the kiosk, whether the broker has dropped messages,
/// whether the running kiosk is online, and whether another client or kiosk uses its ids.
struct SessionCheck {
  let settings: KioskSettings
  let broker: BrokerConfiguration
  let ledger: LedgerView
  let now: Timestamp
  let limits: BrokerLimits?
  let retained: RetainedMessages

  func findings() -> [Finding] {
    let found = (limits.map(limitFindings) ?? []) + droppedFindings + otherKiosks + restartFindings
    if !found.isEmpty { return found }
    guard let limits else { return [] }
    return [
      .ok(
        .session, place,
        "allows \(limits.receiveMaximum) messages in flight\(version.map { "; \($0)" } ?? "")")
    ]
  }

  private var place: String { "\(broker.host):\(broker.port)" }
  private var version: String? { text(of: BrokerStatistics.version) }

  private func text(of topic: String) -> String? {
    retained.payloads[topic].map { String(decoding: $0, as: UTF8.self) }
  }

  // MARK: Limits

  /// Number of orders that may arrive during one slow commit, of 50 ms on an SD card.
  private var load: Int {
    let panels = Set(settings.panels.map(\.name)).union(ledger.panels).count
    // Without a rate limit, a panel counts as 10 orders per second: a person does not press faster.
    let perSecond = settings.orders.maximumPerSecond == 0 ? 10 : settings.orders.maximumPerSecond
    return max(1, panels) * perSecond / 20
  }

  private func limitFindings(_ limits: BrokerLimits) -> [Finding] {
    var findings: [Finding] = []
    // 20 messages are mosquitto's default, so its other defaults are probably in force, too.
    if limits.receiveMaximum < max(21, min(load, 1024)) {
      findings.append(
        .warning(
          .session, place,
          "only \(limits.receiveMaximum) messages may be in flight; if this is mosquitto without "
            + "deploy/mosquitto/juice-kiosk.conf, it also loses up to 30 minutes of orders when it is "
            + "killed, and drops orders when more than 1000 wait",
          fix:
            "install juice-kiosk.conf in /etc/mosquitto/conf.d and restart mosquitto; with another "
            + "broker, set the receive maximum to 1024"))
    }
    if limits.maximumQoS < 1 {
      findings.append(
        .error(
          .session, place, "the broker does not support QoS 1: orders get lost",
          fix: "allow it (mosquitto: max_qos 2)"))
    }
    if !limits.retainsMessages {
      findings.append(
        .error(
          .session, place,
          "the broker retains nothing: a display shows nothing when it is switched on",
          fix: "allow it (mosquitto: retain_available true)"))
    }
    // A packet contains a header and properties besides topic and payload.
    let longest = settings.longestMessage + 64
    if let maximum = limits.maximumPacket, maximum < longest {
      findings.append(
        .error(
          .session, place,
          "the broker accepts packets of up to \(maximum) bytes, but the kiosk's menu or an order has "
            + "up to \(longest)",
          fix: "allow more (mosquitto: max_packet_size 1048576)"))
    }
    let lifetime = Int(settings.orders.maximumAge.components.seconds)
    if let expiry = limits.sessionExpiry, expiry < lifetime {
      findings.append(
        .warning(
          .session, place,
          "the broker deletes a session after \(expiry) seconds, with the orders that wait while the "
            + "kiosk restarts; orders are valid for \(lifetime) seconds",
          fix: "keep sessions for at least \(lifetime) seconds, or lower orders.max_age_seconds"
        ))
    }
    return findings
  }

  private var droppedFindings: [Finding] {
    guard let text = text(of: BrokerStatistics.dropped), let count = Int(text), count > 0 else {
      return []
    }
    return [
      .warning(
        .session, BrokerStatistics.dropped,
        "the broker has dropped \(count) messages, because a queue was full",
        fix:
          "raise max_queued_messages (juice-kiosk.conf has 10000); remove the sessions of clients "
          + "that are no longer used")
    ]
  }

  // MARK: Other clients

  private var otherKiosks: [Finding] {
    let topic = settings.topics.status
    switch (ledger.isRunning, text(of: topic)) {
    case (false, KioskStatus.online.rawValue):
      guard let at = retained.health(settings.topics)?.at,
        (.seconds(-90) ... .seconds(90)).contains(now.since(at))
      else {
        return [
          .warning(
            .retained, topic, "is online, but no kiosk runs: the broker was killed with it",
            fix: "start the kiosk")
        ]
      }
      return [
        .warning(
          .session, topic, "a kiosk is online here, but not with this ledger",
          fix: "stop it, or give this one its own kiosk.id and broker.client_id")
      ]
    case (true, KioskStatus.offline.rawValue):
      return [
        .warning(
          .session, topic, "a kiosk runs, but is not online",
          fix: "find out why: systemctl status juice-kiosk")
      ]
    default: return []
    }
  }

  /// A warning about more than five lost connections per quarter of an hour on average, as in the
  /// monitoring rules.
  private var restartFindings: [Finding] {
    guard ledger.isRunning, let health = retained.health(settings.topics) else { return [] }
    let reconnects = health.counters.reconnects
    guard reconnects > 5, reconnects > health.uptime / 180 else { return [] }
    return [
      .warning(
        .session, broker.clientID,
        "the kiosk has lost its connection \(reconnects) times in \(health.uptime) s",
        fix:
          "if another client has the same client id, give each its own broker.client_id; otherwise "
          + "check the network")
    ]
  }
}

extension KioskSettings {
  /// The size in bytes of the longest message that the configuration determines, with its topic; at
  /// least the maximum payload of a request.
  fileprivate var longestMessage: Int {
    let announced = announcementsWithDates.map { $0.payload.count + $0.topic.utf8.count }
    let menu = menuReport.payload.count + topics.menu.utf8.count
    return max(menu, announced.max() ?? 0, Request.maximumPayload)
  }
}
