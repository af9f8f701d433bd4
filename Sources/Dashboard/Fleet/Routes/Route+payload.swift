import JuiceDomain
package import KioskProtocol

// Routes as JSON, for the disk.
extension Route: FormattedMessage {
  /// Maximum length of the file of a route, in bytes.
  package static let maximumPayload = 4 << 20

  package init(_ members: inout Members<Self>) throws(JSONError) {
    id = try members.required("id", \.id)
    createdAt = try members.required("created_at", \.createdAt)
    createdBy = try members.required("created_by", \.createdBy)
    let plan = RoutePlan(
      arrival: try members.required("arrival", \.plan.arrival),
      end: try members.required("until", \.plan.end),
      margin: try members.required("margin", \.plan.margin),
      fill: try members.required("fill", \.plan.fill),
      stops: members.optional("most_stops", \.plan.stops) ?? Self.maximumKiosks,
      van: members.optional("van", \.plan.van))
    guard let plan else { throw JSONError("this is not a route") }
    self.plan = plan
    timeZone = members.optional("time_zone", \.timeZone)
    name = members.text("name", \.name, upTo: Self.maximumName)
    driver = members.text("driver", \.driver, upTo: Self.maximumName)
    stops = try members.all("stops", \.stops)
  }
}

extension RoutePlan.Fill: MemberValue {}

extension Route.Stop: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    kiosk = try members.required("kiosk", \.kiosk)
    name = members.optional("name", \.name)
    place = members.optional("place", \.place)
    wasOnline = members.flag("online", \.wasOnline)
    lines = try members.all("lines", \.lines)
    command = try members.required("command", \.command)
    report = try members.optional("report", \.report)
    correction = try members.optional("correction", \.correction)
    isSkipped = members.flag("skipped", \.isSkipped)
  }
}

extension Route.Line: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    let id = try members.required("fruit", \.fruit.id)
    let name = members.optional("name", \.fruit.name) ?? LocalizedName(fallback: id.text)
    fruit = Fruit(id: id, name: name, crate: members.optional("crate", \.fruit.crate))
    now = try members.amount("now", \.now)
    expected = try members.amount("expected", \.expected)
    bring = try members.amount("bring", \.bring)
    isForecast = members.flag("forecast", \.isForecast)
    takeOut = members.optional("take_out") { $0.takeOut == 0 ? nil : $0.takeOut } ?? 0
  }
}

extension Members<Route.Line> {
  fileprivate mutating func amount(
    _ key: StaticString, _ get: (Route.Line) -> Int
  ) throws(JSONError) -> Int {
    try required(key, get, where: { $0.magnitude <= JSON.maximumAmount })
  }
}

extension Route.StopReport: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    command = try members.required("command", \.command)
    user = try members.required("user", \.user)
    at = try members.required("at", \.at)
    brought = try members.required("brought", \.brought)
    entered = members.optional("entered") { $0.entered == $0.brought ? nil : $0.entered } ?? brought
    counted = try members.required("counted", \.counted)
    ledger = try members.required("ledger", \.ledger)
    let days = members.texts("best_before") { report in
      .init(uniqueKeysWithValues: report.bestBefore.map { ($0.key.text, $0.value.description) })
    }
    bestBefore = days.reduce(into: [:]) { dates, day in
      if let fruit = Fruit.ID(day.key) { dates[fruit] = CivilDate(day.value) }
    }
    switch try members.required("outcome", \.outcome.name) {
    case "unknown": outcome = .unknown
    case "applied": outcome = .applied
    case "rejected":
      let rejection: (RejectionReason, String, FruitAmounts) = (
        try members.required("reason") { $0.outcome.rejection?.reason ?? .malformed },
        members.optional("detail") { $0.outcome.rejection?.detail } ?? "",
        members.optional("stock") { $0.outcome.rejection?.stock } ?? [:]
      )
      outcome = .rejected(rejection.0, detail: rejection.1, stock: rejection.2)
    default: throw JSONError("'outcome' is unknown")
    }
    isCorrection = members.flag("correction", \.isCorrection)
    entry = members.optional("entry", \.entry)
  }
}

extension Route.StopReport.Outcome {
  fileprivate var name: String {
    switch self {
    case .unknown: "unknown"
    case .applied: "applied"
    case .rejected: "rejected"
    }
  }

  fileprivate var rejection: (reason: RejectionReason, detail: String, stock: FruitAmounts)? {
    guard case .rejected(let reason, let detail, let stock) = self else { return nil }
    return (reason, detail, stock)
  }
}
