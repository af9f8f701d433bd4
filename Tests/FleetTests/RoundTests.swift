import Fleet
import JuiceDomain
import KioskMessages
import Testing

@Suite struct RoundTests {
  private static let now = Timestamp(milliseconds: 1_795_251_600_000)
  private static let hour = Int64(3_600_000)

  private static func after(_ hours: Int64) -> Timestamp {
    Timestamp(milliseconds: now.milliseconds + hours * hour)
  }

  private static func plan(
    in hours: Int64 = 24, until end: Int64 = 96, margin: Int = 0, _ fill: RoundPlan.Fill = .need
  ) throws -> RoundPlan {
    try #require(
      RoundPlan(arrival: after(hours), end: after(end), margin: margin, fill: fill))
  }

  /// With one fruit, of which so much is used in each six hours.
  private static func kiosk(
    _ id: String = "k1", stock: Int, capacity: Int? = 100, use: Double?, crate: Int? = nil,
    status: String = "online", alert: String = "ok", stockAt: Timestamp = now
  ) throws -> KioskState {
    var fleet = KioskFleet(root: "kiosk")
    func tell(_ topic: String, _ payload: [UInt8]) {
      fleet.receive(topic: "kiosk/\(id)/\(topic)", payload: payload, isRetained: true, at: now)
    }
    let name = LocalizedName(english: "Kiwi", fallback: "kiwi")
    let menu = try Menu(
      fruits: [Fruit(id: "kiwi", name: name, crate: crate)],
      juices: [Juice(id: "kiwi", name: name, recipe: Recipe(["kiwi": 1]))])
    let capacities = capacity.map { ["kiwi": $0] as FruitAmounts } ?? [:]
    tell("status", Array(status.utf8))
    tell("menu", MenuReport(menu: menu, capacities: capacities, lowMarks: [:]).payload)
    tell("stock", StockReport(seq: 1, at: stockAt, fruits: ["kiwi": stock]).payload)
    tell("alert/kiwi", Array(alert.utf8))
    if let use {
      let outlook = ForecastReport.Outlook(
        stock: stock, perHour: use / 6, use: Array(repeating: use, count: 28))
      tell("forecast", ForecastReport(at: stockAt, fruits: ["kiwi": outlook]).payload)
    }
    return try #require(fleet.kiosks.values.first)
  }

  struct Case: Sendable {
    var stock: Int
    var capacity: Int? = 100
    /// In six hours.
    var use: Double?
    var margin = 0
    var fill = RoundPlan.Fill.need
    var expected: Int
    var bring: Int
    var isShort: Bool
  }

  /// A round in 24 hours, which is to last for another 72.
  @Test(arguments: [
    Case(stock: 50, use: 2, expected: 42, bring: 0, isShort: false),
    Case(stock: 32, use: 2, expected: 24, bring: 0, isShort: true),
    Case(stock: 33, use: 2, expected: 25, bring: 0, isShort: false),
    Case(stock: 20, use: 2, expected: 12, bring: 12, isShort: true),
    // The margin is on what is used, not on what is there.
    Case(stock: 20, use: 2, margin: 50, expected: 12, bring: 24, isShort: true),
    Case(stock: 0, use: 5 / 3, margin: 10, expected: 0, bring: 22, isShort: true),
    Case(stock: 33, use: 2, margin: 5, expected: 25, bring: 1, isShort: true),
    // Dry before anybody comes: less than nothing is not there.
    Case(stock: 3, use: 2, expected: 0, bring: 24, isShort: true),
    // No more than there is room for.
    Case(stock: 20, capacity: 30, use: 10, expected: 0, bring: 30, isShort: true),
    Case(stock: 28, capacity: 30, use: 2, expected: 20, bring: 4, isShort: true),
    Case(stock: 28, capacity: 22, use: 2, margin: 200, expected: 20, bring: 2, isShort: true),
    Case(stock: 50, capacity: 30, use: 2, margin: 200, expected: 42, bring: 0, isShort: true),
    Case(stock: 20, use: 2, fill: .capacity, expected: 12, bring: 88, isShort: true),
    Case(stock: 90, use: 0, fill: .capacity, expected: 90, bring: 10, isShort: false),
    Case(stock: 0, use: 0, expected: 0, bring: 0, isShort: true),
    // Where nobody knows the room.
    Case(stock: 20, capacity: nil, use: 20, expected: 0, bring: 240, isShort: true),
    Case(stock: 20, capacity: nil, use: 2, fill: .capacity, expected: 12, bring: 12, isShort: true),
    // Where nobody knows the use.
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

  @Test func whatNobodyHasToldHasNoSheet() throws {
    var fleet = KioskFleet(root: "kiosk")
    fleet.receive(
      topic: "kiosk/k1/status", payload: Array("online".utf8), isRetained: true, at: Self.now)
    #expect(try Self.plan().lines(for: #require(fleet["k1"]), at: Self.now) == nil)
  }

  @Test(arguments: [(24, 24, 0), (24, 23, 0), (24, 48, -1), (24, 48, 201)])
  func whatIsNoPlan(arrival: Int64, end: Int64, margin: Int) {
    #expect(
      RoundPlan(
        arrival: Self.after(arrival), end: Self.after(end), margin: margin, fill: .need) == nil)
  }

  private static func round(_ kiosks: [KioskState], _ plan: RoundPlan) -> Round {
    let sheets = kiosks.compactMap { kiosk in
      plan.lines(for: kiosk, at: now).map { lines in
        Round.Sheet(
          kiosk: kiosk.id, name: kiosk.name, place: kiosk.place, wasOnline: kiosk.isOnline,
          lines: lines, command: "c1")
      }
    }
    return Round(
      id: "r1", madeAt: now, madeBy: "minji", plan: plan, timeZone: "Asia/Seoul", sheets: sheets)
  }

  @Test(arguments: [(nil, 37, nil, 37), (12, 37, 4, 48), (37, 37, 1, 37), (1, 37, 37, 37)])
  func theLoadIsInWholeCrates(crate: Int?, sum: Int, crates: Int?, amount: Int) throws {
    let kiosks = [
      // One whose menu says nothing of crates.
      try Self.kiosk("k1", stock: 87, use: 0),
      try Self.kiosk("k2", stock: 76, use: 0, crate: crate),
    ]
    let load = Self.round(kiosks, try Self.plan(.capacity)).load
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
    let load = Self.round(kiosks, try Self.plan(.capacity)).load.first
    #expect(load?.crates == 3)
    #expect(load?.amount == 36)
  }

  // MARK: On the spot

  private static func visit(
    _ command: Request.ID = "c1", user: String = "minji", brought: FruitAmounts = ["kiwi": 5],
    counted: FruitAmounts = ["kiwi": 18], ledger: FruitAmounts = ["kiwi": 20]
  ) -> Round.Visit {
    Round.Visit(
      command: command, user: user, at: now, brought: brought, counted: counted, ledger: ledger)
  }

  private static func sheet() throws -> Round.Sheet {
    try #require(round([kiosk(stock: 20, use: 2)], plan()).sheets.first)
  }

  private static func rejected(_ reason: RejectionReason) -> CommandResult {
    var result = CommandResult(status: .rejected)
    result.reason = reason
    result.stock = ["kiwi": 19]
    return result
  }

  @Test func aSheetIsSentOnceUnderAnId() throws {
    var sheet = try Self.sheet()
    let first = Self.visit()
    #expect(sheet.confirm(first) == .send(first))
    // Nobody knows what has become of it: the same again, whoever sends it and with whatever numbers.
    let other = Self.visit(user: "suho", brought: ["kiwi": 7])
    #expect(sheet.confirm(other) == .send(first))
    sheet.settle("c1", nil, next: "c2")
    #expect(sheet.visit?.outcome == .unknown)
    #expect(sheet.command == "c1")
    sheet.settle("c1", CommandResult(status: .applied), next: "c2")
    var done = first
    done.outcome = .applied
    #expect(sheet.confirm(other) == .answered(done))
    // A late answer changes nothing any more.
    sheet.settle("c1", Self.rejected(.conflict), next: "c3")
    #expect(sheet.visit == done)
    #expect(sheet.confirm(Self.visit("c2")) == .outdated)
  }

  @Test func afterAConflictAnotherIdIsSent() throws {
    var sheet = try Self.sheet()
    _ = sheet.confirm(Self.visit())
    sheet.settle("c1", Self.rejected(.conflict), next: "c2")
    #expect(
      sheet.visit?.outcome == .rejected(.conflict, detail: "", stock: ["kiwi": 19]))
    // The first copy that comes late changes nothing.
    guard case .answered = sheet.confirm(Self.visit()) else {
      Issue.record("sent a second time")
      return
    }
    let second = Self.visit("c2", ledger: ["kiwi": 19])
    #expect(sheet.confirm(second) == .send(second))
    #expect(sheet.confirm(Self.visit("c1")) == .outdated)
  }

  @Test func whoWasTooQuickMaySendTheSameAgain() throws {
    var sheet = try Self.sheet()
    _ = sheet.confirm(Self.visit())
    sheet.settle("c1", Self.rejected(.rateLimited), next: "c2")
    #expect(sheet.visit?.outcome == .unknown)
    #expect(sheet.command == "c1")
  }

  @Test(arguments: [("minji", "c1", true), ("suho", "c1", false), ("minji", "c9", false)])
  func theHistoryOfTheKioskSettlesWhatNobodyHasHeard(
    user: String, command: String, isDone: Bool
  ) throws {
    var sheet = try Self.sheet()
    _ = sheet.confirm(Self.visit())
    let entry = LedgerEntry(
      seq: 7, epoch: 0, at: Self.now, source: Source(kind: .restock, name: user),
      id: Request.ID(command), outcome: .restocked(changes: ["kiwi": 3]))
    var fleet = KioskFleet(root: "kiosk")
    fleet.receive(
      topic: "kiosk/k1/history", payload: HistoryReport(entries: [entry]).payload,
      isRetained: true, at: Self.now)
    #expect(sheet.settle(by: try #require(fleet["k1"])) == isDone)
    #expect(sheet.visit?.isDone == isDone)
  }

  @Test func whatIsMissingIsTheLedgersLessWhatWasCounted() throws {
    var first = Self.round([try Self.kiosk("k1", stock: 20, use: 2)], try Self.plan())
    var second = first
    func done(_ round: inout Round, _ visit: Round.Visit) throws {
      var sheet = try #require(round["k1"])
      _ = sheet.confirm(visit)
      sheet.settle("c1", CommandResult(status: .applied), next: "c2")
      round["k1"] = sheet
    }
    try done(&first, Self.visit())
    try done(&second, Self.visit(brought: ["kiwi": 2], counted: ["kiwi": 21]))
    let open = Self.round([try Self.kiosk("k2", stock: 20, use: 2)], try Self.plan())
    let differences = RoundDifferences(of: [first, second, open])
    let kiwi = try #require(differences.kiosks["k1"]?["kiwi"])
    #expect((kiwi.counts, kiwi.missing) == (2, 1))
    #expect((kiwi.planned, kiwi.brought) == (24, 7))
    #expect(differences.fruits["kiwi"] == kiwi)
    #expect(differences.kiosks["k2"] == nil)
  }

  @Test func aRoundIsReadAsItWasWritten() throws {
    var round = Self.round(
      [
        try Self.kiosk("k1", stock: 20, use: 2, crate: 12),
        try Self.kiosk("k2", stock: 0, use: nil),
      ],
      try Self.plan(margin: 7, .capacity))
    var sheet = try #require(round["k1"])
    _ = sheet.confirm(Self.visit())
    for (result, next) in [
      (nil, "c1"), (Self.rejected(.conflict), "c2"), (CommandResult(status: .applied), "c3"),
    ] as [(CommandResult?, Request.ID)] {
      if sheet.visit?.outcome != .unknown { _ = sheet.confirm(Self.visit("c2")) }
      sheet.settle(sheet.command, result, next: next)
      round["k1"] = sheet
      let read = try Round(payload: round.payload)
      #expect(read.payload == round.payload)
      #expect(read.plan == round.plan)
      #expect(read.sheets.map(\.visit) == round.sheets.map(\.visit))
      #expect(read["k1"]?.line(of: "kiwi")?.fruit.crate == 12)
    }
    #expect(round["k1"]?.visit?.isDone == true)
  }

  @Test(arguments: ["", "{}", #"{"id":"r1"}"#, "[]"])
  func whatIsNoRoundIsRefused(payload: String) {
    #expect(throws: JSONError.self) { try Round(payload: Array(payload.utf8)) }
  }

  /// `deploy/test --instructions` counts what it costs.
  @Test func theLoadIsTheSumOfTwentyKiosks() throws {
    let kiosks = try (1...20).map { try Self.kiosk("k\($0)", stock: $0, use: 2, crate: 12) }
    let round = Self.round(kiosks, try Self.plan(margin: 20, .need))
    #expect(round.load.first?.sum == 502)
  }
}
