import Devices
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import MessageBroker

/// A topic that the kiosk's account must be allowed to publish to.
struct Right: Hashable {
  let topic: String
  /// The line of mosquitto's access list that allows all topics of the kind.
  let rule: String

  init(_ topic: String, rule: String? = nil) {
    self.topic = topic
    self.rule = "topic write \(rule ?? topic)"
  }
}

extension KioskSettings {
  /// A line of mosquitto's access list that allows the kiosk to publish to a topic.
  func rule(for topic: String) -> String {
    if let right = rights.first(where: { $0.topic == topic }) { return right.rule }
    let kind = commandKinds.first { topic.hasPrefix("\(topics.base)/\($0.rawValue)/") }
    return "topic write " + (kind.map { "\(topics.base)/\($0.rawValue)/+/+/#" } ?? topic)
  }

  /// Everything that the kiosk publishes. In topics of results, `doctor` stands for the sender.
  var rights: [Right] {
    let base = topics.base
    var rights = [
      topics.menu, topics.stock, topics.service, topics.status, topics.info, topics.health,
      topics.sales, topics.forecast, topics.history, topics.events,
    ].map { Right($0) }
    for kind in commandKinds {
      let source = Source(kind: kind, name: "doctor")
      rights.append(
        Right(topics.result(for: source), rule: "\(base)/\(kind.rawValue)/+/+/#"))
    }
    for fruit in menu.fruits.map(\.id) {
      rights.append(Right(topics.stock(of: fruit), rule: "\(base)/stock/+"))
      rights.append(Right(topics.alert(for: fruit), rule: "\(base)/alert/+"))
    }
    for juice in menu.juices.map(\.id) {
      rights.append(Right(topics.servings(of: juice), rule: "\(base)/juice/+"))
    }
    for machine in machines.map(\.name) {
      rights.append(Right(topics.make(by: machine), rule: "\(base)/make/+"))
      rights.append(Right(topics.cancel(by: machine), rule: "\(base)/make/+/cancel"))
      rights.append(Right(topics.report(of: machine), rule: "\(base)/machine/+"))
    }
    rights += announcements.map { Right($0.topic) }
    rights += (displays.flatMap(\.pushes) + panels.flatMap(\.pushes)).map { Right($0.topic) }
    var seen: Set<Right> = []
    return rights.filter { seen.insert($0).inserted }
  }

  /// The topics on which the kiosk retains its own state. Every other retained topic of the kiosk is a
  /// leftover.
  var stateTopics: Set<String> {
    Set(rights.map(\.topic)).subtracting(
      [topics.events]
        + commandKinds.map {
          topics.result(for: Source(kind: $0, name: "doctor"))
        } + machines.flatMap { [topics.make(by: $0.name), topics.cancel(by: $0.name)] })
  }

  /// The size of the longest message that is known beforehand, with its topic, in bytes.
  var longestMessage: Int {
    let announced = announcements.map { $0.payload.count + $0.topic.utf8.count }
    let menu = menuReport.payload.count + topics.menu.utf8.count
    return max(menu, announced.max() ?? 0, Request.maximumPayload)
  }
}

extension Display {
  fileprivate var pushes: [Push] {
    switch content {
    case .text(let push): [push]
    case .availability(_, let available, let soldOut): [available, soldOut].compactMap(\.self)
    }
  }
}

extension PanelBinding {
  fileprivate var pushes: [Push] {
    [feedback.ready, feedback.outOfStock, feedback.rejected].compactMap(\.self)
  }
}
