import JuiceDomain
package import KioskProtocol

// The alerts of which people were notified, as JSON for the disk.
extension AlertEvaluator {
  package func write(to json: inout JSONWriter) {
    json.member("notified", notified.sorted { $0.key < $1.key }) { json, notified in
      notified.key.write(to: &json)
      json.member("since", notified.value.description)
      if earlier.contains(notified.key) { json.member("or_earlier", true) }
    }
  }

  /// Reads the alerts that `write(to:)` has written. Skips alerts that cannot be read.
  package static func notified(in json: JSON) -> [Alert: Timestamp] {
    let notified = (json.elements("notified") ?? []).prefix(maximum).compactMap { entry in
      if let alert = Alert(entry), let since = entry.text("since").flatMap(Timestamp.init) {
        (alert, since)
      } else {
        nil
      }
    }
    return Dictionary(notified) { first, _ in first }
  }

  /// Reads which of the alerts that `write(to:)` has written may have begun earlier.
  package static func earlier(in json: JSON) -> Set<Alert> {
    let notified = (json.elements("notified") ?? []).prefix(maximum)
    return Set(notified.filter { $0["or_earlier"] == .bool(true) }.compactMap { Alert($0) })
  }
}

// A transition as JSON, for the disk.
extension AlertEvaluator.Transition {
  package func write(to json: inout JSONWriter) {
    alert.write(to: &json)
    json.member("resolved", isResolved)
    json.member("since", since.description)
    if isEarlier { json.member("or_earlier", true) }
  }

  package init?(_ json: JSON) {
    guard let alert = Alert(json), let since = json.text("since").flatMap(Timestamp.init) else {
      return nil
    }
    self.init(
      alert, isResolved: json["resolved"] == .bool(true), since: since,
      isEarlier: json["or_earlier"] == .bool(true))
  }
}

extension Alert {
  func write(to json: inout JSONWriter) {
    json.member("alert", name)
    switch problem {
    case .machine(let machine): json.member("machine", machine.text)
    case .payment(let device), .difference(let device): json.member("device", device.text)
    case .sensor(let sensor): json.member("sensor", sensor.text)
    case .expired(let fruit), .out(let fruit), .low(let fruit), .expires(let fruit):
      json.member("fruit", fruit.text)
    case .job(let job, let ticket):
      json.member("job", job)
      json.member("ticket", ticket)
    case .charge(let charge, let ticket):
      json.member("charge", charge)
      if ticket > 0 { json.member("ticket", ticket) }
    case .offline, .noSales, .unsold, .disk, .menu, .clock, .closed, nil: break
    }
    if let kiosk { json.member("kiosk", kiosk.text) }
  }

  /// The name of the problem's case, such as `machine`.
  private var name: String {
    problem.map { String("\($0)".prefix { $0 != "(" }) } ?? "no_broker"
  }

  init?(_ json: JSON) {
    func id<Entity>(_ key: String) -> Identifier<Entity>? {
      json.text(key).flatMap { Identifier($0) }
    }
    let problem: Problem.Kind?
    switch json.text("alert") {
    case "no_broker":
      self = .noBroker
      return
    case "offline": problem = .offline
    case "noSales": problem = .noSales
    case "unsold": problem = .unsold
    case "disk": problem = .disk
    case "machine": problem = id("machine").map { .machine($0) }
    case "job":
      let ticket = json.integer("ticket")
      problem = json.integer("job").flatMap { job in ticket.map { .job(job, ticket: $0) } }
    case "payment": problem = id("device").map { .payment($0) }
    case "charge":
      let ticket = json.integer("ticket") ?? 0
      problem = json.chargeNumber("charge").map { .charge($0, ticket: ticket) }
    case "difference": problem = id("device").map { .difference($0) }
    case "sensor": problem = id("sensor").map { .sensor($0) }
    case "expired": problem = id("fruit").map { .expired($0) }
    case "menu": problem = .menu
    case "clock": problem = .clock
    case "out": problem = id("fruit").map { .out($0) }
    case "expires": problem = id("fruit").map { .expires($0) }
    default: return nil
    }
    guard let problem, let kiosk: KioskID = id("kiosk") else { return nil }
    self = .problem(problem, at: kiosk)
  }
}
