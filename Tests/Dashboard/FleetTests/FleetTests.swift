import Fleet
import JuiceDomain
import KioskProtocol
import Testing

@Suite struct FleetTests {
  var fleet = KioskFleet(root: "shop/kiosk")
  private let now = Timestamp(milliseconds: 1_795_251_600_000)

  @discardableResult
  private mutating func receive(
    _ topic: String, _ payload: String, isRetained: Bool = true
  ) -> KioskID? {
    fleet.receive(
      topic: "shop/kiosk/\(topic)", payload: Array(payload.utf8), isRetained: isRetained, at: now)
  }

  @Test mutating func aKioskIsFoundByWhatItSays() {
    #expect(receive("k1/status", "online") == "k1")
    #expect(receive("k1/service", "closed") == "k1")
    #expect(receive("k2/status", "offline") == "k2")
    #expect(fleet["k1"]?.isOnline == true)
    #expect(fleet["k1"]?.service == .closed)
    #expect(fleet["k2"]?.isOnline == false)
    #expect(fleet.kiosks.count == 2)
  }

  @Test(arguments: [
    ("k1", "online"), ("<b>/status", "online"), ("k1/status", "on fire"), ("k1/stock", "10"),
    ("k1/stock/kiwi", "10"), ("k1/alert/ki wi", "low"), ("k1/alert/kiwi", ""), ("k1/menu", "{}"),
    ("k1/events", "{}"),
    ("k1/machine/bar", "{}"), ("k1/machine/b ar", #"{"state":"idle","queue":0}"#),
    ("k1/machine/bar", ""), ("k1/machine/bar/status", "online"),
    ("/status", "online"), ("k1/sales", "[]"), ("k1/forecast", "1"), ("k1/health", "{}"),
    ("k1/info", "{}"), ("k1/info", #"{"name":{"en":"City hall"}}"#),
  ])
  mutating func whatCannotBeReadChangesNothing(topic: String, payload: String) {
    #expect(receive(topic, payload) == nil)
    #expect(fleet.kiosks.isEmpty)
  }

  @Test mutating func otherTopicsAreNotTheFleets() {
    #expect(
      fleet.receive(
        topic: "shop/kiosks/k1/status", payload: Array("online".utf8), isRetained: true, at: now)
        == nil)
    #expect(fleet.kiosks.isEmpty)
  }

  @Test mutating func aClearedStatusTakesAKioskAway() {
    receive("k1/status", "online")
    #expect(receive("k1/status", "") == "k1")
    #expect(fleet.kiosks.isEmpty)
    // The broker sends the kiosk's other retained messages again after a restart of the dashboard.
    receive("k1/stock", stock([:]))
    #expect(
      fleet.kiosks.isEmpty && fleet.survey(at: now).byUrgency().isEmpty
        && fleet.survey(at: now).count.kiosks == 0)
    receive("k1/status", "offline")
    #expect(fleet.survey(at: now).byUrgency() == ["k1"])
  }

  @Test mutating func whenItWentIsKnownOnlyIfSomebodyListened() {
    receive("k1/status", "offline")
    #expect(fleet["k1"]?.offlineSince == nil)
    receive("k1/status", "online", isRetained: false)
    receive("k1/status", "offline", isRetained: false)
    #expect(fleet["k1"]?.offlineSince == now)
    receive("k1/status", "online", isRetained: false)
    #expect(fleet["k1"]?.offlineSince == nil)
  }

  @Test mutating func theMostUrgentComesFirst() {
    let hour = Int64(3_600_000)
    func forecast(_ hours: Int64) -> String {
      let emptyAt = Timestamp(milliseconds: now.milliseconds + hours * hour)
      let report = ForecastReport(
        at: now, fruits: ["kiwi": .init(stock: 3, perHour: 1, emptyAt: emptyAt)])
      return String(decoding: report.payload, as: UTF8.self)
    }
    for kiosk in ["fine-later", "fine-soon", "low", "out", "gone"] {
      receive("\(kiosk)/status", kiosk == "gone" ? "offline" : "online")
    }
    receive("low/alert/kiwi", "low")
    receive("out/alert/kiwi", "out")
    receive("out/alert/mango", "low")
    receive("fine-later/forecast", forecast(20))
    receive("fine-soon/forecast", forecast(2))
    #expect(
      fleet.survey(at: now).byUrgency() == [
        "gone", "out", "low", "fine-soon", "fine-later",
      ])
    #expect(
      fleet.survey(at: now).byUrgency(matching: "FINE") == ["fine-soon", "fine-later"])
    #expect(fleet.survey(at: now).byUrgency(matching: "offline") == ["gone"])
    #expect(fleet.survey(at: now).byUrgency(matching: "mango") == ["out"])
    let count = fleet.survey(at: now).count
    // As many as the filter finds.
    #expect((count.kiosks, count.offline, count.out, count.low) == (5, 1, 1, 2))
    #expect(fleet.survey(at: now).byUrgency(matching: "low") == ["out", "low"])
  }

  /// Fruit that expires before it is used up ends then.
  @Test(arguments: [(7, 48, 5), (7, 3, 3), (6, 48, 48)] as [(Int, Int64, Int64)])
  mutating func theNextStockoutIsWhenNothingIsLeftToSell(dated: Int, used: Int64, ends: Int64) {
    func time(_ hours: Int64) -> Timestamp {
      Timestamp(milliseconds: now.milliseconds + hours * 3_600_000)
    }
    let outlook = ForecastReport.Outlook(
      stock: 7, perHour: 1, emptyAt: time(used),
      expires: [.init(at: time(2), amount: 1), .init(at: time(5), amount: dated - 1)])
    let report = ForecastReport(at: now, fruits: ["kiwi": outlook])
    receive("k1/forecast", String(decoding: report.payload, as: UTF8.self))
    #expect(fleet["k1"]?.nextStockout?.at == time(ends))
  }

  private func stock(_ amounts: FruitAmounts) -> String {
    var fruits = FruitAmounts(Menu.standard.fruits.map { ($0.id, 16) })
    for (fruit, amount) in amounts { fruits[fruit] = amount }
    return String(
      decoding: StockReport(seq: 1, at: now, fruits: fruits).payload, as: UTF8.self)
  }

  /// Publishes a kiosk with the built-in menu, which is online and low on nothing.
  private mutating func open(_ kiosk: String, _ amounts: FruitAmounts = [:]) {
    let menu = MenuReport(menu: .standard, capacities: [:], lowMarks: [:])
    receive("\(kiosk)/status", "online")
    receive("\(kiosk)/menu", String(decoding: menu.payload, as: UTF8.self))
    receive("\(kiosk)/stock", stock(amounts))
  }

  @Test mutating func fruitIsInTheOrderOfTheMenu() throws {
    open("k1")
    receive("k2/status", "online")
    let amounts: FruitAmounts = ["banana": 1, "fig": 2, "mango": 3, "strawberry": 4]
    let kiosk = try #require(fleet["k1"])
    #expect(
      kiosk.inMenuOrder(amounts).map(\.fruit) == ["strawberry", "banana", "mango", "fig"])
    #expect(kiosk.inMenuOrder(amounts).map(\.amount) == [4, 1, 3, 2])
    let unknown = try #require(fleet["k2"])
    #expect(
      unknown.inMenuOrder(amounts).map(\.fruit) == ["banana", "fig", "mango", "strawberry"])
  }

  @Test mutating func whatCannotBeSoldComesFirst() throws {
    open("all")
    open("low")
    receive("low/alert/kiwi", "low")
    open("closed")
    receive("closed/service", "closed")
    // Two of seven juices: ten strawberries are too few for one of them, no banana for two.
    open("short", ["strawberry": 10])
    open("shorter", ["banana": 0])
    open("bar", [:])
    receive("bar/machine/m", report(.idle).replacing("{", with: "{\"out\":[\"mango\"],"))
    #expect(
      fleet.survey(at: now).byUrgency() == [
        "shorter", "short", "bar", "closed", "low", "all",
      ])
    let count = fleet.survey(at: now).count
    #expect((count.out, count.closed, count.low, count.needingAttention) == (2, 1, 1, 1))
    func unsold(_ kiosk: KioskID) -> [Juice.ID: SaleObstacle] {
      Dictionary(uniqueKeysWithValues: (fleet[kiosk]?.unavailableJuices ?? []).map { ($0.id, $1) })
    }
    #expect(unsold("all") == [:])
    #expect(unsold("short") == ["strawberry": .fruit(["strawberry"])])
    #expect(
      unsold("shorter") == [
        "banana": .fruit(["banana"]), "strawberry_banana": .fruit(["banana"]),
      ])
    #expect(unsold("bar")["kiwi"] == nil)
    #expect(unsold("closed").count == 7 && unsold("closed")["kiwi"] == .closed)
    #expect(fleet.survey(at: now).byUrgency(matching: "out") == ["shorter", "short"])
    #expect(fleet.survey(at: now).byUrgency(matching: "strawberry juice") == ["short"])
    #expect(fleet["short"]?.shortFruits == ["strawberry"])
    #expect(fleet["short"]?.worst == .sellsLess)
    receive("short/stock", stock(["strawberry": 16]))
    #expect(fleet["short"]?.worst == nil)
  }

  /// Half of the juices of a kiosk that sells much are a larger loss than all of one that sells little.
  @Test mutating func theLargestLossComesFirst() {
    for (kiosk, glasses) in [("quiet", 10), ("busy", 100), ("new", 0), ("late", 500)] {
      open(kiosk)
      let today = CivilDate(year: 2026, month: 11, day: 21)
      var tally = SalesReport.Tally()
      tally.made = ["kiwi": glasses]
      let yesterday = CivilDate(daysSinceEpoch: today.daysSinceEpoch - 1)
      let report = SalesReport(
        at: now, timeZone: "Etc/UTC", today: today,
        days: glasses > 0 ? [SalesReport.Day(day: yesterday, tally: tally)] : [])
      receive("\(kiosk)/sales", String(decoding: report.payload, as: UTF8.self))
    }
    receive("late/health", health(ahead: 600))
    let nothing = FruitAmounts(Menu.standard.fruits.map { ($0.id, 0) })
    receive("quiet/stock", stock(nothing))
    receive("busy/stock", stock(["kiwi": 0, "mango": 0]))
    // Without sales of its own, it counts as the mean of the others.
    receive("new/stock", stock(nothing))
    #expect(fleet["quiet"]?.worst == .sellsNothing)
    // The tile counts those that sell nothing, too.
    #expect(fleet.survey(at: now).count.out == 3)
    #expect(fleet.survey(at: now).byUrgency() == ["new", "busy", "quiet", "late"])
    receive("new/status", "offline")
    #expect(fleet.survey(at: now).byUrgency().first == "new")
  }

  @Test(
    arguments: [
      ("offline", "오프라인", ["gone"]), ("closed", "영업 종료", ["closed"]), ("closed", "종료", ["closed"]),
      ("out", "품절", ["short", "broken"]), ("low", "부족", ["low"]), ("machine", "고장", ["broken"]),
      ("machine", "기계", ["broken"]), ("problem", "확인 필요", ["broken", "late"]),
      ("clock", "시계", ["late"]), ("kiwi juice", "키위쥬스", ["short", "broken"]),
      ("Bar", "bar", ["broken"]),
    ] as [(String, String, [KioskID])])
  mutating func aStateIsFoundInBothLanguages(english: String, korean: String, kiosks: [KioskID]) {
    for kiosk in ["gone", "closed", "short", "low", "broken", "late"] { open(kiosk) }
    // The problems of a kiosk that is offline are not known.
    receive("gone/status", "offline")
    receive("gone/service", "closed")
    receive("gone/alert/mango", "low")
    receive("gone/machine/Bar", report(.fault))
    receive("closed/service", "closed")
    receive("short/stock", stock(["kiwi": 0]))
    receive("low/alert/mango", "low")
    receive("broken/machine/Bar", report(.fault))
    receive("late/health", health(ahead: 600))
    #expect(fleet.survey(at: now).byUrgency(matching: english) == kiosks)
    #expect(fleet.survey(at: now).byUrgency(matching: korean, in: .korean) == kiosks)
  }

  @Test mutating func whyAJuiceCannotBeSoldWithMachines() {
    open("k1")
    receive("k1/machine/bar", report(.fault))
    #expect(fleet["k1"]?.unavailableJuices.map(\.obstacle) == [.machine])
    receive("k1/machine/bar", report(.idle).replacing("{", with: "{\"out\":[\"kiwi\"],"))
    #expect(fleet["k1"]?.unavailableJuices.map(\.obstacle) == [.machineOut(["kiwi"])])
    receive("k1/stock", stock(["kiwi": 2]))
    #expect(fleet["k1"]?.unavailableJuices.map(\.obstacle) == [.fruit(["kiwi"])])
  }

  @Test(
    arguments: [
      // The fruit of a juice that was given back is taken again; that of one that was poured returns.
      (.giveBack, ["kiwi": -6]), (.poured, ["kiwi": 6]), (.again, nil),
    ] as [(JobDecision.Choice, FruitAmounts?)])
  mutating func aDecisionIsUndoneInTheStock(choice: JobDecision.Choice, change: FruitAmounts?) {
    open("k1")
    let end = JobEnd(
      job: 3, machine: "bar", order: Order(juice: "kiwi", quantity: 2),
      ticket: Ticket(day: 0, number: 42))
    let outcome: LedgerEntry.Outcome =
      choice == .poured
      ? .made(end) : .returned(end, reason: "given_back", changes: ["kiwi": 6])
    for (seq, outcome) in [(8, .decided(choice, job: 3, used: [:])), (9, outcome)] {
      let entry = LedgerEntry(
        seq: seq, epoch: 1, at: now, source: Source(kind: .job, name: "minji"), id: "d1",
        outcome: outcome)
      receive("k1/events", String(decoding: entry.payload, as: UTF8.self), isRetained: false)
    }
    let undo = fleet["k1"]?.service(8).flatMap { fleet["k1"]?.undo(of: $0, at: now) }
    #expect(undo?.restock == change.map { Restock(add: $0) })
    let late = Timestamp(milliseconds: now.milliseconds + 600_000)
    #expect(fleet["k1"]?.service(8).flatMap { fleet["k1"]?.undo(of: $0, at: late) } == nil)
    // A clock of the kiosk that is ten minutes behind.
    let health = KioskHealth(
      at: time(-600_000), uptime: 0, counters: KioskHealth.Counters(), memory: nil, queue: 0,
      service: .open, low: 0, out: 0, ledger: nil)
    receive("k1/health", String(decoding: health.payload, as: UTF8.self), isRetained: false)
    let corrected = fleet["k1"]?.service(8).flatMap { fleet["k1"]?.undo(of: $0, at: late) }
    #expect(corrected?.restock == undo?.restock)
  }

  /// Fruit that is put back gets a new date from the kiosk.
  @Test mutating func fruitWithADateIsNotPutBackByAnUndo() throws {
    open("k1")
    for (seq, amount) in [(8, 5), (9, -5)] {
      var entry = LedgerEntry(
        seq: seq, epoch: 1, at: now, source: Source(kind: .restock, name: "minji"), id: nil,
        outcome: .restocked(changes: ["kiwi": amount]))
      entry.batches = [
        BatchChange(
          BatchID(fruit: "kiwi", number: 8), amount, expires: amount > 0 ? time(1_000) : nil)
      ]
      receive("k1/events", String(decoding: entry.payload, as: UTF8.self), isRetained: false)
    }
    let kiosk = try #require(fleet["k1"])
    let undone = [8, 9].map { seq in kiosk.service(seq).flatMap { kiosk.undo(of: $0, at: now) } }
    let undo = Restock(add: ["kiwi": -5], bestBefore: ["kiwi": time(1_000).milliseconds])
    #expect(undone.map { $0?.restock } == [undo, nil])
  }

  /// The clock of the kiosk may differ, so that an entry shows that the fruit has expired.
  @Test(arguments: [false, true])
  mutating func whatHasExpiredIsNotUndone(isRecorded: Bool) throws {
    open("k1")
    let id = BatchID(fruit: "kiwi", number: 8)
    let expires = time(isRecorded ? 1_000 : -1_000)
    let outcomes: [(Int, LedgerEntry.Outcome, BatchChange)] = [
      (8, .restocked(changes: ["kiwi": 5]), BatchChange(id, 5, expires: expires)),
      (9, .expired(changes: ["kiwi": -5]), BatchChange(id, -5)),
    ]
    for (seq, outcome, batch) in outcomes.prefix(isRecorded ? 2 : 1) {
      var entry = LedgerEntry(
        seq: seq, epoch: 1, at: now, source: nil, id: nil, outcome: outcome)
      entry.batches = [batch]
      receive("k1/events", String(decoding: entry.payload, as: UTF8.self), isRetained: false)
    }
    let kiosk = try #require(fleet["k1"])
    #expect(kiosk.service(8).flatMap { kiosk.undo(of: $0, at: now) } == nil)
  }

  private mutating func call(
    _ kiosk: String, _ english: String?, _ korean: String?, at place: String?
  ) {
    let name = english.map { LocalizedName(english: $0, korean: korean, fallback: $0) }
    let info = KioskInfo(version: "1", startedAt: now, name: name, place: place)
    receive("\(kiosk)/info", String(decoding: info.payload, as: UTF8.self))
  }

  @Test mutating func aKioskIsSortedAndFoundByNameAndPlace() {
    for kiosk in ["k1", "k2", "k3", "k4"] { receive("\(kiosk)/status", "online") }
    call("k1", "Town hall", "시청", at: "1 Main Street")
    call("k3", "Harbour", "항구", at: "Pier 7")
    #expect(fleet.survey(at: now).byUrgency() == ["k3", "k1", "k2", "k4"])
    #expect(fleet.survey(at: now).byUrgency(in: .korean) == ["k2", "k4", "k1", "k3"])
    #expect(fleet.survey(at: now).byUrgency(matching: "hArb") == ["k3"])
    #expect(fleet.survey(at: now).byUrgency(matching: "시청") == ["k1"])
    #expect(fleet.survey(at: now).byUrgency(matching: "main street") == ["k1"])
    #expect(fleet.survey(at: now).byUrgency(matching: "K2") == ["k2"])
    #expect(fleet["k1"]?.title(.korean) == "시청")
    #expect(fleet["k2"]?.title(.korean) == "k2")
    #expect(fleet["k3"]?.place == "Pier 7")
    // A kiosk whose name was removed from its configuration is shown by its id.
    call("k3", nil, nil, at: nil)
    #expect(fleet["k3"]?.title(.english) == "k3")
    #expect(fleet["k3"]?.place == nil)
  }

  @Test mutating func whatWasTakenTodayIsKnown() throws {
    let price = Money(units: 350, try #require(Currency("EUR")))
    var tally = SalesReport.Tally()
    tally.takings.add(price, for: "kiwi")
    let report = SalesReport(
      at: now, timeZone: "GMT", today: CivilDate(year: 2026, month: 11, day: 21),
      hours: [9, 10].map { SalesReport.Hour(hour: $0, tally: tally) })
    receive("k1/sales", String(decoding: report.payload, as: UTF8.self))
    #expect(fleet["k1"]?.takenToday.description == "7.00 EUR")
  }

  private func health(ahead: Int64, free: Int = 1_000_000_000, ledger: Int = 4096) -> String {
    let health = KioskHealth(
      at: Timestamp(milliseconds: now.milliseconds + ahead * 1_000), uptime: 0, counters: .init(),
      memory: nil, queue: 0, service: .open, low: 0, out: 0, ledger: ledger, diskFree: free)
    return String(decoding: health.payload, as: UTF8.self)
  }

  @Test(
    arguments: [
      (0, false, false), (60, false, false), (61, false, true), (-61, false, true),
      (61, true, true), (-3_600, true, false), (.max / 1_000, true, true),
    ] as [(Int64, Bool, Bool)])
  mutating func aClockThatIsWrongIsProblem(ahead: Int64, isRetained: Bool, isWrong: Bool) {
    receive("k1/status", "online")
    let health =
      ahead < 1_000_000
      ? health(ahead: ahead) : #"{"at":"9999-12-31T23:59:59Z"}"#
    #expect(receive("k1/health", health, isRetained: isRetained) == "k1")
    #expect(fleet["k1"]?.worst == (isWrong ? .soon : nil))
    #expect(fleet.survey(at: now).byUrgency(matching: "clock").count == (isWrong ? 1 : 0))
  }

  @Test mutating func aMenuOfTheChainThatCannotBeUsedIsAProblem() {
    receive("k1/status", "online")
    let info = #"{"version":"1","started_at":"2026-11-21T09:00:00Z""#
    receive("k1/info", info + #","menu_problem":"damaged"}"#)
    #expect(fleet["k1"]?.menuProblem == "damaged")
    #expect(fleet["k1"]?.worst == .decision)
    #expect(fleet.survey(at: now).byUrgency(matching: "menu").count == 1)
    receive("k1/info", info + "}")
    #expect(fleet["k1"]?.worst == nil)
  }

  @Test mutating func whatIsKeptDoesNotSetAClockRight() {
    receive("k1/status", "online")
    receive("k1/health", health(ahead: -300), isRetained: false)
    receive("k1/health", health(ahead: -300), isRetained: true)
    #expect(fleet["k1"]?.worst == .soon)
    receive("k1/health", health(ahead: 1), isRetained: false)
    #expect(fleet["k1"]?.worst == nil)
  }

  @Test(
    arguments: [
      (15_999_999, 4_096, .full), (16_000_000, 4_096, .low), (255_999_999, 4_096, .low),
      (256_000_000, 4_096, .enough), (300_000_000, 400_000_000, .low), (-1, 0, .full),
    ] as [(Int, Int, KioskHealth.Disk.FreeSpace)])
  mutating func aDiskThatFillsIsSeenInTime(free: Int, ledger: Int, room: KioskHealth.Disk.FreeSpace)
  {
    receive("k1/status", "online")
    receive("k1/health", health(ahead: 0, free: free, ledger: ledger))
    #expect(fleet["k1"]?.disk?.freeSpace == room)
    #expect(fleet["k1"]?.worst == (room == .full ? .soon : room == .low ? .note : nil))
    #expect(fleet.survey(at: now).byUrgency(matching: "disk").count == (room == .enough ? 0 : 1))
    // A report without a disk is not a problem.
    receive("k1/health", #"{"at":"2026-11-21T09:00:00Z"}"#)
    #expect(fleet["k1"]?.disk == nil && fleet["k1"]?.worst == nil)
  }

  /// Returns the report of a machine that makes kiwi juice.
  private func report(
    _ state: MachineReport.State, _ jobs: [(ticket: Int, state: JobState)] = [], ready: [Int] = []
  ) -> String {
    let report = MachineReport(
      state: state, reason: "no cups", queue: 0, juices: ["kiwi"],
      jobs: jobs.map {
        MachineReport.Job(
          job: 100 + $0.ticket, attempt: 100 + $0.ticket, ticket: $0.ticket, juice: "kiwi",
          quantity: 1, state: $0.state, at: now)
      }, ready: ready)
    return String(decoding: report.payload, as: UTF8.self)
  }

  @Test mutating func aMachineThatNeedsSomebodyComesBeforeAFruitThatIsOut() {
    for kiosk in ["out", "broken", "asking", "fine", "away"] {
      receive("\(kiosk)/status", kiosk == "away" ? "offline" : "online")
    }
    receive("out/alert/kiwi", "out")
    #expect(receive("broken/machine/bar", report(.fault)) == "broken")
    receive("asking/machine/bar", report(.idle, [(7, .needsDecision), (8, .queued)]))
    receive("fine/machine/bar", report(.busy, [(1, .started)]))
    #expect(
      fleet.survey(at: now).byUrgency() == ["away", "asking", "broken", "out", "fine"])
    #expect(fleet.survey(at: now).byUrgency(matching: "machine") == ["asking", "broken"])
    #expect(fleet.survey(at: now).byUrgency(matching: "BAR") == ["asking", "broken"])
    #expect(
      (fleet.survey(at: now).count.needingAttention, fleet.survey(at: now).count.withMachines) == (
        2, 3
      ))
    #expect(fleet["asking"]?.undecidedJobs.map(\.job.ticket) == [7])
    #expect(fleet["broken"]?.machines["bar"]?.reason == "no cups")
    // A machine that was removed from the configuration is deleted.
    #expect(receive("broken/machine/bar", "") == "broken")
    #expect(fleet["broken"]?.worst == nil)
  }

  /// A program that waits for a person stops the machine, which still takes orders.
  @Test mutating func aMachineThatWaitsForSomebodyComesBeforeAFruitThatIsLow() {
    for kiosk in ["fine", "low", "waiting"] { open(kiosk) }
    receive("low/alert/kiwi", "low")
    receive("waiting/machine/bar", report(.waiting))
    #expect(fleet.survey(at: now).byUrgency() == ["waiting", "low", "fine"])
    #expect(
      fleet["waiting"]?.worst == .decision && fleet.survey(at: now).count.needingAttention == 1)
  }

  @Test mutating func aPaymentDeviceThatWasRemovedDiffersNoMore() {
    receive("k1/payment/till", String(decoding: PaymentReport(state: .idle).payload, as: UTF8.self))
    let total = PaymentTotal(
      total: 1, at: now, captured: Money(units: 350, .euro), refunded: Money(units: 0, .euro),
      count: 1)
    let entry = LedgerEntry(
      seq: 1, epoch: 1, at: now, source: nil, id: nil,
      outcome: .total(total, device: "till", difference: -50))
    let history = String(decoding: HistoryReport(entries: [entry]).payload, as: UTF8.self)
    receive("k1/history", history)
    #expect(fleet["k1"]?.dayDifferences.map(\.units) == [-50])
    receive("k1/payment/till", "")
    #expect(fleet["k1"]?.dayDifferences.isEmpty == true)
    receive("k1/history", history)
    #expect(fleet["k1"]?.worst == nil)
  }

  @Test mutating func aJuiceNeedsOneMachineThatWorks() {
    receive("k1/machine/bar", report(.offline))
    #expect(fleet["k1"]?.reports.isMakeable("kiwi") == false)
    #expect(fleet["k1"]?.reports.isMakeable("mango") == true)
    receive("k1/machine/other", report(.busy))
    #expect(fleet["k1"]?.reports.isMakeable("kiwi") == true)
  }

  @Test mutating func whatIsReadyIsReportedOnceTheLatestFirst() {
    receive("k1/machine/bar", report(.idle, ready: [42, 39]))
    receive("k1/machine/other", report(.idle, ready: [40]))
    let end = JobEnd(
      job: 3, machine: "bar", order: Order(juice: "kiwi"), ticket: Ticket(day: 0, number: 42))
    for (seq, outcome) in [
      (9, LedgerEntry.Outcome.made(end)),
      (10, .ready(Order(juice: "mango"), used: [:], ticket: Ticket(day: 0, number: 43))),
      (11, .failed(end, reason: "jam", changes: [:])),
    ] {
      let entry = LedgerEntry(seq: seq, epoch: 0, at: now, source: nil, id: nil, outcome: outcome)
      receive("k1/events", String(decoding: entry.payload, as: UTF8.self), isRetained: false)
    }
    let ended = fleet["k1"]?.endedOrders(at: now) { _ in true } ?? []
    #expect(ended.map(\.ticket) == [42, 43, 42])
    #expect(ended.map(\.machine) == ["bar", nil, "bar"])
    #expect(ended.map(\.end) == [.notMade(money: nil), .ready, .ready])
    // Screens show an order for ten minutes, and not after midnight.
    let later = Timestamp(milliseconds: now.milliseconds + 601_000)
    #expect(fleet["k1"]?.endedOrders(at: later) { _ in true } == [])
    #expect(fleet["k1"]?.endedOrders(at: now) { _ in false } == [])
  }

  /// A busy kiosk has many steps of charges within the ten minutes of a box on the wall.
  @Test mutating func aFailedOrderKeepsTheTextAboutItsMoney() throws {
    func add(_ seq: Int, _ outcome: LedgerEntry.Outcome, at time: Int) {
      let entry = LedgerEntry(
        seq: seq, epoch: 1, at: self.time(time), source: nil, id: nil, outcome: outcome,
        amount: Money(units: 350, .euro))
      receive("k1/events", String(decoding: entry.payload, as: UTF8.self), isRetained: false)
    }
    func pay(_ kind: PaymentStep.Kind, of job: Int, _ seq: Int, at time: Int) {
      let step = PaymentStep(
        kind, charge: job, device: "till", job: job, order: nil, ticket: nil)
      add(seq, .payment(step), at: time)
    }
    let end = JobEnd(
      job: 3, machine: "bar", order: Order(juice: "kiwi"), ticket: Ticket(day: 0, number: 42))
    add(4, .failed(end, reason: "jam", changes: [:]), at: 0)
    pay(.released, of: 3, 5, at: 0)
    for number in 1...29 {
      pay(.held, of: 10 * number, 10 * number, at: number)
      pay(.captured, of: 10 * number, 10 * number + 1, at: number)
    }
    let kiosk = try #require(fleet["k1"])
    let failed = try #require(kiosk.orders.first)
    #expect(kiosk.moneyEnd(of: failed) == .released)
    // Older steps are removed, but for the latest ones.
    pay(.held, of: 900, 900, at: 601_000)
    #expect(fleet["k1"]?.chargeSteps.count == Recent.limit)
  }

  @Test mutating func thereIsAnEndToWhatIsKeptOfMachines() {
    for number in 0..<KioskReports.maximumMachines {
      receive("k1/machine/m\(number)", report(.idle))
    }
    #expect(receive("k1/machine/one-more", report(.idle)) == nil)
    #expect(receive("k1/machine/m1", report(.busy)) == "k1")
    let jobs = (1...100).map { (ticket: $0, state: JobState.queued) }
    let long = report(.fault, jobs, ready: Array(1...100))
      .replacing("no cups", with: String(repeating: "é", count: 1_000))
    receive("k1/machine/m1", long)
    let kept = fleet["k1"]?.machines["m1"]
    #expect(kept?.jobs.count == MachineReport.limit)
    #expect(kept?.ready.count == MachineReport.maximumReadyTickets)
    #expect(kept?.reason?.unicodeScalars.count == 64)
  }

  private func time(_ milliseconds: Int) -> Timestamp {
    Timestamp(milliseconds: now.milliseconds + Int64(milliseconds))
  }

  private func order(_ seq: Int, epoch: Int = 1, at time: Timestamp? = nil) -> String {
    let entry = LedgerEntry(
      seq: seq, epoch: epoch, at: time ?? self.time(seq), source: Source(kind: .order, name: "p"),
      id: nil,
      outcome: .ready(
        Order(juice: "kiwi"), used: ["kiwi": 3], ticket: Ticket(day: 0, number: seq)))
    return String(decoding: entry.payload, as: UTF8.self)
  }

  @Test mutating func eventsCountOnceAndTheOldestAreForgotten() throws {
    for seq in 1...40 { #expect(receive("k1/events", order(seq), isRetained: false) == "k1") }
    #expect(receive("k1/events", order(40), isRetained: false) == nil)
    let orders = try #require(fleet["k1"]?.orders)
    #expect(orders.count == Recent.limit)
    #expect(orders.map(\.seq) == Array((11...40).reversed()))
  }

  /// A restored ledger goes on with a lower number, and a clock may be set back.
  @Test(arguments: [(2, 5, 41), (1, 41, -3_600_000)])
  mutating func theLatestOrderComesFirst(epoch: Int, seq: Int, milliseconds: Int) throws {
    for seq in 1...40 { receive("k1/events", order(seq), isRetained: false) }
    let latest = order(seq, epoch: epoch, at: time(milliseconds))
    #expect(receive("k1/events", latest, isRetained: false) == "k1")
    let first = try #require(fleet["k1"]?.orders.first)
    #expect((first.epoch, first.seq) == (epoch, seq))
    #expect(receive("k1/events", order(10), isRetained: false) == nil)
  }

  @Test mutating func whatTheRestoredLedgerDoesNotHaveIsNotUndone() throws {
    let entries = [(4, 1), (6, 1), (5, 2)].enumerated().map { number, entry in
      LedgerEntry(
        seq: entry.0, epoch: entry.1, at: time(number),
        source: Source(kind: .restock, name: "minji"), id: nil,
        outcome: .restocked(changes: ["kiwi": 5]))
    }
    for entry in entries {
      receive("k1/events", String(decoding: entry.payload, as: UTF8.self), isRetained: false)
    }
    let kiosk = try #require(fleet["k1"])
    #expect(entries.map { kiosk.undo(of: $0, at: now) != nil } == [true, false, true])
  }

  /// A machine was removed while the dashboard was not connected.
  @Test mutating func whatWasClearedDuringAnOutageIsRemoved() {
    open("k1")
    for machine in ["bar", "pump"] { receive("k1/machine/\(machine)", report(.fault)) }
    receive("k1/alert/kiwi", "low")
    fleet.disconnected()
    receive("k1/status", "online")
    receive("k1/machine/bar", report(.fault))
    for (milliseconds, machines) in [(9_999, 2), (10_000, 1)] {
      fleet.receive(
        topic: "shop/kiosk/k1/service", payload: Array("open".utf8), isRetained: false,
        at: time(milliseconds))
      #expect(fleet["k1"]?.machines.count == machines)
    }
    #expect(fleet["k1"]?.machines["bar"] != nil && fleet["k1"]?.alerts.isEmpty == true)
    #expect(fleet["k1"]?.isOnline == true)
  }

  @Test mutating func soldTodayIsWhatTheHoursAddUpTo() {
    var tally = SalesReport.Tally()
    tally.made = ["kiwi": 3, "mango": 2]
    let report = SalesReport(
      at: now, timeZone: "Asia/Seoul", today: CivilDate(year: 2026, month: 11, day: 21),
      hours: [.init(hour: 9, tally: tally), .init(hour: 10, tally: tally)], usual: 8)
    receive("k1/sales", String(decoding: report.payload, as: UTF8.self))
    #expect(fleet["k1"]?.soldToday == 10 && fleet["k1"]?.sold(on: report.today) == 10)
    // What an offline kiosk has sold on an earlier day is not sold today.
    #expect(fleet["k1"]?.sold(on: CivilDate(year: 2026, month: 11, day: 22)) == nil)
    #expect(fleet["k1"]?.usuallySold == 8)
    #expect(fleet["k1"]?.sales == report)
  }

  @Test mutating func thereIsAnEndToWhatIsKept() {
    for number in 0..<KioskFleet.maximumKiosks { receive("k\(number)/status", "online") }
    #expect(receive("one-more/status", "online") == nil)
    #expect(receive("k1/status", "offline") == "k1")
    let long = String(repeating: "x", count: KioskFleet.maximumPayload + 1)
    #expect(receive("k1/service", long) == nil)
  }
}

extension KioskState {
  /// The severity of the most severe problem.
  var worst: Problem.Severity? {
    reports.problems(at: Timestamp(milliseconds: 1_795_251_600_000)).first?.severity
  }
}
