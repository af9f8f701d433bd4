import InMemoryBroker
import JuiceDomain
import KioskController
import KioskCore
import KioskMessages
import Ledger
import MessageBroker
import Testing

@Suite struct KioskControllerTests {
  private let scene: Scene

  init() throws { scene = try Scene() }

  @Test func aPressBecomesAJuice() throws {
    try scene.startKiosk()
    let panel = try scene.panel()
    scene.publish("strawberry_banana", to: "kiosk/k1/order/p1", by: panel)
    let result = try #require(try panel.takeResults().first)
    #expect(result.status == .ready)
    #expect(result.ticket == 1)
    #expect(result.used == ["strawberry": 10, "banana": 1])
    #expect(scene.retained("stock/strawberry") == "0")
    #expect(scene.retained("stock/banana") == "9")
    #expect(scene.retained("juice/strawberry_banana") == "0")
    #expect(scene.retained("alert/strawberry") == "out")
  }

  /// What a flood takes from another panel: the entries before its own, and the messages to write.
  @Test(arguments: [0, 20])
  func aFloodTakesNoMoreThanItsShare(limit: Int) throws {
    let scene = try Scene { $0.orders.maximumPerSecond = limit }
    try scene.startKiosk()
    let (panel, flood) = (try scene.panel(), try scene.person("flood"))
    let turns = scene.conditions.count
    let presses = (1...500).map { _ in Message(topic: "kiosk/k1/order/flood", text: "tea") }
    let press = Message(topic: "kiosk/k1/order/p1", text: "kiwi")
    Task(executorPreference: scene.executor) { [client = flood.client] in
      _ = try await client.publish(presses + [press])
    }
    scene.executor.run()

    let result = try #require(try panel.takeResults().first)
    #expect(result.status == .ready)
    // The opening entries come first. Without a limit the flood has one for each press.
    let before = try scene.ledger { try $0.rows(after: 0).map(\.row.entry) }.filter {
      $0.source?.name == "flood" && $0.seq < result.seq ?? 0
    }
    #expect(before.count == (limit == 0 ? 500 : limit))
    #expect(scene.conditions.count - turns <= 4, "one batch of 501, and what follows it")
  }

  @Test func allStateIsRetainedOnceTheKioskIsOnline() throws {
    try scene.startKiosk()
    #expect(scene.retained("status") == "online")
    #expect(scene.retained("service") == "open")
    for fruit in Menu.standard.fruits { #expect(scene.retained("stock/\(fruit.id)") == "10") }
    #expect(scene.retained("juice/strawberry") == "0")
    #expect(scene.retained("juice/banana") == "5")
    for topic in ["stock", "menu", "info", "health"] { #expect(scene.retained(topic) != nil) }
  }

  @Test func aCrashIsSeenAndARestartRepairsTheStatus() throws {
    try scene.startKiosk()
    scene.crashKiosk()
    #expect(scene.retained("status") == "offline")
    try scene.startKiosk()
    #expect(scene.retained("status") == "online")
  }

  @Test func aCleanStopSaysOffline() throws {
    try scene.startKiosk()
    scene.stopKiosk()
    #expect(scene.retained("status") == "offline")
  }

  @Test(
    arguments: [MemoryBroker.Fault.Moment.before, .after], MemoryBroker.Fault.Step.allCases)
  func aConnectionThatBreaksAtAnyStepNeitherLosesNorDoublesAPress(
    moment: MemoryBroker.Fault.Moment, step: MemoryBroker.Fault.Step
  ) throws {
    try scene.startKiosk()
    let panel = try scene.panel()
    scene.broker.inject(MemoryBroker.Fault(moment, step, of: "kiosk"))
    scene.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    scene.broker.cut("kiosk")
    scene.advance(by: .seconds(10))
    #expect(scene.retained("stock/banana") == "8")
    #expect(try panel.takeResults().contains { $0.status == .ready })
  }

  @Test(
    arguments: [MemoryBroker.Fault.Moment.before, .after], MemoryBroker.Fault.Step.allCases)
  func aCrashAtAnyStepNeitherLosesNorDoublesAPress(
    moment: MemoryBroker.Fault.Moment, step: MemoryBroker.Fault.Step
  ) throws {
    try scene.startKiosk()
    let panel = try scene.panel()
    scene.broker.inject(MemoryBroker.Fault(moment, step, of: "kiosk"))
    scene.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    scene.publish(#"{"id":"a","juice":"banana"}"#, to: "kiosk/k1/order/p1", by: panel)
    scene.crashKiosk()
    try scene.startKiosk()
    scene.advance(by: .seconds(5))
    #expect(scene.retained("stock/banana") == "6")
    let results = try panel.takeResults()
    #expect(Set(results.compactMap(\.ticket)) == [1, 2])
  }

  /// The packet ids of a new session begin where those of the old one began.
  @Test func aPressInANewSessionIsNoRepetitionOfOneInTheOldSession() throws {
    try scene.startKiosk()
    let panel = try scene.panel()
    scene.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    scene.broker.dropSession(of: "kiosk")
    scene.advance(by: .seconds(5))
    scene.broker.inject(MemoryBroker.Fault(.before, .delivery, of: "kiosk"))
    scene.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    scene.advance(by: .seconds(5))
    #expect(scene.retained("stock/banana") == "6")
    #expect(try panel.takeResults().map(\.ticket) == [1, 2])
  }

  @Test func whatQueuedForTooLongDoesNotPour() throws {
    try scene.startKiosk()
    let panel = try scene.panel()
    scene.crashKiosk()
    scene.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    scene.advance(by: .seconds(31))
    try scene.startKiosk()
    #expect(scene.retained("stock/banana") == "10")
  }

  @Test func whatQueuedForAShortWhilePours() throws {
    try scene.startKiosk()
    let panel = try scene.panel()
    scene.advance(by: .seconds(60))
    scene.crashKiosk()
    scene.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    scene.advance(by: .seconds(20))
    try scene.startKiosk()
    #expect(scene.retained("stock/banana") == "8")
    #expect(try panel.takeResults().map(\.status) == [.ready])
  }

  @Test func aRetainedOrderIsNeverMade() throws {
    let panel = try scene.panel()
    scene.publish("banana", to: "kiosk/k1/order/p1", by: panel, retain: true)
    try scene.startKiosk()
    #expect(try panel.takeResults().map(\.reason) == [.retained])
    #expect(scene.retained("stock/banana") == "10")
  }

  @Test func everyEntryIsAnEventWithoutAGap() throws {
    let listener = try scene.person("listener", hearing: ["kiosk/k1/events"])
    try scene.startKiosk()
    let panel = try scene.panel()
    for _ in 1...5 { scene.publish("kiwi", to: "kiosk/k1/order/p1", by: panel) }
    scene.crashKiosk()
    try scene.startKiosk()
    scene.publish("kiwi", to: "kiosk/k1/order/p1", by: panel)
    let seqs = try listener.take().compactMap { message -> Int? in
      guard case .integer(let seq) = try JSON.parse(message.payload)["seq"] else { return nil }
      return seq
    }
    #expect(Set(seqs) == Set(1...7))
  }

  @Test func aJuiceThatLeavesTheMenuIsCleared() throws {
    try scene.startKiosk()
    scene.stopKiosk()
    scene.settings.menu = try Menu(
      fruits: Menu.standard.fruits, juices: Menu.standard.juices.filter { $0.id != "kiwi" })
    try scene.startKiosk()
    #expect(scene.retained("juice/kiwi") == nil)
    #expect(scene.retained("juice/banana") == "5")
    scene.advance(by: .seconds(5))
    #expect(try !scene.ledger { try $0.state() }.topics.contains("kiosk/k1/juice/kiwi"))
  }

  @Test func aRestockIsAppliedAndAnswered() throws {
    try scene.startKiosk()
    let desk = try scene.person("desk", hearing: ["kiosk/k1/restock/desk/result"])
    scene.publish(
      #"{"id":"r1","add":{"strawberry":20,"kiwi":-1},"set":{"mango":30}}"#,
      to: "kiosk/k1/restock/desk", by: desk)
    #expect(try desk.takeResults().map(\.status) == [.applied])
    #expect(scene.retained("stock/strawberry") == "30")
    #expect(scene.retained("stock/kiwi") == "9")
    #expect(scene.retained("stock/mango") == "30")
  }

  @Test func aClosedKioskMakesNothing() throws {
    try scene.startKiosk()
    let panel = try scene.panel()
    scene.publish("closed", to: "kiosk/k1/service/p1", by: panel)
    #expect(scene.retained("service") == "closed")
    scene.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    #expect(try panel.takeResults().map(\.reason) == [.closed])
    #expect(scene.retained("stock/banana") == "10")
  }
}
