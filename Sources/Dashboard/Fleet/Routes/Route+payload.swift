import JuiceDomain
package import KioskProtocol

// Routes as JSON, for the disk.
extension Route {
  /// Maximum length of the file of a route, in bytes.
  package static let maximumPayload = 4 << 20

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("id", id.text)
      json.member("created_at", createdAt.description)
      json.member("created_by", createdBy)
      json.member("arrival", plan.arrival.description)
      json.member("until", plan.end.description)
      json.member("margin", plan.margin)
      json.member("fill", plan.fill.rawValue)
      if let timeZone { json.member("time_zone", timeZone) }
      json.member("stops", stops) { $1.write(to: &$0) }
    }
  }

  /// - Throws: `JSONError` if it is not a route; unknown members are ignored.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let id = json.text("id").flatMap({ ID($0) }), let createdAt = json.time("created_at"),
      let createdBy = json.text("created_by"), let arrival = json.time("arrival"),
      let end = json.time("until"), let margin = json.integer("margin"),
      let fill = json.text("fill").flatMap(RoutePlan.Fill.init(rawValue:)),
      let plan = RoutePlan(arrival: arrival, end: end, margin: margin, fill: fill),
      let elements = json.elements("stops")
    else { throw JSONError(offset: 0, problem: "this is not a route") }
    var stops: [Stop] = []
    for element in elements {
      guard let stop = Stop(element) else {
        throw JSONError(offset: 0, problem: "stop \(stops.count + 1) cannot be read")
      }
      stops.append(stop)
    }
    self.init(
      id: id, createdAt: createdAt, createdBy: createdBy, plan: plan,
      timeZone: json.text("time_zone"),
      stops: stops)
  }
}

extension Route.Stop {
  fileprivate func write(to json: inout JSONWriter) {
    json.member("kiosk", kiosk.text)
    if let name { json.member("name", name) }
    if let place { json.member("place", place) }
    json.member("online", wasOnline)
    json.member("lines", lines) { json, line in
      json.member("fruit", line.fruit.id.text)
      json.member("name", line.fruit.name)
      if let crate = line.fruit.crate { json.member("crate", crate) }
      json.member("now", line.now)
      json.member("expected", line.expected)
      json.member("bring", line.bring)
      json.member("forecast", line.isForecast)
    }
    json.member("command", command.text)
    if let report { json.member("report") { report.write(to: &$0) } }
  }

  fileprivate init?(_ json: JSON) {
    guard let kiosk = json.text("kiosk").flatMap({ KioskID($0) }),
      let command = json.text("command").flatMap({ Request.ID($0) }),
      let elements = json.elements("lines")
    else { return nil }
    let lines = elements.compactMap { Route.Line($0) }
    guard lines.count == elements.count else { return nil }
    self.init(
      kiosk: kiosk, name: json["name"].map { LocalizedName($0, fallback: kiosk.text) },
      place: json.text("place"), wasOnline: json["online"] == .bool(true), lines: lines,
      command: command)
    if let report = json["report"] {
      guard let report = Route.StopReport(report) else { return nil }
      self.report = report
    }
  }
}

extension Route.Line {
  fileprivate init?(_ json: JSON) {
    guard let id = json.text("fruit").flatMap({ Fruit.ID($0) }), let now = json["now"]?.amount,
      let expected = json["expected"]?.amount, let bring = json["bring"]?.amount
    else { return nil }
    let name = LocalizedName(json["name"], fallback: id.text)
    self.init(
      fruit: Fruit(id: id, name: name, crate: json.integer("crate")), now: now,
      expected: expected, bring: bring, isForecast: json["forecast"] == .bool(true))
  }
}

extension Route.StopReport {
  fileprivate func write(to json: inout JSONWriter) {
    json.member("command", command.text)
    json.member("user", user)
    json.member("at", at.description)
    json.member("brought", brought)
    if entered != brought { json.member("entered", entered) }
    json.member("counted", counted)
    json.member("ledger", ledger)
    switch outcome {
    case .unknown: json.member("outcome", "unknown")
    case .applied: json.member("outcome", "applied")
    case .rejected(let reason, let detail, let stock):
      json.member("outcome", "rejected")
      json.member("reason", reason.rawValue)
      json.member("detail", detail)
      json.member("stock", stock)
    }
  }

  fileprivate init?(_ json: JSON) {
    guard let command = json.text("command").flatMap({ Request.ID($0) }),
      let user = json.text("user"), let at = json.time("at"),
      let brought = json.amounts("brought"), let counted = json.amounts("counted"),
      let ledger = json.amounts("ledger")
    else { return nil }
    let outcome: Outcome
    switch json.text("outcome") {
    case "unknown": outcome = .unknown
    case "applied": outcome = .applied
    case "rejected":
      guard let reason = json.text("reason").flatMap(RejectionReason.init(rawValue:)) else {
        return nil
      }
      outcome = .rejected(
        reason, detail: json.text("detail") ?? "", stock: json.amounts("stock") ?? [:])
    default: return nil
    }
    self.init(
      command: command, user: user, at: at, brought: brought, entered: json.amounts("entered"),
      counted: counted, ledger: ledger, outcome: outcome)
  }
}

extension JSON {
  fileprivate func time(_ key: String) -> Timestamp? { text(key).flatMap(Timestamp.init) }
}
