package import JuiceDomain
package import KioskProtocol

/// A trip of an operator to several kiosks: the plan, and a report of each stop.
///
/// | part | contents |
/// |---|---|
/// | `RoutePlan` | arrival, end, margin: which amounts are needed |
/// | `Stop` | one kiosk, with a `Line` for each fruit of its menu |
/// | `StopReport` | the amounts loaded and counted, and the kiosk's answer |
/// | `Load` | the sum of a fruit over the stops that are not skipped, in crates |
///
/// A report becomes one restock command, which the kiosk applies once, even if the dashboard sends
/// the command repeatedly:
///
/// ```swift
/// switch route[kiosk]?.confirm(report) {
/// case .send(let report): answer = try await publish(report)  // After saving the route
/// case .answered, .outdated, nil: return
/// }
/// route[kiosk]?.updateOutcome(of: report.command, with: answer, next: newID)
/// ```
package struct Route: Hashable, Sendable, Identifiable {
  package typealias ID = Identifier<Route>

  /// Maximum number of kiosks in one route.
  package static let maximumKiosks = 100

  package let id: ID
  package let createdAt: Timestamp
  package let createdBy: String
  package let plan: RoutePlan
  /// The IANA name of the time zone in which pages show the times of the route, or `nil` for UTC.
  package let timeZone: String?
  package var stops: [Stop]
  /// The name under which the route is planned again, or `nil` if it has none.
  package var name: String?
  package var driver: String?

  package init(
    id: ID, createdAt: Timestamp, createdBy: String, plan: RoutePlan, timeZone: String?,
    stops: [Stop], name: String? = nil, driver: String? = nil
  ) {
    self.id = id
    self.createdAt = createdAt
    self.createdBy = createdBy
    self.plan = plan
    self.timeZone = timeZone
    self.stops = stops
    (self.name, self.driver) = (name, driver)
  }

  /// Maximum length of `name` and of `driver`, in Unicode scalars.
  package static let maximumName = 64

  /// The planned amount of one fruit for a kiosk.
  package struct Line: Hashable, Sendable {
    package let fruit: Fruit
    /// The stock when the kiosk was added to the route.
    package let now: Int
    /// The expected stock on arrival.
    package let expected: Int
    /// Number of pieces to bring.
    package let bring: Int
    /// Whether a forecast was available. If not, `expected` equals `now`.
    package let isForecast: Bool
    /// Number of expired pieces to take out, when the kiosk was added to the route.
    package let takeOut: Int
  }

  /// One kiosk on the route: the planned amounts and the latest report.
  package struct Stop: Hashable, Sendable {
    package let kiosk: KioskID
    /// The name when the kiosk was added to the route; `place` and `wasOnline` are from the same
    /// time.
    package let name: LocalizedName?
    package let place: String?
    package let wasOnline: Bool
    package let lines: [Line]
    /// The id of the restock command for this stop. It changes only after the kiosk has rejected
    /// the command or applied a correction: repeated copies of a report are applied once.
    package internal(set) var command: Request.ID
    /// The latest report, or `nil` if the stop is not confirmed.
    package internal(set) var report: StopReport?
    /// Whether the operator skips the kiosk on this route.
    package internal(set) var isSkipped = false
    /// The latest correction of the report, or `nil` if it was applied or there is none.
    package internal(set) var correction: StopReport?

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

    /// Whether the kiosk must still be visited: it has no report, or has rejected it.
    package var isOpen: Bool {
      switch report?.outcome {
      case nil: !isSkipped
      case .rejected: true
      case .unknown, .applied: false
      }
    }

    package func line(of fruit: Fruit.ID) -> Line? { lines.first { $0.fruit.id == fruit } }
  }

  /// The amounts that a user has entered and confirmed at a kiosk.
  package struct StopReport: Hashable, Sendable {
    package let command: Request.ID
    /// The user who confirmed the report.
    package let user: String
    /// The time of the visit, also in a correction.
    package let at: Timestamp
    /// The amounts put in (positive) or taken out (negative); never 0.
    package let brought: FruitAmounts
    /// The amounts that the user has entered: `brought`, or more if not all the fruit fitted.
    package let entered: FruitAmounts
    package let counted: FruitAmounts
    /// The recorded stock of the counted fruits, as the page showed it. If the kiosk's stock
    /// differs when the command arrives, the kiosk rejects the command, but not a correction.
    package let ledger: FruitAmounts
    /// The days on the packages of fruit that was put in.
    package internal(set) var bestBefore: [Fruit.ID: CivilDate]
    package var outcome: Outcome
    /// Whether this report corrects an earlier one that the kiosk has applied.
    package internal(set) var isCorrection = false
    /// The `seq` of the entry of the first report of the stop, or `nil` if it is unknown.
    package internal(set) var entry: Int?

    package init(
      command: Request.ID, user: String, at: Timestamp, brought: FruitAmounts,
      entered: FruitAmounts? = nil, counted: FruitAmounts, ledger: FruitAmounts,
      bestBefore: [Fruit.ID: CivilDate] = [:], outcome: Outcome = .unknown
    ) {
      self.command = command
      self.user = user
      self.at = at
      self.brought = brought
      self.entered = entered ?? brought
      self.counted = counted
      self.ledger = ledger
      self.bestBefore = bestBefore
      self.outcome = outcome
    }

    package enum Outcome: Hashable, Sendable {
      /// The kiosk may have applied the command: it has not answered, or has answered only that the
      /// rate limit was exceeded. Sending the command again is safe.
      case unknown
      case applied
      /// The kiosk has rejected the command and changed nothing.
      /// - Parameter stock: The kiosk's stock of those fruits whose stock differs from the expected
      ///   one.
      case rejected(RejectionReason, detail: String, stock: FruitAmounts)
    }

    /// The restock of the report. Only fruit of which there is more afterwards has a date.
    package var restock: Restock {
      Restock(add: brought, set: counted, expect: ledger, bestBeforeDay: days(of: changes))
    }

    /// Returns the days on the packages of the fruits of which some is added.
    fileprivate func days(of added: FruitAmounts) -> [Fruit.ID: Int64] {
      bestBefore.filter { (added[$0.key] ?? 0) > 0 }.mapValues(\.daysSinceEpoch)
    }

    package var isDone: Bool { outcome == .applied }

    /// The recorded stock minus the counted stock; positive if fruit is missing.
    package var missing: FruitAmounts {
      FruitAmounts(
        counted.compactMap { fruit, count in ledger[fruit].map { (fruit, $0 - count) } })
    }

    /// The changes of the recorded stock by what was put in and counted.
    package var changes: FruitAmounts {
      var changes = missing.times(-1)
      changes += brought
      return changes
    }

    /// Returns whether both reports have the same entered, counted and recorded amounts, and the
    /// same days on the packages of the fruit that was put in.
    package func isSame(as other: StopReport) -> Bool {
      (entered, counted, ledger, days(of: entered))
        == (other.entered, other.counted, other.ledger, other.days(of: other.entered))
    }

    /// Returns the report with `brought` limited to the room for each fruit with a capacity, at the
    /// time of the visit.
    package func fitting(_ kiosk: KioskState, at time: Timestamp) -> StopReport {
      let fitting = brought.compactMap { fruit, amount -> FruitAmounts.Element? in
        guard let room = kiosk.room(for: fruit, counted: counted[fruit], at: time),
          amount > room
        else {
          return (fruit, amount)
        }
        return room > 0 ? (fruit, room) : nil
      }
      return StopReport(
        command: command, user: user, at: at, brought: FruitAmounts(fitting), entered: entered,
        counted: counted, ledger: ledger, bestBefore: bestBefore, outcome: outcome)
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

  /// Returns the first open stop after the given kiosk, or else before it. Returns `nil` if no other
  /// stop is open.
  package func next(after kiosk: KioskID? = nil) -> Stop? {
    let first = stops.firstIndex { $0.kiosk == kiosk }.map { $0 + 1 } ?? 0
    return (stops[first...] + stops[..<first]).first { $0.isOpen && $0.kiosk != kiosk }
  }

  /// Whether at least one stop has been confirmed.
  package var hasStarted: Bool { stops.contains { $0.report != nil } }
}

extension Route.Stop {
  /// The next step for a confirmed stop.
  package enum Step: Hashable, Sendable {
    /// The caller saves the route, then sends the report to the kiosk.
    case send(Route.StopReport)
    /// The kiosk has already answered the command, or the correction changes nothing.
    case answered(Route.StopReport)
    /// The page with the report shows an earlier state of the stop.
    case outdated
  }

  /// Stores the report of a confirmed stop.
  ///
  /// A kiosk identifies a command by its source and its id and executes it once. Therefore only the
  /// first report with an id is ever sent, in the name of its user.
  package mutating func confirm(_ new: Route.StopReport) -> Step {
    if let report, report.command == new.command {
      return report.outcome == .unknown ? .send(report) : .answered(report)
    }
    guard new.command == command else { return .outdated }
    report = new
    isSkipped = false
    return .send(new)
  }

  /// Skips the kiosk, or includes it again. A confirmed stop is never skipped.
  package mutating func skip(_ isSkipped: Bool) { self.isSkipped = isSkipped && report == nil }

  /// Stores a correction of an applied report, or returns an earlier correction without an answer.
  package mutating func correct(_ new: Route.StopReport) -> Step {
    guard let report, let correction = corrected(by: new) else { return .outdated }
    if report.command == new.command { return .answered(report) }
    if let sent = self.correction, sent.outcome == .unknown { return .send(sent) }
    guard !restock(of: correction).add.isEmpty else { return .answered(report) }
    self.correction = correction
    return .send(correction)
  }

  /// Returns the correction with the numbers of a user, or `nil` if there is no applied report. Only
  /// counts that the report contains can be corrected, because the recorded stock of the other fruits
  /// at that time is unknown. Only added fruit gets a date, because a kiosk changes no date.
  package func corrected(by new: Route.StopReport) -> Route.StopReport? {
    guard let report, report.isDone else { return nil }
    let counted = FruitAmounts(
      report.counted.map { ($0.fruit, new.counted[$0.fruit] ?? $0.amount) })
    var correction = Route.StopReport(
      command: new.command, user: new.user, at: report.at, brought: new.brought, counted: counted,
      ledger: report.ledger, bestBefore: report.bestBefore)
    (correction.isCorrection, correction.entry) = (true, report.entry)
    for (fruit, amount) in restock(of: correction).add where amount > 0 {
      correction.bestBefore[fruit] = new.bestBefore[fruit]
    }
    return correction
  }

  /// Returns the restock that adds the difference between the stock according to the correction and
  /// the stock according to the report.
  package func restock(of correction: Route.StopReport) -> Restock {
    let changes = lines.map { line in
      let fruit = line.fruit.id
      func stock(_ report: Route.StopReport?) -> Int {
        (report?.counted[fruit] ?? 0) + (report?.brought[fruit] ?? 0)
      }
      return (fruit: fruit, amount: stock(correction) - stock(report))
    }
    let added = FruitAmounts(changes.filter { $0.amount != 0 })
    return Restock(add: added, bestBeforeDay: correction.days(of: added))
  }

  /// Records the answer of the kiosk.
  ///
  /// - Parameters:
  ///   - result: The answer, or `nil` if there was none.
  ///   - next: The id of the command for another attempt after a rejection.
  package mutating func updateOutcome(
    of id: Request.ID, with result: CommandResult?, next: Request.ID
  ) {
    if correction?.command == id { return updateCorrection(with: result) }
    guard let report, report.command == id, report.outcome == .unknown, let result else { return }
    switch (result.status, result.reason) {
    case (.applied, _):
      self.report?.outcome = .applied
      self.report?.entry = result.seq
    // The kiosk has not executed this copy of the command, but may have executed an earlier one.
    case (_, .rateLimited): break
    case (_, let reason?):
      self.report?.outcome = .rejected(
        reason, detail: result.detail ?? "", stock: result.stock ?? [:])
      command = next
    default: break
    }
  }

  private mutating func updateCorrection(with result: CommandResult?) {
    guard var correction, correction.outcome == .unknown, let result else { return }
    switch (result.status, result.reason) {
    case (.applied, _):
      correction.outcome = .applied
      // From now on, `confirm` returns `outdated` for a copy of the first report.
      (report, self.correction, command) = (correction, nil, correction.command)
    case (_, .rateLimited): break
    case (_, let reason?):
      self.correction?.outcome = .rejected(
        reason, detail: result.detail ?? "", stock: result.stock ?? [:])
    default: break
    }
  }

  /// Whether the outcome of the latest report or correction is unknown.
  package var isUnanswered: Bool { (correction ?? report)?.outcome == .unknown }

  /// Records an unanswered report or correction as applied if `services` contains its restock.
  ///
  /// - Returns: Whether the restock was found.
  package mutating func updateOutcome(from kiosk: KioskState) -> Bool {
    guard isUnanswered, var sent = correction ?? report else { return false }
    let entry = kiosk.services.first { entry in
      guard case .restocked = entry.outcome else { return false }
      return entry.id == sent.command && entry.source?.name == sent.user
    }
    guard let entry else { return false }
    sent.outcome = .applied
    if !sent.isCorrection { sent.entry = entry.seq }
    (report, correction, command) = (sent, nil, sent.command)
    return true
  }
}
