import JuiceDomain
import KioskProtocol
import Testing

@testable import Fleet

/// The history that follows from the messages of kiosks, evaluated once a second.
@Suite struct ActivityLogTests {
  private var fleet = KioskFleet(root: "kiosk")
  private var log = ActivityLog()
  private var isConnected = true
  private let start = Timestamp(milliseconds: 1_795_251_600_000)
  private let instant = ContinuousClock.now
  private var seconds = 0
  private let maximumOfKiosk = ActivityLog.Room.events(nil).limits.one

  private func time(_ seconds: Int) -> Timestamp {
    Timestamp(milliseconds: start.milliseconds + Int64(seconds) * 1000)
  }

  private mutating func receive(_ topic: String, _ payload: [UInt8], isRetained: Bool = false) {
    fleet.receive(
      topic: "kiosk/\(topic)", payload: payload, isRetained: isRetained, at: time(seconds))
  }

  private mutating func status(_ text: String) { receive("k1/status", Array(text.utf8)) }

  private mutating func info(startedAt: Int) {
    receive("k1/info", KioskInfo(version: "1", startedAt: time(startedAt)).payload)
  }

  private mutating func run(until end: Int) {
    while seconds < end {
      update()
      seconds += 1
    }
  }

  /// - Parameter set: Number of seconds by which the wall clock was set forward.
  @discardableResult
  private mutating func update(set: Int = 0) -> Bool {
    log.update(
      fleet, isConnected: isConnected, at: time(seconds + set), instant: instant + .seconds(seconds)
    )
  }

  /// Runs until retained messages have arrived.
  private mutating func settle() {
    status("online")
    run(until: 20)
  }

  private func alert(
    _ alert: Alert, _ since: Int, _ until: Int?, _ details: ActivityLog.Details = .init()
  ) -> ActivityLog.Record {
    .init(at: time(since), .alert(alert, details, until: until.map(time)))
  }

  private func text(_ english: String, _ korean: String) -> ActivityLog.Details {
    .init(text: LocalizedName(english: english, korean: korean, fallback: ""))
  }

  private func restock(_ seq: Int, epoch: Int = 1, at second: Int = 0) -> LedgerEntry {
    LedgerEntry(
      seq: seq, epoch: epoch, at: time(second), source: Source(kind: .restock, name: "minji"),
      id: nil, outcome: .restocked(changes: ["kiwi": 5]))
  }

  /// Returns the log as the next process reads it.
  ///
  /// - Parameter state: The state that was written last, which may be older than the records.
  private func stored(_ state: [UInt8]? = nil) throws -> ActivityLog {
    var stored = try ActivityLog(state: state ?? log.state)
    let lines = log.records.map(ActivityLog.Line.record) + (log.isCut ? [.cut] : [])
    stored.restore(lines.compactMap { ActivityLog.Line(payload: $0.payload) })
    return stored
  }

  private func entries() -> [Int] {
    log.records.compactMap { if case .entry(_, let entry) = $0.event { entry.seq } else { nil } }
  }

  @Test mutating func aPaymentDeviceThatIsOffHasItsReason() {
    settle()
    var report = PaymentReport(state: .off)
    report.reason = "no paper"
    receive("k1/payment/terminal", report.payload)
    run(until: 50)
    #expect(
      log.open == [
        alert(
          .problem(.payment("terminal"), at: "k1"), 20, nil,
          text("payment terminal: out of order (no paper)", "결제 terminal: 고장 (no paper)"))
      ])
  }

  /// The begin of a problem that a kiosk has at the dashboard's start is unknown, also after a loss of
  /// the connection and after an outage of the kiosk, unless a report of the kiosk contains it.
  @Test mutating func aProblemFromBeforeTheStartMayHaveBegunEarlier() throws {
    func machine(_ state: MachineReport.State) -> [UInt8] {
      MachineReport(state: state, queue: 0, jobs: [], ready: []).payload
    }
    receive("k1/machine/bar", machine(.fault), isRetained: true)
    var fridge = SensorReport(state: .alarm, unit: .celsius, since: time(-500))
    receive("k1/sensor/fridge", fridge.payload, isRetained: true)
    fridge.state = .blocked
    receive("k1/sensor/freezer", fridge.payload, isRetained: true)
    receive("k2/status", Array("offline".utf8), isRetained: true)
    receive("k2/machine/bar", machine(.fault), isRetained: true)
    settle()
    receive("k1/machine/mixer", machine(.fault))
    run(until: 30)
    let start = start
    func begins(_ log: ActivityLog) -> [Alert: [Int]] {
      Dictionary(
        uniqueKeysWithValues: log.open.compactMap { record -> (Alert, [Int])? in
          guard case .alert(let alert, let details, nil) = record.event else { return nil }
          let second = Int((record.at.milliseconds - start.milliseconds) / 1000)
          return (alert, [second, details.isEarlier ? 1 : 0])
        })
    }
    let expected: [Alert: [Int]] = [
      .problem(.machine("bar"), at: "k1"): [10, 1],
      .problem(.sensor("fridge"), at: "k1"): [-500, 0],
      .problem(.sensor("freezer"), at: "k1"): [10, 1],
      .problem(.offline, at: "k2"): [10, 1],
      .problem(.machine("mixer"), at: "k1"): [20, 0],
    ]
    #expect(begins(log) == expected)
    #expect(try begins(stored()) == expected)
    isConnected = false
    run(until: 35)
    receive("k1/machine/oven", machine(.fault), isRetained: true)
    isConnected = true
    run(until: 50)
    #expect(begins(log)[.problem(.machine("oven"), at: "k1")] == [45, 1])
    // The report of a kiosk that was offline.
    receive("k2/status", Array("online".utf8))
    run(until: 60)
    #expect(begins(log)[.problem(.machine("bar"), at: "k2")] == [50, 1])
  }

  @Test mutating func anOutageHasItsTimesAndWhetherTheKioskStartedAgain() {
    info(startedAt: -100)
    settle()
    status("offline")
    run(until: 50)
    let ran = ActivityLog.Details(startedAt: time(-100))
    #expect(log.open == [alert(.problem(.offline, at: "k1"), 20, nil, ran)])
    status("online")
    run(until: 60)
    #expect(log.open.isEmpty)
    #expect(log.records == [alert(.problem(.offline, at: "k1"), 20, 50, ran)])
    status("offline")
    run(until: 70)
    info(startedAt: 65)
    status("online")
    run(until: 80)
    let restart = ActivityLog.Details(startedAt: time(-100), restartedAt: time(65))
    #expect(log.records.last == alert(.problem(.offline, at: "k1"), 60, 70, restart))
    func health(at second: Int) -> [UInt8] {
      KioskHealth(
        at: time(second), uptime: 0, counters: KioskHealth.Counters(), memory: nil, queue: 0,
        service: .open, low: 0, out: 0, ledger: nil
      ).payload
    }
    // A clock that is an hour behind.
    status("offline")
    run(until: 90)
    info(startedAt: -3_515)
    receive("k1/health", health(at: 90 - 3_600))
    status("online")
    run(until: 100)
    let late = ActivityLog.Details(startedAt: time(65), restartedAt: time(85))
    #expect(log.records.last == alert(.problem(.offline, at: "k1"), 80, 90, late))
    // The clock is set, and the program runs on.
    status("offline")
    run(until: 110)
    info(startedAt: 85)
    receive("k1/health", health(at: 110))
    status("online")
    run(until: 120)
    let set = ActivityLog.Details(startedAt: time(-3_515))
    #expect(log.records.contains(alert(.problem(.offline, at: "k1"), 100, 110, set)))
  }

  @Test mutating func anUnknownStartSaysNothingAboutTheProgram() {
    settle()
    status("offline")
    run(until: 50)
    info(startedAt: 45)
    status("online")
    run(until: 60)
    #expect(log.records == [alert(.problem(.offline, at: "k1"), 20, 50)])
  }

  @Test mutating func aMachineFaultHasItsReasonAndOutlastsAnOutage() throws {
    settle()
    let fault = MachineReport(state: .fault, reason: "E3", queue: 0, jobs: [], ready: [])
    receive("k1/machine/bar", fault.payload)
    run(until: 30)
    status("offline")
    run(until: 40)
    let bar = Alert.problem(.machine("bar"), at: "k1")
    let details = text("machine bar: out of order (E3)", "기계 bar: 고장 (E3)")
    #expect(log.open.contains(alert(bar, 20, nil, details)))
    #expect(try Set(stored().open) == Set(log.open))
    status("online")
    receive("k1/machine/bar", MachineReport(state: .idle, queue: 0, jobs: [], ready: []).payload)
    run(until: 50)
    #expect(log.records.contains(alert(bar, 20, 40, details)))
    #expect(log.open.isEmpty)
  }

  @Test mutating func anEntryIsRecordedOnceAlsoAfterARestart() throws {
    receive("k1/history", HistoryReport(entries: [restock(3, at: -500)]).payload, isRetained: true)
    settle()
    #expect(entries() == [3])
    receive("k1/events", restock(5).payload)
    receive("k1/events", restock(5).payload)
    run(until: 30)
    #expect(entries() == [3, 5])
    log = try stored()
    run(until: 60)
    #expect(entries() == [3, 5])
    // A restored backup counts its entries again.
    receive("k1/events", restock(4, epoch: 2).payload)
    run(until: 70)
    #expect(entries() == [3, 5, 4])
  }

  @Test mutating func aStopOfTheDashboardIsRecordedAndEndsNothing() throws {
    settle()
    status("offline")
    run(until: 30)
    log = try stored()
    fleet = KioskFleet(root: "kiosk")
    seconds = 30_000
    status("online")
    receive("k1/status", Array("offline".utf8), isRetained: true)
    run(until: 30_030)
    #expect(log.records == [.init(at: time(29), .stopped(until: time(30_000)))])
    #expect(log.open == [alert(.problem(.offline, at: "k1"), 20, nil)])
  }

  @Test mutating func aClockThatIsSetForwardIsNoStop() {
    settle()
    update(set: 30_000)
    seconds += 1
    update(set: 30_000)
    #expect(log.records.isEmpty && log.updatedAt == time(30_021))
  }

  @Test mutating func anUnreachableBrokerEndsNothingOfAKiosk() {
    settle()
    isConnected = false
    status("offline")
    run(until: 40)
    #expect(log.open == [alert(.noBroker, 20, nil)])
    isConnected = true
    status("online")
    run(until: 60)
    #expect(log.records == [alert(.noBroker, 20, 40)])
    // A short interruption is none.
    isConnected = false
    run(until: 65)
    isConnected = true
    run(until: 90)
    #expect(log.records.count == 1 && log.open.isEmpty)
  }

  @Test mutating func aClockThatIsSetBackStopsNoRecord() {
    settle()
    seconds = -3_600
    status("offline")
    run(until: -3_580)
    #expect(log.open == [alert(.problem(.offline, at: "k1"), -3_600, nil)])
  }

  @Test mutating func theRecordsOfADayAreLimited() throws {
    settle()
    for seq in 1...(maximumOfKiosk + 50) {
      receive("k1/events", restock(seq).payload)
      run(until: seconds + 1)
    }
    #expect(log.records.count == maximumOfKiosk)
    #expect(log.isCut)
    #expect(try stored().isCut)
    log.begin(day: log.day + 1)
    #expect(log.records.isEmpty && !log.isCut)
  }

  /// A kiosk with long entries leaves a day that can be read, and room for other kiosks.
  @Test mutating func theSizeOfADayIsLimited() {
    settle()
    let batches = (1...1_000).map { BatchChange(BatchID(fruit: "kiwi", number: $0), 1) }
    for seq in 1...10 {
      var entry = restock(seq)
      entry.batches = batches
      receive("k1/events", entry.payload)
      run(until: seconds + 1)
    }
    let size = log.records.reduce(0) { $0 + ActivityLog.Line.record($1).payload.count }
    #expect(log.isCut && size > 0 && size <= 200_000)
    let rooms: [ActivityLog.Room] = [
      .logins(""), .account(""), .routes(""), .changes(""), .money("k1"), .events(nil),
    ]
    #expect(rooms.reduce(0) { $0 + $1.limits.all * $1.limits.size } <= 15_000_000)
  }

  @Test mutating func aFullLogChangesIfOneAlertEndsAndAnotherBegins() {
    receive("k2/status", Array("online".utf8))
    settle()
    for seq in 1...(maximumOfKiosk + 1) {
      receive("k1/events", restock(seq).payload)
      run(until: seconds + 1)
    }
    status("offline")
    run(until: seconds + 10)
    #expect(log.open.count == 1)
    status("online")
    receive("k2/status", Array("offline".utf8))
    let hasChanged = update()
    #expect(hasChanged && log.open.map(\.kiosk) == ["k2"])
  }

  @Test mutating func theLogOnTheDiskIsTheSame() throws {
    settle()
    receive("k1/events", restock(5).payload)
    run(until: 30)
    status("offline")
    run(until: 40)
    let copy = try stored()
    #expect(copy.records == log.records && copy.open == log.open && copy.state == log.state)
    #expect(throws: JSONError.self) { try ActivityLog(state: Array("{}".utf8)) }
    #expect(ActivityLog.Line(payload: Array("{}".utf8)) == nil)
  }

  /// The state is written less often than the records.
  @Test mutating func anOldStateRepeatsNoRecord() throws {
    settle()
    status("offline")
    run(until: 30)
    let state = log.state
    receive("k1/events", restock(5).payload)
    status("online")
    run(until: 40)
    #expect(log.records.count == 2 && log.open.isEmpty)
    let records = log.records
    log = try stored(state)
    #expect(log.open.isEmpty)
    run(until: 60)
    #expect(log.records == records)
  }

  @Test mutating func aRefundIsRecordedWithItsRequest() {
    settle()
    let kinds: [PaymentStep.Kind] = [.held, .captured, .refund, .refunded]
    for (index, kind) in kinds.enumerated() {
      let step = PaymentStep(
        kind, charge: 7, device: "till", job: 3, order: nil, ticket: nil)
      let entry = LedgerEntry(
        seq: index + 4, epoch: 1, at: time(20),
        source: kind == .refund ? Source(kind: .job, name: "minji") : nil, id: nil,
        outcome: .payment(step), amount: kind == .refund ? nil : Money(units: 350, .euro))
      receive("k1/events", entry.payload)
      run(until: seconds + 1)
    }
    #expect(entries() == [6, 7])
    #expect(log.records.allSatisfy { $0.kind == .payments })
  }

  @Test mutating func otherRecordsDisplaceNoPayment() {
    settle()
    for seq in 1...(maximumOfKiosk + 1) {
      receive("k1/events", restock(seq).payload)
      run(until: seconds + 1)
    }
    let none = Money(units: 0, .euro)
    let end = PaymentTotal(total: 1, at: time(0), captured: none, refunded: none, count: 0)
    let total = LedgerEntry(
      seq: 9_999, epoch: 1, at: time(0), source: nil, id: nil,
      outcome: .total(end, device: "terminal", difference: nil))
    receive("k1/events", total.payload)
    run(until: seconds + 1)
    #expect(entries().last == 9_999)
  }

  /// A user who makes links for screens again and again displaces no change of rights, and fills no file.
  @Test mutating func changesOfSettingsAndLinksAreLimited() {
    settle()
    let verbs: [ActivityLog.Action.Verb] = [.madeWallLink, .revokedTabletLink, .changedSettings]
    for number in 1...1_200 {
      log.add(.init(at: time(number), .action(.init("minji", verbs[number % 3], kiosk: "k1"))))
    }
    #expect(log.records.count == 1_000 && log.isCut)
    log.add(.init(at: time(1_300), .action(.init("minji", .removedUser, subject: "vera"))))
    log.add(.init(at: time(1_301), .action(.init("anna", .changedSettings, kiosk: "k1"))))
    #expect(log.records.count == 1_002)
  }

  /// A user who changes the own messages again and again displaces no record of a route.
  @Test mutating func changesOfTheOwnAccountDisplaceNoRoute() {
    settle()
    for number in 1...300 {
      log.add(.init(at: time(number), .action(.init("minji", .changedMessages))))
    }
    log.add(.init(at: time(301), .action(.init("minji", .deletedRoute, detail: "North"))))
    let verbs = log.records.compactMap { record in
      if case .action(let action) = record.event { action.verb } else { nil }
    }
    #expect(verbs.count == 201 && verbs.last == .deletedRoute)
  }
}
