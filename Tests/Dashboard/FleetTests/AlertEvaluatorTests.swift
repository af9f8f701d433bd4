import Fleet
import JuiceDomain
import KioskProtocol
import Testing

@Suite struct AlertEvaluatorTests {
  private var fleet = KioskFleet(root: "kiosk")
  private var evaluator = AlertEvaluator(AlertEvaluator.Rules())
  private var isConnected = true
  private let start = ContinuousClock.now
  private let epoch = Timestamp(milliseconds: 1_795_251_600_000)
  private var seconds = 0

  private mutating func receive(_ topic: String, _ payload: String) {
    fleet.receive(
      topic: "kiosk/\(topic)", payload: Array(payload.utf8), isRetained: true, at: epoch)
  }

  private func time(_ seconds: Int) -> Timestamp {
    Timestamp(milliseconds: epoch.milliseconds + Int64(seconds) * 1000)
  }

  /// Returns the transitions notified until the given second, evaluated once per second. `10
  /// +offline k1` means: at second 10, the alert began.
  private mutating func notifications(until end: Int) -> [String] {
    var notified: [String] = []
    while seconds < end {
      let transitions = evaluator.evaluate(
        fleet, isConnected: isConnected, at: start + .seconds(seconds), now: time(seconds))
      notified += transitions.map { "\(seconds) \($0.isResolved ? "-" : "+")\($0.alert.summary)" }
      seconds += 1
    }
    return notified
  }

  /// Runs one minute without an alert.
  private mutating func runQuietPeriod() {
    receive("k1/status", "online")
    #expect(notifications(until: 100).isEmpty)
  }

  private func machine(_ state: MachineReport.State, asking tickets: [Int] = []) -> String {
    let jobs = tickets.map {
      MachineReport.Job(
        job: $0 + 1000, attempt: $0 + 1000, ticket: $0, juice: "kiwi", quantity: 1,
        state: .needsDecision, at: epoch)
    }
    let report = MachineReport(state: state, queue: 0, jobs: jobs, ready: [])
    return String(decoding: report.payload, as: UTF8.self)
  }

  @Test mutating func aKioskThatStaysAwayIsReportedOnceAndOnceThatItIsBack() {
    runQuietPeriod()
    receive("k1/status", "offline")
    // Five minutes, plus ten seconds in which further alerts are collected.
    #expect(notifications(until: 5000) == ["410 +offline k1"])
    receive("k1/status", "online")
    #expect(notifications(until: 9000) == ["5070 -offline k1"])
    #expect(evaluator.notified.isEmpty)
  }

  @Test mutating func aKioskThatIsAwayForAMomentIsNotReported() {
    runQuietPeriod()
    for second in stride(from: 100, to: 3000, by: 290) {
      receive("k1/status", "offline")
      #expect(notifications(until: second + 289).isEmpty)
      receive("k1/status", "online")
      #expect(notifications(until: second + 290).isEmpty)
    }
  }

  @Test mutating func oneThatIsBackForAMomentIsNotOver() {
    runQuietPeriod()
    receive("k1/status", "offline")
    #expect(notifications(until: 500) == ["410 +offline k1"])
    for second in stride(from: 500, to: 2000, by: 60) {
      receive("k1/status", "online")
      #expect(notifications(until: second + 59).isEmpty)
      receive("k1/status", "offline")
      #expect(notifications(until: second + 60).isEmpty)
    }
  }

  @Test mutating func itSaysSinceWhen() {
    runQuietPeriod()
    receive("k1/alert/kiwi", "out")
    _ = notifications(until: 110)
    let transitions = evaluator.evaluate(
      fleet, isConnected: true, at: start + .seconds(110), now: time(110))
    #expect(transitions == [.init(.problem(.out("kiwi"), at: "k1"), since: time(100))])
    #expect(evaluator.notified == [.problem(.out("kiwi"), at: "k1"): time(100)])
  }

  /// An alert of the start may have begun long before, and a kiosk may have been offline.
  @Test mutating func anAlertThatWasThereBeforeMayHaveBegunEarlier() throws {
    receive("k1/status", "offline")
    receive("k2/status", "online")
    receive("k2/alert/kiwi", "out")
    var transitions: [AlertEvaluator.Transition] = []
    for second in 0..<500 {
      transitions += evaluator.evaluate(
        fleet, isConnected: true, at: start + .seconds(second), now: time(second))
    }
    #expect(
      transitions == [
        .init(.problem(.out("kiwi"), at: "k2"), since: time(0), isEarlier: true),
        .init(.problem(.offline, at: "k1"), since: time(0), isEarlier: true),
      ])
    // Also a dashboard that is started again says so of the end.
    let json = try JSON.parse(JSONWriter.object { evaluator.write(to: &$0) })
    evaluator = AlertEvaluator(
      AlertEvaluator.Rules(), notified: AlertEvaluator.notified(in: json),
      earlier: AlertEvaluator.earlier(in: json))
    receive("k2/alert/kiwi", "ok")
    transitions = []
    for second in 500..<1000 {
      transitions += evaluator.evaluate(
        fleet, isConnected: true, at: start + .seconds(second), now: time(second))
    }
    #expect(
      transitions == [
        .init(.problem(.out("kiwi"), at: "k2"), isResolved: true, since: time(0), isEarlier: true)
      ])
    #expect(evaluator.earlier == [.problem(.offline, at: "k1")])
  }

  /// The alerts of quiet hours are followed, and sent afterwards with the time at which they began.
  @Test mutating func inQuietHoursNothingIsNotified() {
    runQuietPeriod()
    for second in 100..<1000 {
      if second == 200 { receive("k1/alert/kiwi", "out") }
      if second == 300 { receive("k1/alert/mango", "out") }
      if second == 400 { receive("k1/alert/mango", "ok") }
      let transitions = evaluator.evaluate(
        fleet, isConnected: true, at: start + .seconds(second), now: time(second), isQuiet: true)
      #expect(transitions.isEmpty)
    }
    seconds = 1000
    #expect(notifications(until: 1020) == ["1010 +out k1 kiwi"])
    #expect(evaluator.notified == [.problem(.out("kiwi"), at: "k1"): time(200)])
  }

  /// A user has chosen messages hours after the beginning.
  @Test mutating func aKioskIsOfflineSinceTheDashboardKnowsIt() {
    receive("k1/status", "online")
    fleet.receive(
      topic: "kiosk/k1/status", payload: Array("offline".utf8), isRetained: false,
      at: time(-7200))
    #expect(notifications(until: 320) == ["310 +offline k1"])
    #expect(evaluator.notified == [.problem(.offline, at: "k1"): time(-7200)])
  }

  @Test mutating func aFruitThatIsOutIsReportedAtOnce() {
    runQuietPeriod()
    receive("k1/alert/kiwi", "low")
    receive("k1/alert/mango", "out")
    #expect(notifications(until: 200) == ["110 +out k1 mango"])
    receive("k1/alert/mango", "low")
    #expect(notifications(until: 400) == ["270 -out k1 mango"])
  }

  /// Twelve hours before, and again when it has expired, until it is taken out.
  @Test mutating func fruitThatExpiresIsReportedBeforeAndAtItsTime() {
    runQuietPeriod()
    func stock(_ report: (expires: [Fruit.ID: Timestamp], expired: FruitAmounts)) -> String {
      let report = StockReport(
        seq: 1, at: epoch, fruits: ["kiwi": 7], expires: report.expires, expired: report.expired)
      return String(decoding: report.payload, as: UTF8.self)
    }
    receive("k1/stock", stock((["kiwi": time(12 * 3600 + 200)], [:])))
    #expect(notifications(until: 500) == ["210 +expires k1 kiwi"])
    receive("k1/stock", stock(([:], ["kiwi": 7])))
    #expect(notifications(until: 1000) == ["510 +expired k1 kiwi", "570 -expires k1 kiwi"])
    receive("k1/stock", stock(([:], [:])))
    #expect(notifications(until: 1500) == ["1070 -expired k1 kiwi"])
  }

  /// A device that says why is reported at once, one that is away after five minutes.
  @Test mutating func aPaymentDeviceThatTakesNoChargesIsReported() {
    runQuietPeriod()
    receive("k1/payment/till", #"{"state":"off","reason":"no paper","charges":[]}"#)
    receive("k1/payment/bar", #"{"state":"off","charges":[]}"#)
    #expect(notifications(until: 500) == ["110 +payment k1 till", "410 +payment k1 bar"])
    receive("k1/payment/till", #"{"state":"waiting","charges":[]}"#)
    #expect(notifications(until: 1000) == ["570 -payment k1 till"])
  }

  @Test mutating func aChargeForAPersonIsReported() {
    runQuietPeriod()
    let charge = PaymentReport.Charge(
      charge: 17, job: 3, ticket: 7, amount: Money(units: 350, .euro), reason: "no answer",
      decisions: [.captured], at: epoch)
    func report(_ charges: [PaymentReport.Charge]) -> String {
      String(decoding: PaymentReport(state: .idle, charges: charges).payload, as: UTF8.self)
    }
    receive("k1/payment/till", report([charge]))
    #expect(notifications(until: 200) == ["110 +charge k1 17 7"])
    receive("k1/payment/till", report([]))
    #expect(notifications(until: 400) == ["270 -charge k1 17 7"])
  }

  /// A difference is over with the next end of day that has none.
  @Test(arguments: ["history", "events"])
  mutating func anEndOfDayThatDiffersIsReported(topic: String) {
    runQuietPeriod()
    receive("k1/payment/till", String(decoding: PaymentReport(state: .idle).payload, as: UTF8.self))
    func total(_ number: Int, difference: Int) -> String {
      let total = PaymentTotal(
        total: number, at: epoch, captured: Money(units: 350, .euro),
        refunded: Money(units: 0, .euro), count: 1)
      // The clock is set back by a minute after each end of day.
      let entry = LedgerEntry(
        seq: number, epoch: 1, at: time(-60 * number), source: nil, id: nil,
        outcome: .total(total, device: "till", difference: difference))
      let payload =
        topic == "events" ? entry.payload : HistoryReport(entries: [entry]).payload
      return String(decoding: payload, as: UTF8.self)
    }
    receive("k1/\(topic)", total(1, difference: 0))
    #expect(notifications(until: 200).isEmpty)
    receive("k1/\(topic)", total(2, difference: -50))
    #expect(notifications(until: 300) == ["210 +difference k1 till"])
    #expect(fleet["k1"]?.worst == .decision)
    receive("k1/\(topic)", total(3, difference: 0))
    #expect(notifications(until: 500) == ["370 -difference k1 till"])
  }

  @Test mutating func aFruitTooShortForAJuiceIsReported() {
    runQuietPeriod()
    let menu = MenuReport(menu: .standard, capacities: [:], lowMarks: [:])
    receive("k1/menu", String(decoding: menu.payload, as: UTF8.self))
    func stock(_ strawberries: Int) -> String {
      var fruits = FruitAmounts(Menu.standard.fruits.map { ($0.id, 16) })
      fruits["strawberry"] = strawberries
      return String(decoding: StockReport(seq: 1, at: epoch, fruits: fruits).payload, as: UTF8.self)
    }
    receive("k1/stock", stock(10))
    #expect(notifications(until: 200) == ["110 +out k1 strawberry"])
    receive("k1/stock", stock(16))
    #expect(notifications(until: 400) == ["270 -out k1 strawberry"])
    receive(
      "k1/machine/bar", #"{"state":"idle","queue":0,"out":["kiwi"],"jobs":[],"ready":[]}"#)
    #expect(notifications(until: 500) == ["410 +unsold k1", "410 +machine k1 bar"])
  }

  private mutating func openWithFullStock() {
    let menu = MenuReport(menu: .standard, capacities: [:], lowMarks: [:])
    receive("k1/menu", String(decoding: menu.payload, as: UTF8.self))
    let fruits = FruitAmounts(Menu.standard.fruits.map { ($0.id, 90) })
    let stock = StockReport(seq: 1, at: epoch, fruits: fruits)
    receive("k1/stock", String(decoding: stock.payload, as: UTF8.self))
  }

  /// A kiosk with any number of alerts leaves room for those of the other kiosks.
  @Test mutating func aKioskHasAtMostAHundredAlerts() {
    runQuietPeriod()
    let expired = FruitAmounts((1...1_000).map { (Fruit.ID("f\($0)") ?? "kiwi", 1) })
    let stock = StockReport(seq: 1, at: epoch, fruits: [:], expired: expired)
    receive("k1/stock", String(decoding: stock.payload, as: UTF8.self))
    receive("k1/machine/bar", machine(.fault))
    let alerts = notifications(until: 200)
    #expect(alerts.count == 100 && alerts.contains("110 +machine k1 bar"))
  }

  private func sensor(_ state: SensorReport.State) -> String {
    let report = SensorReport(
      state: state, value: 12_500, unit: .celsius, maximum: 7_000, fruits: ["kiwi", "mango"])
    return String(decoding: report.payload, as: UTF8.self)
  }

  /// The block of juices comes after the sensor's alarm, which was already reported.
  @Test mutating func theLossOfSalesAfterAnAlarmIsReported() {
    openWithFullStock()
    runQuietPeriod()
    receive("k1/sensor/fridge", sensor(.alarm))
    #expect(notifications(until: 140) == ["110 +sensor k1 fridge"])
    receive("k1/sensor/fridge", sensor(.blocked))
    #expect(notifications(until: 300) == ["170 +unsold k1"])
    #expect(fleet["k1"]?.lostJuices.count == 3)
    receive("k1/sensor/fridge", sensor(.ok))
    #expect(notifications(until: 500) == ["370 -unsold k1", "370 -sensor k1 fridge"])
  }

  /// The machine's alert was sent when its cleaning became due.
  @Test mutating func aKioskThatSellsNothingIsReported() {
    openWithFullStock()
    runQuietPeriod()
    receive("k1/sensor/fridge", sensor(.blocked))
    #expect(notifications(until: 140) == ["110 +unsold k1", "110 +sensor k1 fridge"])
    receive("k1/machine/bar", machine(.cleaningDue))
    #expect(notifications(until: 300) == ["170 +noSales k1", "170 +machine k1 bar"])
    // A machine that is being cleaned needs no person, and the sensor still blocks some juices.
    receive("k1/machine/bar", machine(.cleaning))
    #expect(notifications(until: 500) == ["370 -noSales k1", "370 -machine k1 bar"])
    receive("k1/sensor/fridge", sensor(.ok))
    receive("k1/machine/bar", machine(.idle))
    #expect(notifications(until: 700) == ["570 -unsold k1", "570 -sensor k1 fridge"])
  }

  /// A kiosk that closes in the evening has not begun to sell, and does not end to sell either.
  @Test mutating func whileAKioskIsClosedNoLossBeginsOrEnds() {
    openWithFullStock()
    runQuietPeriod()
    receive("k1/machine/bar", machine(.cleaningDue))
    #expect(notifications(until: 200) == ["110 +noSales k1", "110 +machine k1 bar"])
    receive("k1/service", "closed")
    #expect(notifications(until: 400).isEmpty)
    receive("k1/service", "open")
    receive("k1/machine/bar", machine(.idle))
    #expect(notifications(until: 600) == ["470 -noSales k1", "470 -machine k1 bar"])
    receive("k1/service", "closed")
    receive("k1/machine/bar", machine(.cleaningDue))
    #expect(notifications(until: 800) == ["610 +machine k1 bar"])
  }

  /// A machine that is away for a moment is no loss of sales yet.
  @Test mutating func theLossBeginsWithItsCause() {
    openWithFullStock()
    runQuietPeriod()
    receive("k1/machine/bar", machine(.offline))
    #expect(notifications(until: 500) == ["410 +noSales k1", "410 +machine k1 bar"])
    receive("k1/machine/bar", machine(.idle))
    #expect(notifications(until: 700) == ["570 -noSales k1", "570 -machine k1 bar"])
    receive("k1/machine/bar", machine(.fault))
    #expect(notifications(until: 900) == ["710 +noSales k1", "710 +machine k1 bar"])
  }

  @Test mutating func aMachineThatSaysAFaultIsReportedAtOnceAndOneThatIsAwayLater() {
    runQuietPeriod()
    receive("k1/machine/bar", machine(.fault))
    receive("k1/machine/pump", machine(.silent))
    #expect(notifications(until: 1000) == ["110 +machine k1 bar", "410 +machine k1 pump"])
    receive("k1/machine/bar", machine(.busy))
    receive("k1/machine/pump", "")
    #expect(notifications(until: 2000) == ["1070 -machine k1 bar", "1070 -machine k1 pump"])
  }

  /// A cup that the customer puts into the machine ends the wait in time.
  @Test mutating func aMachineThatWaitsForAPersonIsReported() {
    func waiting(since second: Int) -> String {
      let job = MachineReport.Job(
        job: 1, attempt: 1, ticket: 1, juice: "kiwi", quantity: 1, state: .started,
        at: time(second), waiting: "no cup")
      let report = MachineReport(
        state: .waiting, reason: "no cup", queue: 0, jobs: [job], ready: [])
      return String(decoding: report.payload, as: UTF8.self)
    }
    runQuietPeriod()
    receive("k1/machine/bar", waiting(since: 100))
    #expect(notifications(until: 200).isEmpty)
    receive("k1/machine/bar", waiting(since: 200))
    #expect(notifications(until: 500) == ["331 +machine k1 bar"])
    receive("k1/machine/bar", machine(.busy))
    #expect(notifications(until: 700) == ["570 -machine k1 bar"])
  }

  @Test mutating func aFullDiskAWrongClockAndARefusedMenuAreReported() {
    runQuietPeriod()
    func health(ahead: Int, free: Int) -> String {
      #"{"at":"\#(Timestamp(milliseconds: epoch.milliseconds + Int64(ahead) * 1_000))","disk_free":\#(free)}"#
    }
    func info(_ more: String) -> String {
      #"{"version":"1","started_at":"2026-11-21T09:00:00Z"\#(more)}"#
    }
    receive("k1/info", info(#","menu_problem":"damaged""#))
    receive("k1/health", health(ahead: 90, free: 9_000_000))
    #expect(
      notifications(until: 500) == ["110 +disk k1", "110 +menu k1", "410 +clock k1"])
    receive("k1/info", info(""))
    receive("k1/health", health(ahead: 61, free: 900_000_000))
    #expect(notifications(until: 700) == ["570 -disk k1", "570 -menu k1"])
  }

  @Test mutating func eachJobThatWaitsForAPersonIsReported() {
    runQuietPeriod()
    receive("k1/machine/bar", machine(.idle, asking: [7]))
    #expect(notifications(until: 200) == ["110 +job k1 7"])
    receive("k1/machine/bar", machine(.idle, asking: [7, 8]))
    #expect(notifications(until: 300) == ["210 +job k1 8"])
    receive("k1/machine/bar", machine(.idle))
    #expect(notifications(until: 500) == ["370 -job k1 7", "370 -job k1 8"])
  }

  @Test mutating func aPowerCutIsOneMessage() {
    for kiosk in 10..<30 { receive("k\(kiosk)/status", "online") }
    runQuietPeriod()
    var all: [String] = []
    for kiosk in 10..<30 {
      receive("k\(kiosk)/status", "offline")
      // The broker detects the kiosks' absence one after the other.
      all += notifications(until: 100 + (kiosk - 9) / 2)
    }
    all += notifications(until: 5000)
    #expect(all == (10..<30).map { "410 +offline k\($0)" })
  }

  @Test mutating func messagesAreAMinuteApart() {
    runQuietPeriod()
    var all: [String] = []
    for (second, fruit) in [(100, "kiwi"), (115, "mango"), (125, "banana"), (160, "pineapple")] {
      all += notifications(until: second)
      receive("k1/alert/\(fruit)", "out")
    }
    all += notifications(until: 1000)
    #expect(
      all == [
        "110 +out k1 kiwi", "170 +out k1 banana", "170 +out k1 mango", "170 +out k1 pineapple",
      ])
  }

  @Test mutating func nothingIsReportedInTheFirstMinuteAndNothingTwice() {
    receive("k1/status", "offline")
    receive("k2/status", "online")
    receive("k2/alert/kiwi", "out")
    receive("k2/alert/mango", "out")
    evaluator = AlertEvaluator(
      AlertEvaluator.Rules(),
      notified: [.problem(.offline, at: "k1"): epoch, .problem(.out("kiwi"), at: "k2"): epoch])
    // The new alert is notified after one minute; the known one is not notified again.
    #expect(notifications(until: 4000) == ["70 +out k2 mango"])
  }

  @Test mutating func whatIsOverSinceBeforeTheStartIsReportedAfterTheFirstMinute() {
    receive("k1/status", "online")
    evaluator = AlertEvaluator(
      AlertEvaluator.Rules(), notified: [.problem(.offline, at: "k1"): epoch])
    #expect(notifications(until: 4000) == ["70 -offline k1"])
  }

  @Test mutating func whatNothingIsHeardOfIsNotOver() {
    let month = 30 * 24 * 3600
    // A retained message of a kiosk whose status was cleared.
    receive("k1/service", "open")
    evaluator = AlertEvaluator(
      AlertEvaluator.Rules(), notified: [.problem(.offline, at: "k1"): time(-month + 500)])
    #expect(notifications(until: 400).isEmpty)
    #expect(evaluator.notified.count == 1)
    // An alert whose kiosk has no status for a month is deleted.
    #expect(notifications(until: 600).isEmpty)
    #expect(evaluator.notified.isEmpty)
  }

  @Test mutating func ofAKioskThatIsOfflineNothingElseBeginsOrEnds() {
    runQuietPeriod()
    receive("k1/alert/kiwi", "out")
    receive("k1/machine/bar", machine(.silent))
    #expect(notifications(until: 150) == ["110 +out k1 kiwi"])
    receive("k1/status", "offline")
    receive("k1/alert/kiwi", "ok")
    receive("k1/machine/bar", machine(.fault))
    #expect(notifications(until: 1000) == ["460 +offline k1"])
    receive("k1/status", "online")
    #expect(
      notifications(until: 2000) == [
        "1010 +machine k1 bar", "1070 -offline k1", "1070 -out k1 kiwi",
      ])
  }

  @Test mutating func aBrokerThatIsAwayIsReportedInsteadOfItsKiosks() {
    runQuietPeriod()
    receive("k1/alert/mango", "out")
    isConnected = false
    receive("k1/status", "offline")
    #expect(notifications(until: 3000) == ["410 +no broker"])
    // The broker is connected again, and the kiosks follow one by one.
    isConnected = true
    #expect(notifications(until: 3030).isEmpty)
    receive("k1/status", "online")
    #expect(notifications(until: 4000) == ["3070 +out k1 mango", "3070 -no broker"])
  }

  @Test mutating func aBrokerThatIsAwayForAMomentIsNotReported() {
    runQuietPeriod()
    for second in stride(from: 100, to: 3000, by: 100) {
      isConnected = false
      #expect(notifications(until: second + 99).isEmpty)
      isConnected = true
      #expect(notifications(until: second + 100).isEmpty)
    }
  }

  @Test mutating func aBrokerThatComesAndGoesMakesNoAbsenceShorter() {
    runQuietPeriod()
    receive("k1/status", "offline")
    #expect(notifications(until: 300).isEmpty)
    isConnected = false
    #expect(notifications(until: 350).isEmpty)
    isConnected = true
    #expect(notifications(until: 2000) == ["420 +offline k1"])
  }

  @Test mutating func aKioskThatIsTakenAwayIsNoAlert() {
    runQuietPeriod()
    receive("k1/status", "offline")
    #expect(notifications(until: 200).isEmpty)
    receive("k1/status", "")
    #expect(notifications(until: 2000).isEmpty)
  }

  @Test func whatWasReportedIsReadAsItWasWritten() throws {
    let notified: [Alert: Timestamp] = [
      .noBroker: epoch, .problem(.offline, at: "k1"): time(1),
      .problem(.machine("bar"), at: "k1"): time(2),
      .problem(.job(1007, ticket: 7), at: "k1"): time(3), .problem(.out("kiwi"), at: "k2"): time(4),
      .problem(.payment("till"), at: "k1"): time(5),
      .problem(.difference("till"), at: "k1"): time(6),
      .problem(.charge(1_795_251_600, ticket: 7), at: "k1"): time(7),
      .problem(.charge(9, ticket: 0), at: "k1"): time(8),
      .problem(.sensor("fridge"), at: "k1"): time(9),
      .problem(.expires("kiwi"), at: "k1"): time(10),
      .problem(.expired("kiwi"), at: "k1"): time(11), .problem(.noSales, at: "k1"): time(12),
      .problem(.unsold, at: "k2"): time(13), .problem(.disk, at: "k1"): time(14),
      .problem(.menu, at: "k1"): time(15), .problem(.clock, at: "k1"): time(16),
    ]
    let evaluator = AlertEvaluator(AlertEvaluator.Rules(), notified: notified)
    let json = JSONWriter.object { evaluator.write(to: &$0) }
    #expect(AlertEvaluator.notified(in: try JSON.parse(json)) == notified)
  }

  @Test(arguments: [
    "{}", #"{"notified":7}"#, #"{"notified":[7,null,{}]}"#,
    #"{"notified":[{"alert":"offline","since":"2026-11-21T09:00:00Z"}]}"#,
    #"{"notified":[{"alert":"out","kiosk":"k1","fruit":"k/w","since":"2026-11-21T09:00:00Z"}]}"#,
    #"{"notified":[{"alert":"job","kiosk":"k1","job":1,"since":"2026-11-21T09:00:00Z"}]}"#,
    #"{"notified":[{"alert":"offline","kiosk":"k1","since":"yesterday"}]}"#,
    #"{"notified":[{"alert":"payment","kiosk":"k1","since":"2026-11-21T09:00:00Z"}]}"#,
    #"{"notified":[{"alert":"sensor","kiosk":"k1","since":"2026-11-21T09:00:00Z"}]}"#,
    #"{"notified":[{"alert":"charge","kiosk":"k1","charge":0,"since":"2026-11-21T09:00:00Z"}]}"#,
  ])
  func whatCannotBeReadIsLeftOut(json: String) throws {
    #expect(AlertEvaluator.notified(in: try JSON.parse(Array(json.utf8))).isEmpty)
  }
}

extension Alert {
  fileprivate var summary: String {
    guard case .problem(let problem, let kiosk) = self else { return "no broker" }
    return switch problem {
    case .job(_, let ticket): "job \(kiosk) \(ticket)"
    case .charge(let charge, let ticket): "charge \(kiosk) \(charge) \(ticket)"
    case .machine(let machine): "machine \(kiosk) \(machine)"
    case .payment(let device): "payment \(kiosk) \(device)"
    case .difference(let device): "difference \(kiosk) \(device)"
    case .sensor(let sensor): "sensor \(kiosk) \(sensor)"
    case .out(let fruit): "out \(kiosk) \(fruit)"
    case .low(let fruit): "low \(kiosk) \(fruit)"
    case .expires(let fruit): "expires \(kiosk) \(fruit)"
    case .expired(let fruit): "expired \(kiosk) \(fruit)"
    case .offline, .noSales, .unsold, .disk, .menu, .clock, .closed: "\(problem) \(kiosk)"
    }
  }
}
