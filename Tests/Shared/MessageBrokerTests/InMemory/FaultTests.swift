import InMemoryBroker
import MessageBroker
import Testing

/// A connection loss at each step of the cycle, and its effects on the client and on others.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct FaultTests {
  private typealias Fault = MemoryBroker.Fault

  /// A kiosk with one unacknowledged order and a deferred answer: which of them take effect.
  @Test(arguments: [
    // An order is redelivered whether its acknowledgement was lost or not sent.
    (Fault(.after, .delivery, of: "kiosk"), comesAgain: true, answers: 0),
    (Fault(.before, .acknowledge, of: "kiosk"), comesAgain: true, answers: 0),
    (Fault(.before, .puback, of: "kiosk"), comesAgain: true, answers: 0),
    // The answers are sent after the acknowledgements, and are lost without them.
    (Fault(.after, .puback, of: "kiosk"), comesAgain: false, answers: 0),
    (Fault(.before, .publish, of: "kiosk"), comesAgain: false, answers: 0),
    (Fault(.after, .publish, of: "kiosk"), comesAgain: false, answers: 1),
    (Fault(.before, .publish, of: "kiosk", skipping: 1), comesAgain: false, answers: 1),
    (Fault(.after, .acknowledge, of: "kiosk"), comesAgain: false, answers: 2),
  ])
  func eachStepOfTheCycle(fault: MemoryBroker.Fault, comesAgain: Bool, answers: Int) async throws {
    let fixture = InMemoryFixture()
    let broker = fixture.broker
    let kiosk = try await fixture.onlineClient("kiosk", "orders") { $0.lasts() }
    let panel = try await fixture.onlineClient("panel", "results")
    broker.inject(fault)
    try await panel.publishAndConfirm([Message(topic: "orders", text: "order")])

    _ = try await kiosk.nextBatch()
    try await kiosk.publish([
      Message(topic: "results", text: "1"), Message(topic: "results", text: "2"),
    ])
    await kiosk.acknowledge()
    try await kiosk.expectOffline()
    #expect(await kiosk.confirmed == 0, "no confirmation arrives on a broken connection")
    #expect(broker.queueDepth(of: "kiosk") == (comesAgain ? 1 : 0))
    if answers > 0 { #expect(try await panel.nextDeliveries(answers).count == answers) }
    #expect(await panel.nextEvent(timeout: .zero) == nil)

    fixture.letReconnect()
    if comesAgain { #expect(try await kiosk.nextBatch().map(\.isRedelivery) == [true]) }
    await kiosk.acknowledge()
    try await kiosk.expectOnline()
    #expect(await kiosk.nextEvent(timeout: .zero) == nil, "the fault happens once")
  }

  @Test func aConnectionThatBreaksBeforeABatchIsHandedOver() async throws {
    let fixture = InMemoryFixture()
    let kiosk = try await fixture.onlineClient("kiosk", "orders") { $0.lasts() }
    let panel = try await fixture.onlineClient("panel")
    fixture.broker.inject(Fault(.before, .delivery, of: "kiosk"))
    try await panel.publishAndConfirm([Message(topic: "orders", text: "order")])
    try await kiosk.expectOffline()
    fixture.letReconnect()
    let deliveries = try await kiosk.nextDeliveries(1)
    #expect(deliveries.map(\.isRedelivery) == [true], "the broker has sent it once before")
  }

  @Test(arguments: Fault.Moment.allCases)
  func aConnectThatBreaks(moment: MemoryBroker.Fault.Moment) async throws {
    let fixture = InMemoryFixture()
    fixture.broker.inject(Fault(moment, .connect, of: "kiosk"))
    let kiosk = fixture.client("kiosk")
    var options = SessionOptions(clientID: "kiosk")
    options.lasts()
    await kiosk.connect(options)
    #expect(fixture.broker.sessionExists("kiosk") == (moment == .after))
    #expect(try await kiosk.expectOffline() == .connectionLost("the connection broke"))
    fixture.letReconnect()
    try await kiosk.expectOnline()
  }

  @Test func onlySomeOfABatchIsAcknowledged() async throws {
    let fixture = InMemoryFixture()
    let kiosk = try await fixture.onlineClient("kiosk", "orders") { $0.lasts() }
    let panel = try await fixture.onlineClient("panel")
    try await panel.publishAndConfirm((1...3).map { Message(topic: "orders", text: "\($0)") })
    fixture.broker.inject(Fault(.after, .puback, of: "kiosk", skipping: 1))
    _ = try await kiosk.nextBatch()
    await kiosk.acknowledge()
    fixture.letReconnect()
    #expect(try await kiosk.nextTexts(1) == ["3"])
  }

  @Test func aKilledClientDoesNothingMore() async throws {
    let fixture = InMemoryFixture()
    let display = try await fixture.onlineClient("display", "status", "results")
    let kiosk = fixture.broker.client()
    var options = SessionOptions(clientID: "kiosk", subscriptions: [try TopicFilter("orders")])
    options.will = Message(topic: "status", text: "offline")
    options.lasts()
    await kiosk.connect(options)
    try await kiosk.expectOnline()
    try await display.publishAndConfirm([Message(topic: "orders", text: "order")])
    let first = try await kiosk.nextBatch()
    let waiting = Task { await kiosk.nextEvent(timeout: nil) }

    fixture.broker.kill(kiosk)
    #expect(await waiting.value == nil)
    #expect(await kiosk.nextEvent(timeout: nil) == nil)
    #expect(try await display.nextTexts(1) == ["offline"])
    fixture.broker.inject(Fault(.before, .acknowledge, of: "kiosk"))
    await kiosk.acknowledge()
    try await kiosk.publish([Message(topic: "results", text: "ghost")])
    #expect(fixture.broker.nextDeadline == nil, "it does not come back")
    fixture.broker.advance(by: .seconds(100))
    #expect(await display.nextEvent(timeout: .zero) == nil)

    let again = try await fixture.resumedClient("kiosk", "orders").nextBatch()
    #expect(again.map(\.packetID) == first.map(\.packetID))
  }

  @Test func aDroppedSessionDeliversNothing() async throws {
    let fixture = InMemoryFixture()
    let kiosk = try await fixture.onlineClient("kiosk", "orders") { $0.lasts() }
    let panel = try await fixture.onlineClient("panel")
    try await panel.publishAndConfirm([Message(topic: "orders", text: "order")])
    fixture.broker.dropSession(of: "kiosk")
    #expect(!fixture.broker.sessionExists("kiosk"))
    try await kiosk.expectOffline()
    fixture.letReconnect()
    try await kiosk.expectOnline()
    #expect(await kiosk.nextEvent(timeout: .zero) == nil)
  }

  @Test func aPowerCutLosesWhatCameAfterTheLastSave() async throws {
    let fixture = InMemoryFixture()
    let broker = fixture.broker
    let kiosk = try await fixture.onlineClient("kiosk", "orders") { $0.lasts() }
    let panel = try await fixture.onlineClient("panel")
    try await panel.publishAndConfirm([
      Message(topic: "orders", text: "saved"), Message(topic: "stock", text: "7", retain: true),
    ])
    broker.save()
    try await panel.publishAndConfirm([
      Message(topic: "orders", text: "lost"), Message(topic: "stock", text: "6", retain: true),
    ])
    broker.stop()
    broker.start(restoring: .lastSave)
    #expect(broker.retained("stock")?.payload == Array("7".utf8))
    fixture.letReconnect()
    let deliveries = try await kiosk.nextDeliveries(1)
    #expect(deliveries.map(\.text) == ["saved"])
    #expect(deliveries.map(\.isRedelivery) == [true])
  }

  @Test func aRefusedSubscriptionKeepsAClientOffline() async throws {
    let fixture = InMemoryFixture()
    let filter = try TopicFilter("orders")
    fixture.broker.refuseSubscription(to: filter)
    let kiosk = fixture.client("kiosk")
    await kiosk.connect(SessionOptions(clientID: "kiosk", subscriptions: [filter]))
    #expect(try await kiosk.event() == .sessionBegan)
    #expect(try await kiosk.expectOffline() == .subscriptionRefused(filter: "orders"))
    fixture.letReconnect()
    #expect(await kiosk.nextEvent(timeout: .zero) == .sessionBegan)
    #expect(await kiosk.nextEvent(timeout: .zero) == nil, "told once for each outage")
  }

  @Test func aRefusedPublishIsConfirmedAndGoesNowhere() async throws {
    let fixture = InMemoryFixture()
    fixture.broker.refusePublish(to: try TopicFilter("secret/#"))
    let display = try await fixture.onlineClient("display", "#")
    let panel = try await fixture.onlineClient("panel")
    try await panel.publishAndConfirm([
      Message(topic: "secret/a", text: "", retain: true), Message(topic: "open", text: ""),
    ])
    #expect(try await display.nextDeliveries(1).map(\.message.topic) == ["open"])
    #expect(fixture.broker.retainedTopics.isEmpty)
  }

  @Test func aPayloadThatTheBrokerDoesNotTakeCannotBePublished() async throws {
    let broker = MemoryBroker(maximumPayload: 4)
    let client = broker.client()
    await client.connect(SessionOptions(clientID: "kiosk"))
    try await client.expectOnline()
    await #expect(throws: BrokerError.self) {
      try await client.publish([Message(topic: "a", payload: Array(repeating: 0, count: 5))])
    }
    try await client.publishAndConfirm([Message(topic: "a", payload: [0, 0, 0, 0])])
  }
}
