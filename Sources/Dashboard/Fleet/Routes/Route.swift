package import JuiceDomain
package import KioskProtocol

/// One trip to some kiosks: what was planned, and what was done at each of them.
package struct Route: Hashable, Sendable, Identifiable {
  package typealias ID = Identifier<Route>

  /// So many kiosks are in one route at most.
  package static let maximumKiosks = 100

  package let id: ID
  package let createdAt: Timestamp
  /// The user who has made it.
  package let createdBy: String
  package let plan: RoutePlan
  /// The zone in which its times are shown, as the IANA database calls it; `nil`: UTC.
  package let timeZone: String?
  package var stops: [Stop]

  package init(
    id: ID, createdAt: Timestamp, createdBy: String, plan: RoutePlan, timeZone: String?,
    stops: [Stop]
  ) {
    self.id = id
    self.createdAt = createdAt
    self.createdBy = createdBy
    self.plan = plan
    self.timeZone = timeZone
    self.stops = stops
  }

  /// What is planned for a fruit of a kiosk.
  package struct Line: Hashable, Sendable {
    package let fruit: Fruit
    /// The stock when the route was made.
    package let now: Int
    /// The stock that is expected on arrival.
    package let expected: Int
    package let bring: Int
    /// `false`: there was no forecast, and `expected` is `now`.
    package let isForecast: Bool

    package init(fruit: Fruit, now: Int, expected: Int, bring: Int, isForecast: Bool) {
      self.fruit = fruit
      self.now = now
      self.expected = expected
      self.bring = bring
      self.isForecast = isForecast
    }
  }

  /// What is planned for a kiosk, and what was done there.
  package struct Stop: Hashable, Sendable {
    package let kiosk: KioskID
    /// Name, place and `wasOnline` are those of when the route was made.
    package let name: LocalizedName?
    package let place: String?
    package let wasOnline: Bool
    package let lines: [Line]
    /// The id of the restock that this stop becomes. It changes only when the kiosk has rejected the
    /// restock, so that the stop is done once, however often it is sent.
    package internal(set) var command: Request.ID
    /// The latest attempt.
    package internal(set) var report: StopReport?

    package init(
      kiosk: KioskID, name: LocalizedName?, place: String?, wasOnline: Bool, lines: [Line],
      command: Request.ID
    ) {
      self.kiosk = kiosk
      self.name = name
      self.place = place
      self.wasOnline = wasOnline
      self.lines = lines
      self.command = command
    }

    package func title(_ language: Language) -> String { name?[language] ?? kiosk.text }

    package func line(of fruit: Fruit.ID) -> Line? { lines.first { $0.fruit.id == fruit } }
  }

  /// What somebody has filled in and confirmed at a kiosk.
  package struct StopReport: Hashable, Sendable {
    package let command: Request.ID
    /// The user in whose name it is sent.
    package let user: String
    package let at: Timestamp
    /// What was put in (positive) or taken out (negative); never 0.
    package let brought: FruitAmounts
    package let counted: FruitAmounts
    /// The stock of the counted fruits by the ledger, as the page showed it: if the kiosk's ledger says
    /// something else by then, the kiosk changes nothing.
    package let ledger: FruitAmounts
    package var outcome: Outcome

    package init(
      command: Request.ID, user: String, at: Timestamp, brought: FruitAmounts,
      counted: FruitAmounts, ledger: FruitAmounts, outcome: Outcome = .unknown
    ) {
      self.command = command
      self.user = user
      self.at = at
      self.brought = brought
      self.counted = counted
      self.ledger = ledger
      self.outcome = outcome
    }

    package enum Outcome: Hashable, Sendable {
      /// The kiosk has not answered; it may have done it. To send it again is safe.
      case unknown
      case applied
      /// The kiosk has changed nothing.
      /// - Parameter stock: the kiosk's, of the fruits whose stock is not the expected one.
      case rejected(RejectionReason, detail: String, stock: FruitAmounts)
    }

    package var restock: Restock { Restock(add: brought, set: counted, expect: ledger) }

    package var isDone: Bool { outcome == .applied }

    /// The ledger's number minus the counted one: positive if fruit is missing.
    package var missing: FruitAmounts {
      FruitAmounts(
        counted.compactMap { fruit, count in ledger[fruit].map { (fruit, $0 - count) } })
    }

    /// Whether the numbers are the same, whoever has confirmed them, and when.
    package func hasSameAmounts(as other: StopReport) -> Bool {
      (brought, counted, ledger) == (other.brought, other.counted, other.ledger)
    }
  }

  package subscript(kiosk: KioskID) -> Stop? {
    get { stops.first { $0.kiosk == kiosk } }
    set {
      guard let newValue, let index = stops.firstIndex(where: { $0.kiosk == kiosk }) else {
        return
      }
      stops[index] = newValue
    }
  }

  /// Whether somebody has confirmed a stop.
  package var hasStarted: Bool { stops.contains { $0.report != nil } }
}

extension Route.Stop {
  /// What to do with a stop that somebody has confirmed.
  package enum Step: Hashable, Sendable {
    /// Send it to the kiosk, once the route is on the disk.
    case send(Route.StopReport)
    /// The kiosk has answered it before.
    case answered(Route.StopReport)
    /// It was filled in on a page that is older than the latest rejection.
    case outdated
  }

  /// Takes in a stop that somebody has confirmed.
  ///
  /// All that is ever sent under one id is the first report with it, in the name of its user: a kiosk knows
  /// a command by its source and its id, and does it once.
  package mutating func confirm(_ new: Route.StopReport) -> Step {
    if let report, report.command == new.command {
      return report.outcome == .unknown ? .send(report) : .answered(report)
    }
    guard new.command == command else { return .outdated }
    report = new
    return .send(new)
  }

  /// Takes in what the kiosk has answered.
  ///
  /// - Parameters:
  ///   - result: `nil` if there was no answer.
  ///   - next: the id of another attempt.
  package mutating func updateOutcome(
    of id: Request.ID, with result: CommandResult?, next: Request.ID
  ) {
    guard let report, report.command == id, report.outcome == .unknown, let result else { return }
    switch (result.status, result.reason) {
    case (.applied, _): self.report?.outcome = .applied
    // This copy was not done, but an earlier one may have been.
    case (_, .rateLimited): break
    case (_, let reason?):
      self.report?.outcome = .rejected(
        reason, detail: result.detail ?? "", stock: result.stock ?? [:])
      command = next
    default: break
    }
  }

  /// Settles a report without an answer, if the kiosk tells of its restock in another way.
  ///
  /// - Returns: whether it does.
  package mutating func updateOutcome(from kiosk: KioskState) -> Bool {
    guard let report, report.outcome == .unknown else { return false }
    let isDone = kiosk.services.contains { entry in
      guard case .restocked = entry.outcome else { return false }
      return entry.id == report.command && entry.source?.name == report.user
    }
    if isDone { self.report?.outcome = .applied }
    return isDone
  }
}
