import Devices
import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import Ledger
import Logging
import MessageBroker
import Testing

@Suite struct KioskControllerTests {
  private let fixture: KioskFixture

  init() throws { fixture = try KioskFixture() }

  @Test func aPressBecomesAJuice() throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.publish("strawberry_banana", to: "kiosk/k1/order/p1", by: panel)
    let result = try #require(try panel.takeResults().first)
    #expect(result.status == .ready)
    #expect(result.ticket == 1)
    #expect(result.used == ["strawberry": 10, "banana": 1])
    #expect(fixture.retained("stock/strawberry") == "0")
    #expect(fixture.retained("stock/banana") == "9")
    #expect(fixture.retained("juice/strawberry_banana") == "0")
    #expect(fixture.retained("alert/strawberry") == "out")
  }

  /// Measures the effect of a flood on another panel: the entries before its own, and the messages
  /// to write.
  @Test(arguments: [0, 20])
  func aFloodTakesNoMoreThanItsShare(limit: Int) throws {
    let fixture = try KioskFixture { $0.orders.maximumPerSecond = limit }
    try fixture.startKiosk()
    let (panel, flood) = (try fixture.panel(), try fixture.testClient("flood"))
    let turns = fixture.conditions.count
    let presses = (1...500).map { _ in Message(topic: "kiosk/k1/order/flood", text: "tea") }
    let press = Message(topic: "kiosk/k1/order/p1", text: "kiwi")
    Task(executorPreference: fixture.executor) { [client = flood.client] in
      _ = try await client.publish(presses + [press])
    }
    fixture.executor.run()

    let result = try #require(try panel.takeResults().first)
    #expect(result.status == .ready)
    // The opening entries come first. Without a limit each press of the flood has an entry.
    let before = try fixture.ledger { try $0.rows(after: 0).map(\.row.entry) }.filter {
      $0.source?.name == "flood" && $0.seq < result.seq ?? 0
    }
    #expect(before.count == (limit == 0 ? 500 : limit))
    #expect(fixture.conditions.count - turns <= 4, "one batch of 501, and what follows it")
  }

  @Test func allStateIsRetainedOnceTheKioskIsOnline() throws {
    try fixture.startKiosk()
    #expect(fixture.retained("status") == "online")
    #expect(fixture.retained("service") == "open")
    for fruit in Menu.standard.fruits { #expect(fixture.retained("stock/\(fruit.id)") == "10") }
    #expect(fixture.retained("juice/strawberry") == "0")
    #expect(fixture.retained("juice/banana") == "5")
    for topic in ["stock", "menu", "info", "health"] { #expect(fixture.retained(topic) != nil) }
  }

  /// A computer without a hardware clock gets its time from the network after the start.
  @Test(arguments: [3_600, -3_600] as [Int64]) func settingTheClockDoesNotChangeTheUptime(
    ahead: Int64
  ) throws {
    try fixture.startKiosk()
    #expect(fixture.retained("info")?.contains(#""started_at":"2026-11-21T09:00:00Z""#) == true)
    fixture.advance(by: .seconds(100))
    fixture.setClock(ahead: ahead)
    fixture.advance(by: .seconds(40))
    let report = try #require(fixture.retained("health"))
    let health = try KioskHealth(payload: Array(report.utf8))
    #expect((100...140).contains(health.uptime))
    fixture.crashConnection(for: .seconds(1))
    fixture.advance(by: .seconds(20))
    let text = try #require(fixture.retained("info"))
    let info = try KioskInfo(payload: Array(text.utf8))
    let start = try #require(Timestamp("2026-11-21T09:00:00Z"))
    #expect(info.startedAt.since(start) == .seconds(ahead))
  }

  @Test func aCrashIsSeenAndARestartRepairsTheStatus() throws {
    try fixture.startKiosk()
    fixture.crashKiosk()
    #expect(fixture.retained("status") == "offline")
    try fixture.startKiosk()
    #expect(fixture.retained("status") == "online")
  }

  /// Fruit expires without a message, also while the kiosk is offline.
  @Test(arguments: [true, false]) func fruitExpiresByItself(isOnline: Bool) throws {
    let fixture = try KioskFixture { settings in
      let fruits = Menu.standard.fruits.map {
        Fruit(id: $0.id, name: $0.name, keepsHours: $0.id == "kiwi" ? 2 : nil)
      }
      settings.menu =
        (try? Menu(fruits: fruits, juices: Menu.standard.juices)) ?? settings.menu
    }
    try fixture.startKiosk()
    #expect(fixture.retained("freshness/kiwi") == "2026-11-21T11:00:00Z")
    fixture.advance(by: .seconds(7_199))
    #expect(fixture.retained("stock/kiwi") == "10")
    if isOnline {
      fixture.advance(by: .seconds(1))
    } else {
      fixture.crashConnection(for: .seconds(60))
      fixture.advance(by: .seconds(60))
    }
    #expect(fixture.retained("stock/kiwi") == "0" && fixture.retained("juice/kiwi") == "0")
    #expect(fixture.retained("freshness/kiwi") == "none")
    #expect(fixture.retained("stock")?.hasSuffix(#""expired":{"kiwi":10}}"#) == true)
    fixture.advance(by: .seconds(40))
    #expect(fixture.retained("health")?.contains(#""expired":1,"clock_behind":0,"#) == true)
  }

  @Test func aCleanStopSaysOffline() throws {
    try fixture.startKiosk()
    fixture.stopKiosk()
    #expect(fixture.retained("status") == "offline")
  }

  @Test(
    arguments: [MemoryBroker.Fault.Moment.before, .after], MemoryBroker.Fault.Step.allCases)
  func aConnectionThatBreaksAtAnyStepNeitherLosesNorDoublesAPress(
    moment: MemoryBroker.Fault.Moment, step: MemoryBroker.Fault.Step
  ) throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.broker.inject(MemoryBroker.Fault(moment, step, of: "kiosk"))
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    fixture.broker.cut("kiosk")
    fixture.advance(by: .seconds(10))
    #expect(fixture.retained("stock/banana") == "8")
    #expect(try panel.takeResults().contains { $0.status == .ready })
  }

  @Test(
    arguments: [MemoryBroker.Fault.Moment.before, .after], MemoryBroker.Fault.Step.allCases)
  func aCrashAtAnyStepNeitherLosesNorDoublesAPress(
    moment: MemoryBroker.Fault.Moment, step: MemoryBroker.Fault.Step
  ) throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.broker.inject(MemoryBroker.Fault(moment, step, of: "kiosk"))
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    fixture.publish(#"{"id":"a","juice":"banana"}"#, to: "kiosk/k1/order/p1", by: panel)
    fixture.crashKiosk()
    try fixture.startKiosk()
    fixture.advance(by: .seconds(5))
    #expect(fixture.retained("stock/banana") == "6")
    let results = try panel.takeResults()
    #expect(Set(results.compactMap(\.ticket)) == [1, 2])
  }

  /// A new session starts with the packet ids with which the old one started.
  @Test func aPressInANewSessionIsNoRepetitionOfOneInTheOldSession() throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    fixture.broker.dropSession(of: "kiosk")
    fixture.advance(by: .seconds(5))
    fixture.broker.inject(MemoryBroker.Fault(.before, .delivery, of: "kiosk"))
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    fixture.advance(by: .seconds(5))
    #expect(fixture.retained("stock/banana") == "6")
    #expect(try panel.takeResults().map(\.ticket) == [1, 2])
  }

  @Test func whatQueuedForTooLongDoesNotPour() throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.crashKiosk()
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    fixture.advance(by: .seconds(31))
    try fixture.startKiosk()
    #expect(fixture.retained("stock/banana") == "10")
  }

  /// The same in one process, which only the session expiry prevents.
  @Test(arguments: [(20, "8"), (31, "10")])
  func whatQueuedDuringAnOutagePoursOnlyForAShortWhile(seconds: Int, banana: String) throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.broker.refuseLogins()
    fixture.broker.cut("kiosk")
    fixture.executor.run()
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    fixture.advance(by: .seconds(seconds))
    fixture.broker.refuseLogins(false)
    fixture.advance(by: .seconds(60))
    #expect(fixture.retained("status") == "online")
    #expect(fixture.retained("stock/banana") == banana)
  }

  /// The first event of a Shelly after a long outage may be hours old, and only the uptime shows the length of the
  /// outage.
  @Test(arguments: [(5, 7_200, "8"), (60, -60, "10")] as [(Int, Int64, String)])
  func settingTheClockDuringAnOutageDoesNotChangeItsLength(
    seconds: Int, ahead: Int64, banana: String
  ) throws {
    let fixture = try KioskFixture { settings in
      settings.panels = [
        PanelBinding(
          name: "hall", dialect: .shellyGen1, topic: "shellies/s1",
          buttons: ["single": .order(Order(juice: "banana"))])
      ]
    }
    let topic = "shellies/s1/input_event/0"
    try fixture.startKiosk()
    let shelly = try fixture.testClient("shelly")
    // The absence before the first connection is of unknown length.
    fixture.advance(by: .seconds(60))
    fixture.publish(#"{"event":"S","event_cnt":1}"#, to: topic, by: shelly)
    fixture.broker.refuseLogins()
    fixture.broker.cut("kiosk")
    fixture.advance(by: .seconds(seconds))
    fixture.setClock(ahead: ahead)
    fixture.broker.refuseLogins(false)
    fixture.advance(by: .seconds(30))
    #expect(fixture.retained("status") == "online")
    fixture.publish(#"{"event":"S","event_cnt":2}"#, to: topic, by: shelly)
    #expect(fixture.retained("stock/banana") == banana)
  }

  @Test func whatQueuedForAShortWhilePours() throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.advance(by: .seconds(60))
    fixture.crashKiosk()
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    fixture.advance(by: .seconds(20))
    try fixture.startKiosk()
    #expect(fixture.retained("stock/banana") == "8")
    #expect(try panel.takeResults().map(\.status) == [.ready])
  }

  @Test func aRetainedOrderIsNeverMade() throws {
    let panel = try fixture.panel()
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel, retain: true)
    try fixture.startKiosk()
    #expect(try panel.takeResults().map(\.reason) == [.retained])
    #expect(fixture.retained("stock/banana") == "10")
  }

  @Test func everyEntryIsAnEventWithoutAGap() throws {
    let listener = try fixture.testClient("listener", subscribedTo: ["kiosk/k1/events"])
    try fixture.startKiosk()
    let panel = try fixture.panel()
    for _ in 1...5 { fixture.publish("kiwi", to: "kiosk/k1/order/p1", by: panel) }
    fixture.crashKiosk()
    try fixture.startKiosk()
    fixture.publish("kiwi", to: "kiosk/k1/order/p1", by: panel)
    let seqs = try listener.take().compactMap { message -> Int? in
      guard case .integer(let seq) = try JSON.parse(message.payload)["seq"] else { return nil }
      return seq
    }
    #expect(Set(seqs) == Set(1...7))
  }

  @Test func aJuiceThatLeavesTheMenuIsCleared() throws {
    try fixture.startKiosk()
    fixture.stopKiosk()
    fixture.settings.menu = try Menu(
      fruits: Menu.standard.fruits, juices: Menu.standard.juices.filter { $0.id != "kiwi" })
    try fixture.startKiosk()
    #expect(fixture.retained("juice/kiwi") == nil)
    #expect(fixture.retained("juice/banana") == "5")
    fixture.advance(by: .seconds(3_630))
    #expect(try !fixture.ledger { try $0.state() }.topics.contains("kiosk/k1/juice/kiwi"))
  }

  @Test func aRestockIsAppliedAndAnswered() throws {
    try fixture.startKiosk()
    let desk = try fixture.testClient("desk", subscribedTo: ["kiosk/k1/restock/desk/result"])
    fixture.publish(
      #"{"id":"r1","add":{"strawberry":20,"kiwi":-1},"set":{"mango":30}}"#,
      to: "kiosk/k1/restock/desk", by: desk)
    #expect(try desk.takeResults().map(\.status) == [.applied])
    #expect(fixture.retained("stock/strawberry") == "30")
    #expect(fixture.retained("stock/kiwi") == "9")
    #expect(fixture.retained("stock/mango") == "30")
  }

  @Test func aClosedKioskMakesNothing() throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.publish("closed", to: "kiosk/k1/service/p1", by: panel)
    #expect(fixture.retained("service") == "closed")
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    #expect(try panel.takeResults().map(\.reason) == [.closed])
    #expect(fixture.retained("stock/banana") == "10")
  }

  /// The task of the settings may run between the arrival of a batch and its commit.
  @Test func theAnswerToAChangeOfTheSettingsAcknowledgesNoBatch() async throws {
    let (client, panel) = (fixture.broker.client(), try fixture.panel())
    let clock = KioskClock { [broker = fixture.broker] in
      Moment(timestamp: KioskFixture.now(broker), day: 0, uptime: broker.now)
    }
    let controller = try Controller(
      settings: fixture.settings, broker: client, ledger: KioskLedger(path: fixture.ledgerPath),
      clock: clock, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let orders = try TopicFilter("kiosk/k1/order/+")
    await client.connect(SessionOptions(clientID: "kiosk", subscriptions: [orders]))
    while await client.nextEvent(timeout: nil) != .online {}
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    guard case .deliveries(let batch) = await client.nextEvent(timeout: nil) else {
      Issue.record("the order has not arrived")
      return
    }
    var (filter, tracker) = (CommandFilter(settings: fixture.settings), DeliveryTracker())
    for parsed in filter.admit(batch, tracker: &tracker, at: clock.now()) {
      await controller.answer(parsed, CommandResult(status: .applied))
    }
    #expect(fixture.broker.queueDepth(of: "kiosk") == 1)
    await client.acknowledge()
    fixture.executor.run()
    #expect(fixture.broker.queueDepth(of: "kiosk") == 0)
    #expect(try panel.takeResults().map(\.status) == [.applied])
  }

  /// The receiver of the changes takes each from the stream at once.
  @Test func atMostSixteenChangesOfTheSettingsWait() throws {
    try fixture.startKiosk()
    let controller = try #require(fixture.controller)
    let person = try fixture.testClient(
      "person", subscribedTo: ["kiosk/k1/settings/minji/result"])
    let (answers, answer) = AsyncStream.makeStream(of: Void.self)
    Task(executorPreference: fixture.executor) {
      var taken: [ParsedDelivery] = []
      for await change in controller.settingsChanges {
        taken.append(change)
        if taken.count == 16 { break }
      }
      for await _ in answers {
        for change in taken { await controller.answer(change, CommandResult(status: .applied)) }
      }
    }
    func send(_ numbers: ClosedRange<Int>) throws -> [RejectionReason?] {
      for number in numbers {
        fixture.publish(
          #"{"id":"s\#(number)","low":{"kiwi":9}}"#, to: "kiosk/k1/settings/minji", by: person)
      }
      return try person.takeResults().map(\.reason)
    }
    #expect(try send(1...18) == [.rateLimited, .rateLimited])
    answer.yield()
    answer.finish()
    fixture.executor.run()
    #expect(try person.takeResults().map(\.status) == Array(repeating: .applied, count: 16))
    #expect(try send(19...19) == [])
  }
}
