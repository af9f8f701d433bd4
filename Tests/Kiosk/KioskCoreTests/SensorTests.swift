import Devices
import Foundation
import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing
import TimeZones

@testable import KioskCore

@Suite struct SensorTests {
  private let kiosk: TestKiosk

  init() throws { kiosk = try TestKiosk(settings: Self.settings()) }

  private static func settings(
    blockAfter: Duration? = .seconds(3600), machines: [MachineID] = []
  ) -> KioskSettings {
    var settings = KioskSettings.test()
    settings.sensors = [
      KioskSettings.Sensor(
        name: "fridge",
        binding: SensorBinding(topic: "t/fridge", value: JSONPointer("/temperature")),
        unit: .celsius, minimum: 0, maximum: 7000, blockAfter: blockAfter, fruits: ["kiwi"],
        machines: machines)
    ]
    return settings
  }

  /// Sends a value of the fridge, after a time.
  @discardableResult
  private func read(_ value: Any, after time: Duration = .zero) throws -> Decision {
    kiosk.pass(time)
    return try kiosk.receive(.sensor(#"{"temperature":\#(value)}"#))
  }

  /// Sends the value once a minute, and returns the kinds of the sensor's entries.
  private func read(_ value: Double, minutes: Int) throws -> [SensorStep.Kind] {
    try (0..<minutes).flatMap { _ in try read(value, after: .seconds(60)).steps }
  }

  private var report: SensorReport { kiosk.core.sensors.reports[0].report }
  private var record: SensorRecord? {
    get throws { try kiosk.ledger.state().sensors["fridge"] }
  }
  private func safety(on day: Int64 = 20_778) throws -> SafetyDay {
    try kiosk.ledger.safety(on: CivilDate(daysSinceEpoch: day), id: "r", kiosk.settings)
  }

  // MARK: Alarm and block

  @Test func aSensorOutsideItsLimitsIsAnAlarmAndThenBlocks() throws {
    try read(4.5)
    #expect(report.state == .ok && report.value == 4500)
    #expect(try read(8, minutes: 10).isEmpty)
    #expect(report.state == .outside)
    #expect(try read(8, minutes: 1) == [.alarm])
    #expect(try read(8, minutes: 49).isEmpty)
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.ready])
    #expect(try read(8, minutes: 1) == [.blocked])
    let rejected = try kiosk.receive(.order("kiwi"), .order("mango_kiwi"), .order("banana"))
    #expect(try rejected.reasons == [.blocked, .blocked, nil])
    #expect(kiosk.core.servings(of: "kiwi") == 0)
    #expect(report.fruits == ["kiwi"] && report.needsAttention)
  }

  @Test func timePassesWithoutReadings() throws {
    try read(8)
    #expect(kiosk.core.sensors.wait(at: kiosk.now) == .seconds(600))
    kiosk.pass(.seconds(599))
    #expect(try kiosk.receive().steps.isEmpty)
    kiosk.pass(.seconds(1))
    #expect(try kiosk.receive().steps == [.alarm])
    #expect(kiosk.core.sensors.wait(at: kiosk.now) == .seconds(3000))
    kiosk.pass(.seconds(3000))
    #expect(try kiosk.receive().steps == [.blocked, .silent])
    #expect(kiosk.core.sensors.wait(at: kiosk.now) == nil)
  }

  @Test func aValueAtTheLimitIsWithinIt() throws {
    try read(7)
    try read(0)
    #expect(report.state == .ok)
    try read(-0.001)
    #expect(report.state == .outside)
  }

  @Test func anAlarmEndsWithinTheLimitsAndABlockDoesNot() throws {
    #expect(try read(8, minutes: 11) == [.alarm])
    #expect(try read(5, minutes: 1) == [.ok])
    #expect(try read(8, minutes: 61) == [.alarm, .blocked])
    #expect(try read(5, minutes: 120).isEmpty)
    #expect(report.state == .blocked)
    #expect(try kiosk.receive(.order("kiwi")).reasons == [.blocked])
  }

  /// Half a degree, or a quarter of a range below two degrees.
  @Test(arguments: [(0, 7000, 6.501, 6.5), (1000, 2000, 1.751, 1.75)])
  func anAlarmEndsOnlyAtADistanceFromTheLimit(
    minimum: Int, maximum: Int, near: Double, far: Double
  ) throws {
    var settings = Self.settings()
    (settings.sensors[0].minimum, settings.sensors[0].maximum) = (minimum, maximum)
    try kiosk.reload(settings)
    #expect(try read(8, minutes: 11) == [.alarm])
    #expect(try read(near, minutes: 1).isEmpty)
    #expect(report.state == .alarm)
    #expect(try read(far, minutes: 1) == [.ok])
  }

  @Test func withoutBlockAfterNothingIsBlocked() throws {
    try kiosk.reload(Self.settings(blockAfter: nil))
    #expect(try read(8, minutes: 600) == [.alarm])
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.ready])
  }

  @Test(arguments: [-86_400, 86_400])
  func durationsDoNotDependOnTheClock(step: Int64) throws {
    #expect(try read(8, minutes: 5).isEmpty)
    kiosk.setClock(ahead: step)
    #expect(try read(8, minutes: 5).isEmpty)
    #expect(try read(8, minutes: 1) == [.alarm])
  }

  // MARK: Decisions

  private func block() throws { _ = try read(8, minutes: 62) }

  @Test func releasedFruitIsSoldAndBlockedAgainIfItStaysWarm() throws {
    try block()
    let release = try kiosk.receive(.decision("release", id: "d1"))
    #expect(try release.statuses == [.applied])
    #expect(release.steps == [.release])
    #expect(report.state == .outside && report.fruits.isEmpty)
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.ready])
    #expect(try read(8, minutes: 60) == [.alarm, .blocked])
    #expect(try kiosk.receive(.decision("release", id: "d1")).results[0].isDuplicate == true)
    #expect(report.state == .blocked)
  }

  @Test func discardedFruitLeavesTheStockAndTheNextWaitsForTheCold() throws {
    try block()
    let discard = try kiosk.receive(.decision("discard"))
    #expect(discard.transaction.records.first?.row.entry.changes == ["kiwi": -10])
    #expect(kiosk.stock["kiwi"] == 0)
    try kiosk.receive(.restock(#"{"add":{"kiwi":9}}"#))
    #expect(try kiosk.receive(.order("kiwi")).reasons == [.blocked])
    #expect(try kiosk.receive(.decision("discard")).reasons == [.noDecisionNeeded])
    try kiosk.restart()
    #expect(try read(5).steps == [.ok])
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.ready])
    try kiosk.ledger.verify()
  }

  /// Discarded fruit is waste as any other, with its batches and its cost.
  @Test func discardedFruitIsWasteByBatch() throws {
    var settings = Self.settings()
    let fruits = Menu.standard.fruits.map { fruit in
      Fruit(id: fruit.id, name: fruit.name, keepsHours: 72, cost: Money("0.40", .euro))
    }
    settings.menu = try Menu(fruits: fruits, juices: Menu.standard.juices)
    let kiosk = try TestKiosk(settings: settings)
    for _ in 0..<62 {
      try kiosk.receive(.sensor(#"{"temperature":8}"#))
      kiosk.pass(.seconds(60))
    }
    let restock = try kiosk.receive(
      .restock(#"{"add":{"kiwi":5},"best_before":{"kiwi":"2026-11-22T09:00:00Z"}}"#))
    let second = try #require(restock.transaction.records.last?.row.entry.seq)
    let decision = try kiosk.receive(.decision("discard"))
    let discard = try #require(decision.transaction.records.first?.row.entry)
    #expect(
      discard.batches == [
        BatchChange(BatchID(fruit: "kiwi", number: second), -5),
        BatchChange(BatchID(fruit: "kiwi", number: 1), -10),
      ])
    #expect(discard.amount == Money("6.00", .euro))
    #expect(try kiosk.ledger.rows(after: discard.seq - 1).map(\.row.entry) == [discard])
    let day = CivilDate(daysSinceEpoch: 20_778)
    let record = try kiosk.ledger.safety(on: day, id: "r", settings)
    #expect(record.waste == ["kiwi": 15])
    #expect(
      record.rows().map { $0.last ?? "" }.contains("kiwi 5 best before 2026-11-22T09:00:00Z"))
    try kiosk.restart()
    #expect(kiosk.core.batches.nextExpiries["kiwi"] == nil)
    try kiosk.ledger.verify()
  }

  @Test func aDecisionNeedsABlockAndAWord() throws {
    #expect(try kiosk.receive(.decision("release")).reasons == [.noDecisionNeeded])
    try block()
    for payload in [
      #"{"sensor":"fridge","decision":"release"}"#,
      #"{"sensor":"fridge","decision":"release","word":" "}"#,
      #"{"sensor":"fridge","decision":"keep","word":"a"}"#,
    ] {
      #expect(try kiosk.receive(.decision(payload: payload)).reasons == [.malformed])
    }
    let long = String(repeating: "a", count: 300)
    let release = try kiosk.receive(.decision("release", word: long))
    guard case .sensor(let step) = release.transaction.records[0].row.entry.outcome else {
      Issue.record("no step")
      return
    }
    #expect(step.word?.unicodeScalars.count == 200)
    #expect(release.transaction.records[0].row.entry.source?.description == "job/anna")
  }

  // MARK: Restarts and reloads

  @Test func aBlockAndTheTimeOutsideOutliveARestart() throws {
    #expect(try read(8, minutes: 9).isEmpty)
    try kiosk.restart()
    #expect(try read(8, minutes: 2) == [.alarm])
    try kiosk.recover()
    kiosk.pass(.seconds(3000))
    try kiosk.restart()
    #expect(try kiosk.receive().steps == [.blocked])
    try kiosk.restart()
    #expect(try kiosk.receive(.order("kiwi")).reasons == [.blocked])
  }

  /// The kiosk is offline for an hour after its start.
  @Test func theTimeSinceAStartCountsWhateverTheClockShows() throws {
    #expect(try read(8, minutes: 9).isEmpty)
    kiosk.setClock(ahead: -86_400)
    try kiosk.restart()
    kiosk.pass(.seconds(3_600))
    #expect(try kiosk.receive().steps.contains(.blocked))
  }

  @Test func whatIsDueToBeBlockedIsNotSoldInTheSameBatch() throws {
    #expect(try read(8, minutes: 9).isEmpty)
    kiosk.pass(.seconds(3_600))
    try kiosk.restart()
    let decision = try kiosk.receive(.order("kiwi"), .order("banana"))
    // In the ledger the block precedes the order that it rejects.
    let entries = decision.transaction.records.map(\.row.entry.status)
    #expect(entries.prefix(3) == [.sensorBlocked, .rejected, .ready])
  }

  /// The ledger has the first reading only.
  @Test func aReloadForgetsNoTimeOutside() throws {
    try read(5)
    try read(8, after: .seconds(1))
    try kiosk.reload(kiosk.settings)
    kiosk.pass(.seconds(600))
    #expect(try kiosk.receive().steps.contains(.alarm))
  }

  /// The sensor sends nothing after the reload.
  @Test(arguments: [false, true])
  func newLimitsApplyToTheLastReading(restarts: Bool) throws {
    var settings = Self.settings()
    settings.sensors[0].maximum = 4000
    try kiosk.reload(settings)
    #expect(try read(5, minutes: 11) == [.alarm])
    try kiosk.reload(Self.settings())
    if restarts { try kiosk.restart() }
    kiosk.pass(.seconds(3600))
    #expect(try kiosk.receive().steps == [.silent])
  }

  @Test func aSensorThatIsConfiguredAgainBeginsAnew() throws {
    #expect(try read(8, minutes: 11) == [.alarm])
    try kiosk.reload(.test())
    kiosk.pass(.seconds(14 * 86_400))
    try kiosk.reload(Self.settings())
    #expect(try kiosk.receive().steps.isEmpty)
    #expect(try read(8, minutes: 60).isEmpty)
    #expect(try read(8, minutes: 1) == [.blocked])
  }

  @Test(arguments: ["release", "discard"])
  func aRemovedSensorStillBlocks(choice: String) throws {
    try block()
    try kiosk.reload(.test())
    #expect(try kiosk.receive(.order("kiwi")).reasons == [.blocked])
    try kiosk.restart()
    #expect(report.state == .blocked)
    #expect(kiosk.settings.commandKinds.contains(.job))
    try kiosk.receive(.decision(choice))
    #expect(kiosk.core.sensors.reports.isEmpty)
    #expect(kiosk.reports.contains("sensor/fridge "))
    try kiosk.receive(.restock(#"{"add":{"kiwi":9}}"#))
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.ready])
  }

  @Test func whatIsAddedToASensorThatBlocksIsBlocked() throws {
    try block()
    var settings = Self.settings(blockAfter: nil, machines: ["bar"])
    settings.sensors[0].fruits = ["kiwi", "banana"]
    try kiosk.reload(settings)
    #expect(!kiosk.isDue)
    settings.sensors[0].blockAfter = .seconds(3600)
    try kiosk.reload(settings)
    #expect(kiosk.isDue)
    let decision = try kiosk.receive(.order("banana"))
    #expect(decision.steps == [.blocked] && !kiosk.isDue)
    #expect(try decision.reasons == [.blocked])
    #expect(try kiosk.receive().steps.isEmpty)
    try kiosk.restart()
    #expect(report.fruits == ["kiwi", "banana"] && report.machines == ["bar"])
    // What the settings no longer have stays blocked.
    try kiosk.reload(Self.settings())
    #expect(try kiosk.receive(.order("banana")).reasons == [.blocked])
    try kiosk.receive(.decision("release"))
    #expect(try kiosk.receive(.order("banana")).statuses == [.ready])
  }

  @Test func fruitAddedAfterADiscardNeedsADecision() throws {
    try block()
    try kiosk.receive(.decision("discard"))
    var settings = Self.settings()
    settings.sensors[0].fruits = ["kiwi", "banana"]
    try kiosk.reload(settings)
    #expect(try kiosk.receive().steps == [.blocked])
    #expect(try read(5).steps.isEmpty)
    #expect(try kiosk.receive(.order("banana")).reasons == [.blocked])
    #expect(try kiosk.receive(.decision("discard")).statuses == [.applied])
    #expect(kiosk.stock["banana"] == 0 && report.state == .ok)
  }

  // MARK: Machines

  @Test func aBlockedMachineTakesNoOrders() throws {
    var settings = Self.settings(machines: ["bar"])
    settings.machines = [KioskSettings.Machine(name: "bar", juices: ["banana"])]
    try kiosk.reload(settings)
    try kiosk.receive(.machineStatus("online"))
    try block()
    #expect(try kiosk.receive(.order("banana")).reasons == [.blocked])
    #expect(kiosk.core.machineReports[0].report.state == .fault)
    try kiosk.receive(.decision("release"))
    #expect(try kiosk.receive(.order("banana")).statuses == [.accepted])
  }

  @Test func aQueuedOrderOfBlockedFruitIsGivenBack() throws {
    var settings = Self.settings()
    settings.orders.maximumAge = .seconds(86_400)
    settings.machines = [KioskSettings.Machine(name: "bar", juices: ["kiwi"])]
    try kiosk.reload(settings)
    try kiosk.receive(.machineStatus("online"))
    #expect(try read(8, minutes: 60) == [.alarm])
    try kiosk.receive(.order("kiwi"), .order("kiwi"))
    let decision = try read(8, after: .seconds(60))
    #expect(decision.steps == [.blocked])
    #expect(kiosk.core.jobs.open.map(\.state) == [.lost])
    #expect(kiosk.stock["kiwi"] == 7)
  }

  @Test func aQueuedOrderOfABlockedMachineIsGivenBack() throws {
    var settings = Self.settings(machines: ["bar"])
    settings.orders.maximumAge = .seconds(86_400)
    settings.machines = [KioskSettings.Machine(name: "bar", juices: ["banana"])]
    try kiosk.reload(settings)
    try kiosk.receive(.machineStatus("online"))
    #expect(try read(8, minutes: 60) == [.alarm])
    try kiosk.receive(.order("banana"), .order("banana"))
    try read(8, after: .seconds(60))
    #expect(kiosk.core.jobs.open.map(\.state) == [.lost])
    #expect(kiosk.stock["banana"] == 8)
  }

  /// The machine has its order, and is offline when the fruit is blocked. A job that it has begun goes on.
  @Test(arguments: ["cancelled", "done"])
  func aSentOrderOfBlockedFruitIsNotSentAgain(answer: String) throws {
    var settings = Self.settings()
    settings.orders.maximumAge = .seconds(86_400)
    settings.machines = [KioskSettings.Machine(name: "bar", juices: ["kiwi"])]
    try kiosk.reload(settings)
    try kiosk.receive(.machineStatus("online"))
    #expect(try read(8, minutes: 60) == [.alarm])
    try kiosk.receive(.order("kiwi"))
    #expect(kiosk.messagesForMachines().map(\.topic) == ["kiosk/k1/make/bar"])
    try kiosk.receive(.machineStatus("offline"))
    #expect(try read(8, after: .seconds(60)).steps == [.blocked])
    try kiosk.receive(.machineStatus("online"))
    #expect(kiosk.messagesForMachines().map(\.topic) == ["kiosk/k1/make/bar/cancel"])
    let job = try #require(kiosk.core.jobs.open.first?.number)
    func say(_ status: String) throws -> Decision {
      try kiosk.receive(
        .message(#"{"job":\#(job),"status":"\#(status)"}"#, on: "made/bar"))
    }
    if answer == "done" {
      #expect(try say("started").results.isEmpty)
      #expect(kiosk.core.jobs.open.map(\.state) == [.started])
    }
    try kiosk.restart()
    let end = try say(answer)
    #expect(try end.statuses == [answer == "done" ? .ready : .failed])
    #expect(try end.results.map(\.failure) == [answer == "done" ? nil : "blocked"])
    #expect(kiosk.core.jobs.open.isEmpty)
    #expect(kiosk.stock["kiwi"] == (answer == "done" ? 7 : 10))
  }

  /// Its fruit would return to the stock after the decision.
  @Test func nothingIsDiscardedWhileAnOrderHasItsFruit() throws {
    var settings = Self.settings()
    settings.machines = [KioskSettings.Machine(name: "bar", juices: ["kiwi"])]
    try kiosk.reload(settings)
    try kiosk.receive(.machineStatus("online"))
    try kiosk.receive(.order("kiwi"))
    try block()
    #expect(kiosk.core.jobs.open.map(\.state) == [.lost])
    let early = try kiosk.receive(.decision("discard"))
    #expect(try early.reasons == [.conflict])
    #expect(try early.results[0].detail?.hasPrefix("job 2 still has this fruit") == true)
    try kiosk.receive(.decision(payload: #"{"job":2,"decision":"give_back"}"#))
    #expect(kiosk.stock["kiwi"] == 10)
    #expect(try kiosk.receive(.decision("discard")).statuses == [.applied])
    #expect(kiosk.stock["kiwi"] == 0)
    try kiosk.ledger.verify()
  }

  @Test func nothingIsDiscardedWhileACustomerPaysForIt() throws {
    var settings = try PaymentTests.settings(isPoured: false)
    settings.sensors = Self.settings(blockAfter: .seconds(20)).sensors
    let kiosk = try TestKiosk(settings: settings)
    try kiosk.receive(
      .message("online", on: "payment/terminal/status"),
      .sensor(#"{"temperature":8}"#), .order("kiwi"))
    kiosk.pass(.seconds(20))
    #expect(try kiosk.receive(.decision("discard")).reasons == [.conflict])
    kiosk.pass(.seconds(60))
    #expect(try kiosk.receive().results.map(\.status) == [.failed])
    #expect(try kiosk.receive(.decision("discard")).statuses == [.applied])
    #expect(kiosk.stock["kiwi"] == 0)
  }

  // MARK: Readings

  @Test(
    arguments: [
      "warm", #"{"temperature":"warm"}"#, #"{"temperature":NaN}"#, #"{"temperature":"NaN"}"#,
      #"{"temperature":"inf"}"#, #"{"temperature":1e400}"#, #"{"temperature":151}"#, "{}",
      #"{"temperature":null}"#, #"{"temperature":[1]}"#, "", #"{"humidity":4}"#,
      #"{"temperature":"8.000000000000000000000000000000001"}"#,
    ])
  func aMessageWithoutAValueIsIgnored(payload: String) throws {
    try read(5)
    let decision = try kiosk.receive(.sensor(payload), .sensor(payload))
    #expect(decision.answers.isEmpty && decision.transaction.isEmpty)
    #expect(decision.sensorsIgnored == ["fridge"])
    #expect(try kiosk.receive(.sensor(payload)).sensorsIgnored.isEmpty)
    #expect(report.state == .ok && report.ignored == 3)
  }

  @Test func aRetainedValueIsNoReading() throws {
    let decision = try kiosk.receive(.sensor(#"{"temperature":90}"#, retain: true))
    #expect(decision.sensorsIgnored == ["fridge"])
    #expect(report.state == .unknown && report.ignored == 1)
    #expect(kiosk.commandFilter.dropped == 0)
  }

  @Test func aTextIsAlsoANumber() throws {
    try read(#""4.25""#)
    #expect(report.value == 4250)
  }

  @Test func aJumpNeedsASecondReading() throws {
    try read(5)
    try read(45, after: .seconds(1))
    #expect(report.state == .ok)
    try read(5, after: .seconds(1))
    try read(45, after: .seconds(1))
    #expect(report.state == .ok)
    try read(46, after: .seconds(1))
    #expect(report.state == .outside)
    // After a minute without a reading any value is possible.
    try read(5, after: .seconds(61))
    #expect(report.state == .ok)
  }

  /// A DS18B20 that was just powered, or is not connected. The value after it is not a jump.
  @Test(arguments: [
    (SensorBinding.Kind.ds18b20, "85.0"), (.ds18b20, "-127"), (.sht3x, "130"), (.sht3x, "-45.0"),
  ])
  func aFaultValueIsNoReading(kind: SensorBinding.Kind, fault: String) throws {
    var settings = Self.settings()
    settings.sensors[0].binding.kind = kind
    try kiosk.reload(settings)
    try read(fault)
    #expect(report.state == .unknown && report.value == nil && report.ignored == 1)
    try read(5, after: .seconds(1))
    #expect(report.state == .ok && report.value == 5000)
    try read(fault, after: .seconds(10))
    try read(fault, after: .seconds(10))
    try read(9, after: .seconds(10))
    #expect(report.state == .outside)
    // A constant fault is a silence.
    for _ in 0..<60 { try read(fault, after: .seconds(61)) }
    #expect(report.isSilent)
    #expect(try safety().sensors[0].high == 9000)
  }

  @Test func aReadingOfAnotherDeviceIsNoReading() throws {
    var settings = Self.settings()
    (settings.sensors[0].binding.key, settings.sensors[0].binding.device) = (
      JSONPointer("/id"), "240"
    )
    try kiosk.reload(settings)
    func send(_ id: String, _ value: Double, after time: Duration) throws {
      kiosk.pass(time)
      try kiosk.receive(.sensor(#"{"model":"Nexus-TH","id":\#(id),"temperature":\#(value)}"#))
    }
    try send("240", 12.5, after: .zero)
    // The fridge of a neighbour is cold.
    for _ in 0..<61 {
      try send("17", 4, after: .seconds(30))
      try send("240", 12.5, after: .seconds(30))
    }
    try kiosk.receive(.sensor(#"{"temperature":4}"#), .sensor("4"))
    #expect(report.state == .blocked && report.value == 12_500 && report.ignored == 0)
    #expect(kiosk.commandFilter.dropped == 0)
  }

  @Test func aValueThatNeverChangesIsNoReadingIfSoConfigured() throws {
    var settings = Self.settings()
    settings.sensors[0].stuckAfter = .seconds(86_400)
    try kiosk.reload(settings)
    for _ in 0..<(23 * 4) { try read(4, after: .seconds(900)) }
    try read(4.1, after: .seconds(900))
    for _ in 0..<(24 * 4 - 1) { try read(4.1, after: .seconds(900)) }
    #expect(!report.isSilent && report.ignored == 0)
    for _ in 0..<5 { try read(4.1, after: .seconds(900)) }
    #expect(report.isSilent && report.ignored > 0)
    try read(4.2, after: .seconds(900))
    #expect(!report.isSilent && report.ignored == 0)
  }

  @Test func silenceIsAFault() throws {
    try kiosk.receive()
    kiosk.pass(.seconds(3599))
    #expect(try kiosk.receive().steps.isEmpty)
    kiosk.pass(.seconds(1))
    #expect(try kiosk.receive().steps == [.silent])
    #expect(report.isSilent && report.state == .unknown && report.needsAttention)
    #expect(try kiosk.receive().steps.isEmpty)
    #expect(try read(5).steps == [.gap, .ok])
    #expect(!report.isSilent && report.state == .ok)
  }

  @Test func tenReadingsASecondAreOneTransactionAMinute() throws {
    try read(5)
    var transactions = 0
    for tenth in 0..<1200 {
      let decision = try read(tenth == 100 ? 6.5 : 5, after: .milliseconds(100))
      transactions += decision.transaction.isEmpty ? 0 : 1
    }
    #expect(transactions == 1)
    #expect(
      try record?.hour
        == .init(
          at: kiosk.now.timestamp.hour, low: 5000, high: 6500, secondsOutside: 0,
          secondsMeasured: 70))
  }

  @Test func readingsGoWithAnOrderAndNeedNoTransactionOfTheirOwn() throws {
    try read(5)
    #expect(try read(5, after: .seconds(60)).transaction.isEmpty)
    let order = try kiosk.receive(.order("banana"))
    #expect(order.transaction.changes(.sensor) && order.transaction.records.count == 1)
    #expect(try read(5, after: .seconds(69)).transaction.isEmpty)
    #expect(try read(5, after: .seconds(1)).transaction.changes(.sensor))
  }

  @Test func aValueThatFlickersAtTheLimitIsOneTransactionAMinute() throws {
    var transactions = 0
    for second in 0..<300 {
      let decision = try read(second % 2 == 0 ? 7 : 7.001, after: .seconds(1))
      transactions += decision.transaction.isEmpty ? 0 : 1
    }
    #expect(transactions <= 6)
    #expect(try record?.hour?.high == 7001)
  }

  // MARK: Hours

  @Test func anHourIsOneEntryAlsoOverARestart() throws {
    #expect(try read(5, minutes: 30).isEmpty)
    try kiosk.restart()
    #expect(try read(8, minutes: 10).isEmpty)
    #expect(try read(5, minutes: 19).isEmpty)
    #expect(try read(5, after: .seconds(60)).allSteps == [.hour])
    try kiosk.restart()
    #expect(try read(5, minutes: 59).isEmpty)
    #expect(try read(5, after: .seconds(60)).allSteps == [.hour])
    let hours = try #require(safety().sensors.first).hours
    #expect(
      hours.map(\.at.description) == [
        "2026-11-21T09:00:00Z", "2026-11-21T10:00:00Z", "2026-11-21T11:00:00Z",
      ])
    #expect(hours.map(\.high) == [8000, 5000, 5000])
    #expect(hours.map { $0.secondsOutside / 60 } == [12, 0, 0])
    #expect(hours.map { $0.secondsMeasured / 60 } == [58, 60, 1])
  }

  /// The ledger has the first reading only.
  @Test(arguments: [false, true]) func aReloadForgetsNoReadingOfTheHour(recovers: Bool) throws {
    try read(5)
    #expect(try read(8, after: .seconds(30)).transaction.isEmpty)
    if recovers { try kiosk.recover() } else { try kiosk.reload(kiosk.settings) }
    #expect(try read(5, after: .seconds(40)).transaction.changes(.sensor))
    let hour = try #require(record?.hour)
    #expect(hour.high == 8000 && hour.secondsMeasured == 70)
  }

  @Test func anHourHasOneEntryAlsoAfterACrash() throws {
    _ = try read(5, minutes: 58)
    // Stored ten seconds before, so that the end of the minute does not store the hour.
    #expect(try read(5, after: .seconds(115)).transaction.changes(.sensor))
    #expect(try read(5, after: .seconds(10)).allSteps == [.hour])
    try kiosk.restart()
    #expect(try read(5, after: .seconds(1)).allSteps.isEmpty)
  }

  /// The entry of the last hour before a night is written in the morning.
  @Test func anHourBelongsToItsDay() throws {
    try read(5)
    _ = try read(6, minutes: 30)
    kiosk.pass(.seconds(86_400))
    try kiosk.restart()
    #expect(try kiosk.receive().allSteps == [.blocked, .hour])
    #expect(try safety().sensors[0].high == 6000)
    #expect(try safety(on: 20_779).sensors[0].hours.isEmpty)
  }

  @Test func timeWithoutReadingsIsNotMeasured() throws {
    try read(8)
    try read(8, after: .seconds(1200))
    try read(8, after: .seconds(3601))
    let sensor = try safety().sensors[0]
    #expect(sensor.secondsMeasured == 1200 && sensor.secondsOutside == 1200)
  }

  @Test func anHourHasTheLimitsOfItsTime() throws {
    _ = try read(5, minutes: 60)
    var settings = Self.settings()
    settings.sensors[0].maximum = 4000
    try kiosk.reload(settings)
    let sensor = try safety().sensors[0]
    #expect(sensor.hours.count == 2 && sensor.secondsOutside == 0)
    let archived = SafetyDay(
      id: "a", day: CivilDate(daysSinceEpoch: 20_778),
      entries: try kiosk.ledger.rows(after: 0, limit: 100).map(\.row.entry))
    #expect(archived.sensors[0].maximum == 7000 && archived.sensors[0].hours == [sensor.hours[0]])
  }

  @Test(arguments: [-86_400 * 2, -3600, 3600, 86_400 * 400])
  func aClockThatIsSetEndsTheHour(step: Int64) throws {
    _ = try read(5, minutes: 20)
    kiosk.setClock(ahead: step)
    #expect(try read(5, after: .seconds(1)).allSteps == [.hour])
    kiosk.setClock(ahead: -step)
    _ = try read(6, minutes: 5)
    let sensor = try safety().sensors[0]
    #expect(sensor.high == 6000 && sensor.hours.allSatisfy { $0.secondsMeasured <= 3600 })
  }

  // MARK: The record

  @Test func aDayOfTheRecordHasMinutesAndDecisions() throws {
    try read(5)
    _ = try read(5, minutes: 20)
    _ = try read(8, minutes: 62)
    try kiosk.receive(.order("banana"), .restock(#"{"add":{"kiwi":1}}"#))
    try kiosk.receive(.decision("discard"))
    let record = try safety()
    let fridge = try #require(record.sensors.first)
    #expect(record.sensors.count == 1 && fridge.low == 5000 && fridge.high == 8000)
    #expect((60...64).contains(fridge.secondsOutside / 60))
    #expect((80...84).contains(fridge.secondsMeasured / 60))
    #expect(
      record.entries.map(\.status) == [
        .opened, .sensorAlarm, .sensorBlocked, .restocked, .sensorDiscard,
      ])
    #expect(try SafetyDay(payload: record.payload) == record)
    #expect(try safety(on: 20_779).entries.isEmpty)
  }

  /// The time from the first entry on counts.
  @Test func theRecordBeginsWithTheLedger() throws {
    try read(5)
    try kiosk.restart()
    let clock = kiosk.settings.wallClock
    func seconds(on day: Int64) throws -> [Int] {
      let record = try safety(on: day)
      #expect(try SafetyDay(payload: record.payload) == record)
      return record.sensors.map {
        record.secondsWithoutReading(
          of: $0, from: clock.start(ofDay: day), to: clock.start(ofDay: day + 1))
      }
    }
    let midnight = clock.start(ofDay: 20_779)
    let first = Int(midnight.since(TestKiosk.start).components.seconds)
    #expect(try seconds(on: 20_777).isEmpty)
    #expect(try seconds(on: 20_778) == [first])
    #expect(try seconds(on: 20_779) == [86_400])
    let begins = try (20_777...20_779).map { try safety(on: $0).begins }
    #expect(begins == [TestKiosk.start, TestKiosk.start, nil])
  }

  @Test func theRecordIsWholeInPages() throws {
    for _ in 0..<7 { try kiosk.receive(.restock(#"{"add":{"kiwi":1}}"#)) }
    let whole = try safety()
    #expect(whole.entries.count == 8 && !whole.isShortened)
    let date = CivilDate(daysSinceEpoch: 20_778)
    var day = try kiosk.ledger.safety(on: date, limit: 3, id: "r", kiosk.settings)
    #expect(day.entries.count == 3 && day.isShortened)
    #expect(day.rows().last?[2] == "incomplete" && whole.rows().last?[2] == "entry")
    #expect(try SafetyDay(payload: day.payload) == day)
    while let next = day.next {
      day.append(
        try kiosk.ledger.safety(on: date, after: next, limit: 3, id: "r", kiosk.settings))
    }
    #expect(day == whole)
  }

  @Test func anEntryThatCannotBeReadMakesTheRecordIncomplete() throws {
    try kiosk.receive(.restock(#"{"add":{"kiwi":1}}"#))
    let payload = String(decoding: try safety().payload, as: UTF8.self)
      .replacing(#""restocked""#, with: #""of_a_later_version""#)
    let day = try SafetyDay(payload: Array(payload.utf8))
    #expect(day.entries.count == 1 && day.isShortened)
  }

  @Test func aRemovedSensorStaysInTheRecord() throws {
    try read(5)
    _ = try read(8, minutes: 5)
    let record = try kiosk.ledger.safety(
      on: CivilDate(daysSinceEpoch: 20_778), id: "r", .test())
    #expect(record.sensors.map(\.name) == ["fridge"] && record.sensors[0].high == 8000)
  }

  /// Daylight saving time begins at midnight in Santiago, Havana and Beirut.
  @Test(arguments: [
    "UTC", "Asia/Seoul", "America/New_York", "Pacific/Kiritimati", "America/Santiago",
    "America/Havana", "Asia/Beirut",
  ])
  func aDayBeginsAtMidnightOrWhereItIsSkippedAtOne(zone: String) throws {
    let clock = try #require(WallClock(zone))
    for day: Int64 in 20_700...21_100 {
      let start = clock.start(ofDay: day)
      #expect(clock.day(at: start) == Int(day))
      #expect([0, 60].contains(clock.minute(at: start).minute))
      #expect(clock.day(at: Timestamp(milliseconds: start.milliseconds - 1)) == Int(day) - 1)
    }
  }

  @Test func aStateIsPublishedWhenItIsStored() throws {
    try read(5)
    #expect(
      kiosk.reports == [
        #"sensor/fridge {"state":"ok","value":5.0,"unit":"°C","min":0.0,"max":7.0,"#
          + #""since":"2026-11-21T09:00:00Z","silent":false}"#
      ])
    try read(5.1, after: .seconds(1))
    #expect(kiosk.reports.isEmpty)
    let report = try SensorReport(payload: report.payload)
    #expect(report == self.report)
  }
}

extension Decision {
  /// The kinds of the entries about sensors, without hours.
  fileprivate var steps: [SensorStep.Kind] { allSteps.filter { $0 != .hour } }

  fileprivate var allSteps: [SensorStep.Kind] {
    transaction.records.compactMap {
      if case .sensor(let step) = $0.row.entry.outcome { step.kind } else { nil }
    }
  }
}

extension Delivery {
  fileprivate static func sensor(_ payload: String, retain: Bool = false) -> Delivery {
    Delivery(
      message: Message(topic: "t/fridge", payload: Array(payload.utf8), retain: retain),
      packetID: 0)
  }

  fileprivate static func decision(payload: String) -> Delivery {
    message(payload, on: "job/anna")
  }

  fileprivate static func decision(
    _ choice: String, word: String = "measured 4 °C", id: String? = nil
  ) -> Delivery {
    let id = id.map { #""id":"\#($0)","# } ?? ""
    return decision(
      payload: #"{\#(id)"sensor":"fridge","decision":"\#(choice)","word":"\#(word)"}"#)
  }

  fileprivate static func machineStatus(_ text: String) -> Delivery {
    message(text, on: "machine/bar/status")
  }
}
