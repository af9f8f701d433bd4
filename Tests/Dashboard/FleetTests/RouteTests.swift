import Fleet
import JuiceDomain
import KioskProtocol
import Testing

@Suite struct RouteTests {
  private static let now = Timestamp(milliseconds: 1_795_251_600_000)
  private static let hour = Int64(3_600_000)

  private static func after(_ hours: Int64) -> Timestamp {
    Timestamp(milliseconds: now.milliseconds + hours * hour)
  }

  private static func plan(
    in hours: Int64 = 24, until end: Int64 = 96, margin: Int = 0, _ fill: RoutePlan.Fill = .need
  ) throws -> RoutePlan {
    try #require(
      RoutePlan(arrival: after(hours), end: after(end), margin: margin, fill: fill))
  }

  /// Returns a kiosk with one fruit.
  ///
  /// - Parameter use: The expected use in each six hours.
  private static func kiosk(
    _ id: String = "k1", stock: Int, capacity: Int? = 100, use: Double?, crate: Int? = nil,
    status: String = "online", alert: String = "ok", stockAt: Timestamp = now, recipe: Int = 1,
    low: Int? = nil, keeps: Int? = nil, expired: FruitAmounts = [:],
    expires: [ForecastReport.Outlook.Expiry] = []
  ) throws -> KioskState {
    var fleet = KioskFleet(root: "kiosk")
    func receive(_ topic: String, _ payload: [UInt8]) {
      fleet.receive(topic: "kiosk/\(id)/\(topic)", payload: payload, isRetained: true, at: Self.now)
    }
    let name = LocalizedName(english: "Kiwi", fallback: "kiwi")
    let menu = try Menu(
      fruits: [Fruit(id: "kiwi", name: name, crate: crate, keepsHours: keeps)],
      juices: [Juice(id: "kiwi", name: name, recipe: Recipe(["kiwi": recipe]))])
    let capacities = capacity.map { ["kiwi": $0] as FruitAmounts } ?? [:]
    receive("status", Array(status.utf8))
    let lowMarks = low.map { ["kiwi": $0] as FruitAmounts } ?? [:]
    receive("menu", MenuReport(menu: menu, capacities: capacities, lowMarks: lowMarks).payload)
    receive(
      "stock",
      StockReport(
        seq: 1, at: stockAt, fruits: ["kiwi": stock],
        expires: expires.first.map { ["kiwi": $0.at] } ?? [:], expired: expired
      ).payload)
    receive("alert/kiwi", Array(alert.utf8))
    if let use {
      let outlook = ForecastReport.Outlook(
        stock: stock, perHour: use / 6, use: Array(repeating: use, count: 28),
        expires: expires)
      receive("forecast", ForecastReport(at: stockAt, fruits: ["kiwi": outlook]).payload)
    }
    return try #require(fleet.kiosks.first)
  }

  struct Case: Sendable {
    var stock: Int
    var capacity: Int? = 100
    /// The expected use in six hours.
    var use: Double?
    var margin = 0
    var fill = RoutePlan.Fill.need
    var expected: Int
    var bring: Int
    var isShort: Bool
  }

  /// A route that arrives in 24 hours and has to last for another 72 hours; 2 are used in 6 hours.
  @Test(
    arguments: [
      // Within 24 hours 8 are sold, of which 2 are there.
      (10, 24, .need, 6), (10, 24, .capacity, 6), (18, 24, .need, 0),
      // What keeps for longer than the time to the next route does not limit it.
      (10, 96, .need, 22), (10, nil, .need, 22), (10, 100, .capacity, 31),
    ] as [(Int, Int?, RoutePlan.Fill, Int)])
  func nothingIsBroughtThatExpiresUnsold(
    stock: Int, keeps: Int?, fill: RoutePlan.Fill, bring: Int
  ) throws {
    let kiosk = try Self.kiosk(stock: stock, use: 2, keeps: keeps, expired: ["kiwi": 3])
    let line = try #require(Self.plan(fill).lines(for: kiosk, at: Self.now)?.first)
    #expect(line.bring == bring && line.takeOut == 3)
    let route = try Route(
      id: "r1", createdAt: Self.now, createdBy: "minji", plan: Self.plan(fill), timeZone: nil,
      stops: [
        .init(kiosk: "k1", name: nil, place: nil, wasOnline: true, lines: [line], command: "c1")
      ])
    #expect(try Route(payload: route.payload).stops.first?.lines.first?.takeOut == 3)
  }

  /// A route that arrives in 24 hours and has to last for another 72 hours; 2 are used in 6 hours:
  /// 8 until the arrival, and 24 after it.
  @Test(
    arguments: [
      // All of it has expired on arrival: four are sold within the first twelve hours.
      (98, [(12, 98)], 0, 24, 94, true), (98, [], 90, 0, 0, false),
      // The kiosk sells fruit without a date first, then the batch that expires first.
      (20, [(12, 10)], 2, 22, 10, true), (20, [(12, 4), (200, 16)], 12, 12, 0, true),
      (20, [(12, 10), (18, 10)], 0, 24, 14, true),
      // Six expire after the arrival, of which two are sold before.
      (98, [(30, 8)], 90, 0, 0, false), (10, [(30, 10)], 2, 22, 0, true),
      // Fruit was sold since the forecast.
      (5, [(12, 98)], 0, 24, 1, true),
    ] as [(Int, [(Int64, Int)], Int, Int, Int, Bool)])
  func whatWillHaveExpiredDoesNotCount(
    stock: Int, expires: [(Int64, Int)], expected: Int, bring: Int, takeOut: Int, isShort: Bool
  ) throws {
    let expires = expires.map { ForecastReport.Outlook.Expiry(at: Self.after($0), amount: $1) }
    let kiosk = try Self.kiosk(stock: stock, use: 2, expires: expires)
    let plan = try Self.plan()
    let line = try #require(plan.lines(for: kiosk, at: Self.now)?.first)
    #expect(line.expected == expected)
    #expect(line.bring == bring)
    #expect(line.takeOut == takeOut)
    #expect(plan.shortFruits(of: kiosk, at: Self.now).isEmpty == !isShort)
    // Without a forecast nothing is sold, and only the next time is known.
    let unknown = try Self.kiosk(stock: stock, use: nil, expires: expires)
    let rest = try #require(plan.lines(for: unknown, at: Self.now)?.first)
    #expect(rest.expected == (expires.first.map { $0.at <= Self.after(24) } ?? false ? 0 : stock))
  }

  /// A route that arrives in 24 hours and has to last for another 72 hours.
  @Test(arguments: [
    Case(stock: 50, use: 2, expected: 42, bring: 0, isShort: false),
    Case(stock: 32, use: 2, expected: 24, bring: 0, isShort: true),
    Case(stock: 33, use: 2, expected: 25, bring: 0, isShort: false),
    Case(stock: 20, use: 2, expected: 12, bring: 12, isShort: true),
    // The margin applies to the use and not to the stock.
    Case(stock: 20, use: 2, margin: 50, expected: 12, bring: 24, isShort: true),
    Case(stock: 0, use: 5 / 3, margin: 10, expected: 0, bring: 22, isShort: true),
    Case(stock: 33, use: 2, margin: 5, expected: 25, bring: 1, isShort: true),
    // Empty before the arrival: the expected stock is not negative.
    Case(stock: 3, use: 2, expected: 0, bring: 24, isShort: true),
    // Limited by the room.
    Case(stock: 20, capacity: 30, use: 10, expected: 0, bring: 30, isShort: true),
    Case(stock: 28, capacity: 30, use: 2, expected: 20, bring: 4, isShort: true),
    Case(stock: 28, capacity: 22, use: 2, margin: 200, expected: 20, bring: 2, isShort: true),
    Case(stock: 50, capacity: 30, use: 2, margin: 200, expected: 42, bring: 0, isShort: true),
    Case(stock: 20, use: 2, fill: .capacity, expected: 12, bring: 88, isShort: true),
    Case(stock: 90, use: 0, fill: .capacity, expected: 90, bring: 10, isShort: false),
    Case(stock: 0, use: 0, expected: 0, bring: 1, isShort: true),
    // Without a capacity.
    Case(stock: 20, capacity: nil, use: 20, expected: 0, bring: 240, isShort: true),
    Case(stock: 20, capacity: nil, use: 2, fill: .capacity, expected: 12, bring: 12, isShort: true),
    // Without a forecast.
    Case(stock: 20, use: nil, expected: 20, bring: 80, isShort: false),
    Case(stock: 0, use: nil, expected: 0, bring: 100, isShort: true),
    Case(
      stock: 20, capacity: nil, use: nil, fill: .capacity, expected: 20, bring: 0, isShort: false),
  ])
  func whatIsBrought(_ example: Case) throws {
    let kiosk = try Self.kiosk(
      stock: example.stock, capacity: example.capacity, use: example.use)
    let plan = try Self.plan(margin: example.margin, example.fill)
    let line = try #require(plan.lines(for: kiosk, at: Self.now)?.first)
    #expect(line.now == example.stock)
    #expect(line.expected == example.expected)
    #expect(line.bring == example.bring)
    #expect(line.isForecast == (example.use != nil))
    #expect(plan.shortFruits(of: kiosk, at: Self.now).isEmpty == !example.isShort)
  }

  @Test(
    arguments: [
      // 24 are used until the end: with 16 for a glass, 39 are enough, and 38 are not.
      (39, 2.0, 0, true), (40, 2, 0, false), (24, 2, 15, true), (16, nil, 0, false),
      (15, nil, 85, true),
    ] as [(Int, Double?, Int, Bool)])
  func aGlassOfEachJuiceIsLeft(stock: Int, use: Double?, bring: Int, isShort: Bool) throws {
    let kiosk = try Self.kiosk(stock: stock, use: use, recipe: 16)
    let plan = try Self.plan(in: 0, until: 72)
    #expect(plan.shortFruits(of: kiosk, at: Self.now).isEmpty == !isShort)
    if use != nil { #expect(plan.lines(for: kiosk, at: Self.now)?.first?.bring == bring) }
  }

  /// A fruit that is out is not sold: its forecast of 0 does not keep it out.
  @Test(
    arguments: [
      // Out: the low mark, else the largest recipe; also if the low mark is smaller, or is off.
      (0, 100, 0, 10, 10), (0, 100, 0, nil, 3), (0, 100, 0, 2, 3), (0, 100, 0, 0, 3),
      // Too little for a juice.
      (2, 100, 0, 10, 8),
      // Limited by the room.
      (0, 6, 0, 10, 6),
      // A forecast of one piece in a day, and of 16.
      (0, 100, 0.25, 10, 10), (0, 100, 4, 10, 16),
      // Without a forecast, also without a capacity.
      (0, 100, nil, 10, 100), (0, nil, nil, 10, 10), (0, nil, nil, nil, 3), (0, nil, 0, 10, 10),
      // Not out.
      (3, 100, 0, 10, 0), (20, 100, 0, 10, 0), (3, nil, nil, 10, 0),
    ] as [(Int, Int?, Double?, Int?, Int)])
  func whatIsOutIsBroughtAgain(
    stock: Int, capacity: Int?, use: Double?, low: Int?, bring: Int
  ) throws {
    let kiosk = try Self.kiosk(
      stock: stock, capacity: capacity, use: use, recipe: 3, low: low, keeps: 24)
    for fill in RoutePlan.Fill.allCases {
      let line = try #require(Self.plan(fill).lines(for: kiosk, at: Self.now)?.first)
      #expect(line.bring == bring, "\(fill)")
    }
  }

  /// The stock expires before the arrival or after it, and nothing is sold.
  @Test(arguments: [(12, 10, 20), (30, 0, 0)] as [(Int64, Int, Int)])
  func whatWillHaveExpiredIsBroughtAgain(hours: Int64, bring: Int, takeOut: Int) throws {
    let kiosk = try Self.kiosk(
      stock: 20, use: 0, low: 10, keeps: 24, expires: [.init(at: Self.after(hours), amount: 20)])
    let line = try #require(Self.plan(.capacity).lines(for: kiosk, at: Self.now)?.first)
    #expect(line.bring == bring && line.takeOut == takeOut)
  }

  @Test(
    arguments: [
      // With 20 of 100, there is room for 80; with 30 counted, for 70.
      (80, nil, 80), (81, nil, 80), (98, nil, 80), (71, 30, 70), (-5, nil, -5), (9, 100, nil),
      (9, 120, nil),
    ] as [(Int, Int?, Int?)])
  func whatDoesNotFitIsNotRecorded(brought: Int, counted: Int?, fits: Int?) throws {
    let kiosk = try Self.kiosk(stock: 20, use: nil)
    let report = Route.StopReport(
      command: "c1", user: "minji", at: Self.now, brought: ["kiwi": brought],
      counted: counted.map { ["kiwi": $0] } ?? [:], ledger: [:])
    let fitting = report.fitting(kiosk, at: Self.now)
    #expect(fitting.brought == (fits.map { ["kiwi": $0] } ?? [:]))
    // The same form, sent again, is the same report.
    #expect(fitting.entered == ["kiwi": brought] && fitting.isSame(as: report))
    let free = try Self.kiosk(stock: 20, capacity: nil, use: nil)
    #expect(report.fitting(free, at: Self.now) == report)
  }

  @Test func whatHasBeenSoldSinceTheForecastIsNotSubtractedAgain() throws {
    let kiosk = try Self.kiosk(stock: 20, use: 2, stockAt: Self.after(-12))
    #expect(try Self.plan().lines(for: kiosk, at: Self.now)?.first?.expected == 12)
  }

  @Test func ofAKioskThatIsAwayNobodyKnowsWhatItHasSoldSince() throws {
    let kiosk = try Self.kiosk(stock: 20, use: 2, status: "offline", stockAt: Self.after(-12))
    #expect(try Self.plan().lines(for: kiosk, at: Self.now)?.first?.expected == 8)
  }

  @Test func afterAWeekTheSameIsExpectedOnceMore() throws {
    let kiosk = try Self.kiosk(stock: 100, use: 1)
    let plan = try Self.plan(in: 24 * 9, until: 24 * 12)
    #expect(plan.lines(for: kiosk, at: Self.now)?.first?.expected == 100 - 36)
    #expect(plan.lines(for: kiosk, at: Self.now)?.first?.bring == 0)
  }

  @Test func withoutAForecastALowFruitIsShort() throws {
    let kiosk = try Self.kiosk(stock: 3, use: nil, alert: "low")
    #expect(try Self.plan().shortFruits(of: kiosk, at: Self.now) == ["kiwi"])
  }

  @Test func whatNobodyHasReportedHasNoStop() throws {
    var fleet = KioskFleet(root: "kiosk")
    fleet.receive(
      topic: "kiosk/k1/status", payload: Array("online".utf8), isRetained: true, at: Self.now)
    #expect(try Self.plan().lines(for: #require(fleet["k1"]), at: Self.now) == nil)
  }

  @Test(arguments: [(24, 24, 0), (24, 23, 0), (24, 48, -1), (24, 48, 201)])
  func whatIsNoPlan(arrival: Int64, end: Int64, margin: Int) {
    #expect(
      RoutePlan(
        arrival: Self.after(arrival), end: Self.after(end), margin: margin, fill: .need) == nil)
  }

  @Test(arguments: [(0, nil), (101, nil), (1, 0), (1, 1_000_001)] as [(Int, Int?)])
  func whatNoVanVisits(stops: Int, van: Int?) {
    #expect(
      RoutePlan(
        arrival: Self.now, end: Self.after(1), margin: 0, fill: .need, stops: stops, van: van)
        == nil)
  }

  // MARK: Visits of other routes

  /// A route that arrives in 24 hours and has to last for another 72 hours; 2 are used in 6 hours.
  @Test(
    arguments: [
      // 16 are left after 12 hours: with 40 more, 52 are left on arrival, which is enough.
      (20, [(12, 40)], 52, 0, false), (20, [(12, 4)], 16, 8, true),
      // The capacity limits what a visit brings.
      (90, [(12, 40)], 96, 0, false),
      // Nothing is sold before the first of two visits, because nothing is there.
      (0, [(12, 4), (18, 6)], 6, 18, true),
      // What lasts until the next visit is enough, except before it.
      (0, [(48, 40)], 0, 8, true), (17, [(48, 40)], 9, 0, false), (16, [(48, 40)], 8, 0, true),
      // A visit when the plan ends does not help before.
      (20, [(96, 40)], 12, 12, true),
    ] as [(Int, [(Int64, Int)], Int, Int, Bool)])
  func whatOtherRoutesBringCounts(
    stock: Int, visits: [(Int64, Int)], expected: Int, bring: Int, isShort: Bool
  ) throws {
    let kiosk = try Self.kiosk(stock: stock, use: 2)
    let visits = visits.map { RouteVisit(at: Self.after($0), bring: ["kiwi": $1]) }
    let plan = try Self.plan()
    let line = try #require(plan.lines(for: kiosk, after: visits, at: Self.now)?.first)
    #expect((line.expected, line.bring) == (expected, bring))
    #expect(plan.shortFruits(of: kiosk, after: visits, at: Self.now).isEmpty == !isShort)
  }

  @Test func aVisitCountsUntilItHasTakenPlaceOrADayHasPassed() throws {
    let kiosks = try ["k1", "k2", "k3"].map { try Self.kiosk($0, stock: 20, use: 2) }
    var route = Self.route(kiosks, try Self.plan())
    var (confirmed, skipped) = (try #require(route["k1"]), try #require(route["k2"]))
    _ = confirmed.confirm(Self.report())
    skipped.skip(true)
    (route["k1"], route["k2"]) = (confirmed, skipped)
    let visits = RouteVisit.planned([route], at: Self.now)
    #expect(visits == ["k3": [RouteVisit(at: Self.after(24), bring: ["kiwi": 12])]])
    // The van is late.
    #expect(RouteVisit.planned([route], at: Self.after(47))["k3"]?.first?.at == Self.after(47))
    #expect(RouteVisit.planned([route], at: Self.after(48)).isEmpty)
  }

  @Test(
    arguments: [
      (100, nil, ["k1", "k2", "k3"]), (2, nil, ["k1", "k2"]),
      // 24 for k1, 12 for k2, 4 for k3, in crates of 12 on the van.
      (100, 40, ["k1", "k2"]), (100, 30, ["k1"]), (100, 23, ["k2"]), (100, 11, []),
    ] as [(Int, Int?, [String])])
  func asManyKiosksAreProposedAsTheVanHolds(stops: Int, van: Int?, proposed: [String]) throws {
    let kiosks = try [("k1", 0), ("k0", 90), ("k2", 20), ("k3", 28)].map {
      try Self.kiosk($0, stock: $1, use: 2, crate: 12)
    }
    let plan = try #require(
      RoutePlan(
        arrival: Self.after(24), end: Self.after(96), margin: 0, fill: .need, stops: stops, van: van
      ))
    #expect(plan.proposal(from: kiosks, at: Self.now).map(\.text) == proposed)
    let route = Self.route(kiosks, plan)
    #expect(try Route(payload: route.payload).plan == plan)
  }

  @Test func theNextStopIsTheFirstOpenOneAfterThisOne() throws {
    var route = Self.route(
      try ["k1", "k2", "k3"].map { try Self.kiosk($0, stock: 20, use: 2) }, try Self.plan())
    #expect(route.next()?.kiosk == "k1" && route.next(after: "k2")?.kiosk == "k3")
    #expect(route.next(after: "k3")?.kiosk == "k1")
    for kiosk in ["k1", "k3"] as [KioskID] {
      var stop = try #require(route[kiosk])
      if kiosk == "k1" { _ = stop.confirm(Self.report()) } else { stop.skip(true) }
      route[kiosk] = stop
    }
    #expect(route.next(after: "k3")?.kiosk == "k2" && route.next(after: "k2") == nil)
    // A rejected report must be corrected there.
    var rejected = try #require(route["k1"])
    rejected.updateOutcome(of: "c1", with: Self.rejected(.conflict), next: "c2")
    route["k1"] = rejected
    #expect(route.next()?.kiosk == "k1")
  }

  private static func route(_ kiosks: [KioskState], _ plan: RoutePlan) -> Route {
    let stops = kiosks.compactMap { kiosk in
      plan.lines(for: kiosk, at: now).map { lines in
        Route.Stop(
          kiosk: kiosk.id, name: kiosk.name, place: kiosk.place, wasOnline: kiosk.isOnline,
          lines: lines, command: "c1")
      }
    }
    return Route(
      id: "r1", createdAt: now, createdBy: "minji", plan: plan, timeZone: "Asia/Seoul", stops: stops
    )
  }

  @Test(arguments: [(nil, 37, nil, 37), (12, 37, 4, 48), (37, 37, 1, 37), (1, 37, 37, 37)])
  func theLoadIsInWholeCrates(crate: Int?, sum: Int, crates: Int?, amount: Int) throws {
    let kiosks = [
      // A kiosk whose menu states no crate.
      try Self.kiosk("k1", stock: 87, use: 0),
      try Self.kiosk("k2", stock: 76, use: 0, crate: crate),
    ]
    let load = Self.route(kiosks, try Self.plan(.capacity)).load
    #expect(load.map(\.sum) == [sum])
    #expect(load.map(\.crate) == [crate])
    #expect(load.map(\.crates) == [crates])
    #expect(load.map(\.amount) == [amount])
  }

  @Test func ofTwoSizesOfCratesTheLargerCounts() throws {
    let kiosks = [
      try Self.kiosk("k1", stock: 80, use: 0, crate: 12),
      try Self.kiosk("k2", stock: 90, use: 0, crate: 6),
    ]
    let load = Self.route(kiosks, try Self.plan(.capacity)).load.first
    #expect(load?.crates == 3)
    #expect(load?.amount == 36)
  }

  // MARK: Stops

  private static func report(
    _ command: Request.ID = "c1", user: String = "minji", brought: FruitAmounts = ["kiwi": 5],
    counted: FruitAmounts = ["kiwi": 18], ledger: FruitAmounts = ["kiwi": 20]
  ) -> Route.StopReport {
    Route.StopReport(
      command: command, user: user, at: now, brought: brought, counted: counted, ledger: ledger)
  }

  private static func stop() throws -> Route.Stop {
    try #require(route([kiosk(stock: 20, use: 2)], plan()).stops.first)
  }

  private static func rejected(_ reason: RejectionReason) -> CommandResult {
    var result = CommandResult(status: .rejected)
    result.reason = reason
    result.stock = ["kiwi": 19]
    return result
  }

  @Test func aStopIsSentOnceUnderAnId() throws {
    var stop = try Self.stop()
    let first = Self.report()
    #expect(stop.confirm(first) == .send(first))
    // The outcome is unknown: the first report is sent again, whatever the user and the numbers.
    let other = Self.report(user: "suho", brought: ["kiwi": 7])
    #expect(stop.confirm(other) == .send(first))
    stop.updateOutcome(of: "c1", with: nil, next: "c2")
    #expect(stop.report?.outcome == .unknown)
    #expect(stop.command == "c1")
    stop.updateOutcome(of: "c1", with: CommandResult(status: .applied), next: "c2")
    var done = first
    done.outcome = .applied
    #expect(stop.confirm(other) == .answered(done))
    // A late answer changes nothing.
    stop.updateOutcome(of: "c1", with: Self.rejected(.conflict), next: "c3")
    #expect(stop.report == done)
    #expect(stop.confirm(Self.report("c2")) == .outdated)
  }

  @Test func afterAConflictAnotherIdIsSent() throws {
    var stop = try Self.stop()
    _ = stop.confirm(Self.report())
    stop.updateOutcome(of: "c1", with: Self.rejected(.conflict), next: "c2")
    #expect(
      stop.report?.outcome == .rejected(.conflict, detail: "", stock: ["kiwi": 19]))
    // A late answer to the first copy changes nothing.
    guard case .answered = stop.confirm(Self.report()) else {
      Issue.record("sent a second time")
      return
    }
    let second = Self.report("c2", ledger: ["kiwi": 19])
    #expect(stop.confirm(second) == .send(second))
    #expect(stop.confirm(Self.report("c1")) == .outdated)
  }

  @Test func whoWasTooQuickMaySendTheSameAgain() throws {
    var stop = try Self.stop()
    _ = stop.confirm(Self.report())
    stop.updateOutcome(of: "c1", with: Self.rejected(.rateLimited), next: "c2")
    #expect(stop.report?.outcome == .unknown)
    #expect(stop.command == "c1")
  }

  @Test(arguments: [("minji", "c1", true), ("suho", "c1", false), ("minji", "c9", false)])
  func theHistoryOfTheKioskSettlesWhatNobodyHasHeard(
    user: String, command: String, isDone: Bool
  ) throws {
    var stop = try Self.stop()
    _ = stop.confirm(Self.report())
    let entry = LedgerEntry(
      seq: 7, epoch: 0, at: Self.now, source: Source(kind: .restock, name: user),
      id: Request.ID(command), outcome: .restocked(changes: ["kiwi": 3]))
    var fleet = KioskFleet(root: "kiosk")
    fleet.receive(
      topic: "kiosk/k1/history", payload: HistoryReport(entries: [entry]).payload,
      isRetained: true, at: Self.now)
    #expect(stop.updateOutcome(from: try #require(fleet["k1"])) == isDone)
    #expect(stop.report?.isDone == isDone && stop.report?.entry == (isDone ? 7 : nil))
  }

  @Test func whatIsMissingIsTheLedgersLessWhatWasCounted() throws {
    var first = Self.route([try Self.kiosk("k1", stock: 20, use: 2)], try Self.plan())
    var second = first
    func done(_ route: inout Route, _ report: Route.StopReport) throws {
      var stop = try #require(route["k1"])
      _ = stop.confirm(report)
      stop.updateOutcome(of: "c1", with: CommandResult(status: .applied), next: "c2")
      route["k1"] = stop
    }
    try done(&first, Self.report())
    try done(&second, Self.report(brought: ["kiwi": 2], counted: ["kiwi": 21]))
    let open = Self.route([try Self.kiosk("k2", stock: 20, use: 2)], try Self.plan())
    let differences = RouteDifferences(of: [first, second, open])
    let kiwi = try #require(differences.kiosks["k1"]?["kiwi"])
    #expect((kiwi.counts, kiwi.missing) == (2, 1))
    #expect((kiwi.planned, kiwi.brought) == (24, 7))
    #expect(differences.fruits["kiwi"] == kiwi)
    #expect(differences.kiosks["k2"] == nil)
  }

  @Test func aRouteIsReadAsItWasWritten() throws {
    var route = Self.route(
      [
        try Self.kiosk("k1", stock: 20, use: 2, crate: 12),
        try Self.kiosk("k2", stock: 0, use: nil),
      ],
      try Self.plan(margin: 7, .capacity))
    var stop = try #require(route["k1"])
    _ = stop.confirm(Self.report())
    for (result, next) in [
      (nil, "c1"), (Self.rejected(.conflict), "c2"), (CommandResult(status: .applied), "c3"),
    ] as [(CommandResult?, Request.ID)] {
      if stop.report?.outcome != .unknown { _ = stop.confirm(Self.report("c2")) }
      stop.updateOutcome(of: stop.command, with: result, next: next)
      route["k1"] = stop
      let read = try Route(payload: route.payload)
      #expect(read.payload == route.payload)
      #expect(read.plan == route.plan)
      #expect(read.stops.map(\.report) == route.stops.map(\.report))
      #expect(read["k1"]?.line(of: "kiwi")?.fruit.crate == 12)
    }
    #expect(route["k1"]?.report?.isDone == true)
  }

  /// Only fruit that is put in has the date on its package, also what a correction adds.
  @Test(arguments: [(8, 3, true), (4, -1, false)])
  func theDatesOfPackagesAreThoseOfAddedFruit(right: Int, change: Int, isAdded: Bool) throws {
    let day = try #require(CivilDate("2026-12-05"))
    let other = try #require(CivilDate("2026-12-08"))
    func report(_ id: Request.ID, _ brought: FruitAmounts) -> Route.StopReport {
      Route.StopReport(
        command: id, user: "jun", at: Self.now, brought: brought, counted: [:], ledger: [:],
        bestBefore: id == "c1" ? ["kiwi": day, "mango": day, "banana": day] : ["kiwi": other])
    }
    let days: [Fruit.ID: Int64] = ["kiwi": day.daysSinceEpoch]
    let first = report("c1", ["kiwi": 5, "mango": -2])
    #expect(first.restock == Restock(add: first.brought, bestBeforeDay: days))
    // Of fruit of which more is missing than was put in there is nothing with a date.
    for (counted, hasDate) in [(16, true), (15, false), (9, false)] {
      let report = Route.StopReport(
        command: "c1", user: "jun", at: Self.now, brought: ["kiwi": 5],
        counted: ["kiwi": counted], ledger: ["kiwi": 20], bestBefore: ["kiwi": day])
      #expect(report.restock.bestBeforeDay.isEmpty == !hasDate, "\(counted)")
    }
    var route = Self.route([try Self.kiosk("k1", stock: 20, use: 2)], try Self.plan())
    var stop = try #require(route["k1"])
    _ = stop.confirm(first.fitting(try Self.kiosk(stock: 20, use: nil), at: Self.now))
    #expect(stop.report?.bestBefore == first.bestBefore)
    stop.updateOutcome(of: "c1", with: CommandResult(status: .applied), next: "c2")
    guard case .send(let sent) = stop.correct(report("x1", ["kiwi": right])) else {
      Issue.record("the correction is not sent")
      return
    }
    #expect(
      stop.restock(of: sent)
        == Restock(
          add: ["kiwi": change], bestBeforeDay: isAdded ? ["kiwi": other.daysSinceEpoch] : [:]))
    #expect(sent.bestBefore["kiwi"] == (isAdded ? other : day))
    route["k1"] = stop
    let read = try #require(try Route(payload: route.payload)["k1"])
    #expect(read.report == stop.report && read.correction == sent)
  }

  @Test func aConfirmedStopIsCorrectedOnce() throws {
    var route = Self.route([try Self.kiosk("k1", stock: 20, use: 2)], try Self.plan())
    var stop = try #require(route["k1"])
    func report(_ id: Request.ID, brought: Int, counted: Int) -> Route.StopReport {
      Route.StopReport(
        command: id, user: "jun", at: Self.now, brought: ["kiwi": brought],
        counted: ["kiwi": counted], ledger: [:])
    }
    #expect(stop.correct(report("x1", brought: 8, counted: 6)) == .outdated)
    _ = stop.confirm(Self.report())
    var applied = CommandResult(status: .applied)
    applied.seq = 7
    stop.updateOutcome(of: "c1", with: applied, next: "c2")
    let first = try #require(stop.report)
    #expect(first.entry == 7)
    let (brought, counted) = (first.brought["kiwi"] ?? 0, first.counted["kiwi"] ?? 0)
    // The same numbers are no correction.
    #expect(
      stop.correct(report("x1", brought: brought, counted: counted)) == .answered(first))
    guard
      case .send(let sent) = stop.correct(
        report("x1", brought: brought + 3, counted: counted + 1))
    else {
      Issue.record("the correction is not sent")
      return
    }
    #expect(stop.restock(of: sent) == Restock(add: ["kiwi": 4]))
    #expect(sent.ledger == first.ledger)
    // Without an answer only the same one is sent, also after it was stored.
    stop.updateOutcome(of: "x1", with: nil, next: "c3")
    #expect(stop.correct(report("x2", brought: 1, counted: 1)) == .send(sent))
    route["k1"] = stop
    stop = try #require(try Route(payload: route.payload)["k1"])
    #expect(stop.isUnanswered && stop.correction == sent)
    var rejected = stop
    rejected.updateOutcome(of: "x1", with: Self.rejected(.belowZero), next: "c3")
    #expect(rejected.report == first && !rejected.isUnanswered)
    // Another one may be sent then.
    #expect(rejected.correct(report("x2", brought: 9, counted: 9)) != .outdated)
    applied.seq = 9
    stop.updateOutcome(of: "x1", with: applied, next: "c3")
    #expect(stop.report?.brought == ["kiwi": brought + 3] && stop.correction == nil)
    // Another correction names the same entry.
    #expect(stop.report?.entry == 7)
    #expect(stop.report?.isDone == true && stop.report?.isCorrection == true)
    // Neither the same correction again, nor the stop itself, is sent.
    #expect(stop.correct(sent) == .answered(try #require(stop.report)))
    #expect(stop.confirm(Self.report()) == .outdated)
    route["k1"] = stop
    #expect(try Route(payload: route.payload) == route)
  }

  @Test func aSkippedKioskNeedsNoLoad() throws {
    var route = Self.route(
      [try Self.kiosk("k1", stock: 20, use: 2), try Self.kiosk("k2", stock: 30, use: 2)],
      try Self.plan(.capacity))
    (route.name, route.driver) = ("North", "Jun")
    let both = route.load.map(\.sum)
    var stop = try #require(route["k1"])
    stop.skip(true)
    route["k1"] = stop
    #expect(route.load.map(\.sum) != both && route.load.count == 1)
    let read = try Route(payload: route.payload)
    #expect(read.name == "North" && read.driver == "Jun" && read["k1"]?.isSkipped == true)
    // A stop that is confirmed after all was visited, and is not skipped.
    _ = stop.confirm(Self.report())
    #expect(!stop.isSkipped)
    stop.skip(true)
    #expect(!stop.isSkipped)
  }

  @Test(arguments: ["", "{}", #"{"id":"r1"}"#, "[]"])
  func whatIsNoRouteIsRefused(payload: String) {
    #expect(throws: JSONError.self) { try Route(payload: Array(payload.utf8)) }
  }

  /// `deploy/test --instructions` counts the instructions of this test.
  @Test func theLoadIsTheSumOfTwentyKiosks() throws {
    let kiosks = try (1...20).map { try Self.kiosk("k\($0)", stock: $0, use: 2, crate: 12) }
    let route = Self.route(kiosks, try Self.plan(margin: 20, .need))
    #expect(route.load.first?.sum == 502)
  }
}
