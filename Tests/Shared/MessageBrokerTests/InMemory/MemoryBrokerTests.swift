import MessageBroker
import Testing

@testable import InMemoryBroker

/// Properties of the in-memory broker beyond the contract: bounds, the clock, and the behavior of
/// other brokers.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct MemoryBrokerTests {
  @Test func aFullQueueDropsTheNewest() async throws {
    let fixture = InMemoryFixture(broker: MemoryBroker(queueLimit: 2))
    let kiosk = try await fixture.onlineClient("kiosk", "orders") { $0.lasts() }
    let panel = try await fixture.onlineClient("panel")
    await kiosk.disconnect(grace: .zero)
    try await panel.publishAndConfirm((1...4).map { Message(topic: "orders", text: "\($0)") })
    #expect(fixture.broker.queueDepth(of: "kiosk") == 2)
    let resumed = try await fixture.resumedClient("kiosk", "orders")
    #expect(try await resumed.nextTexts(2) == ["1", "2"])
  }

  /// Messages beyond the receive maximum of a connected client are queued, with the same bound.
  @Test func theReceiveMaximumHoldsBackWhatIsNotAcknowledged() async throws {
    let fixture = InMemoryFixture(broker: MemoryBroker(queueLimit: 3))
    let kiosk = try await fixture.onlineClient("kiosk", "orders") { $0.receiveMaximum = 2 }
    let panel = try await fixture.onlineClient("panel")
    try await panel.publishAndConfirm((1...9).map { Message(topic: "orders", text: "\($0)") })
    #expect(fixture.broker.queueDepth(of: "kiosk") == 5)
    #expect(try await kiosk.nextTexts(5) == ["1", "2", "3", "4", "5"])
  }

  @Test func aBatchHoldsNoMoreThanItsLimit() async throws {
    let broker = MemoryBroker()
    let kiosk = broker.client(batchLimit: 2)
    let filter = try TopicFilter("orders")
    await kiosk.connect(SessionOptions(clientID: "kiosk", subscriptions: [filter]))
    try await kiosk.expectOnline()
    let panel = try await InMemoryFixture(broker: broker).onlineClient("panel")
    try await panel.publishAndConfirm((1...3).map { Message(topic: "orders", text: "\($0)") })
    #expect(try await kiosk.nextBatch().count == 2)
    await kiosk.acknowledge()
    #expect(try await kiosk.nextBatch().count == 1)
  }

  /// Packet ids and DUP flags of two messages: the first unacknowledged at a connection loss, the
  /// second queued while the client is disconnected.
  @Test(arguments: [
    (MemoryBroker.Behavior.mosquitto, ids: [UInt16(2), 3], marks: [true, false]),
    (.rabbitMQ, ids: [1, 2], marks: [true, false]),
    (.ejabberd, ids: [2, 3], marks: [true, true]),
  ])
  func behavior(behavior: MemoryBroker.Behavior, ids: [UInt16], marks: [Bool]) async throws {
    let fixture = InMemoryFixture(broker: MemoryBroker(behavior: behavior))
    let kiosk = try await fixture.onlineClient("kiosk", "orders") { $0.lasts() }
    let panel = try await fixture.onlineClient("panel")
    try await panel.publishAndConfirm([Message(topic: "orders", text: "settled")])
    _ = try await kiosk.nextDeliveries(1)
    try await panel.publishAndConfirm([Message(topic: "orders", text: "1")])
    #expect(try await kiosk.nextBatch().map(\.packetID) == [2])
    fixture.broker.cut("kiosk")
    await kiosk.acknowledge()
    try await panel.publishAndConfirm([Message(topic: "orders", text: "2")])
    fixture.letReconnect()

    let deliveries = try await kiosk.nextDeliveries(2)
    #expect(deliveries.map(\.text) == ["1", "2"])
    #expect(deliveries.map(\.packetID) == ids)
    #expect(deliveries.map(\.isRedelivery) == marks)
  }

  @Test func ejabberdHasOneMessageInFlight() async throws {
    let fixture = InMemoryFixture(broker: MemoryBroker(behavior: .ejabberd))
    let kiosk = try await fixture.onlineClient("kiosk", "orders")
    let panel = try await fixture.onlineClient("panel")
    try await panel.publishAndConfirm((1...2).map { Message(topic: "orders", text: "\($0)") })
    #expect(try await kiosk.nextBatch().map(\.text) == ["1"])
    await kiosk.acknowledge()
    #expect(try await kiosk.nextBatch().map(\.text) == ["2"])
  }

  @Test func packetIDsPassOverZeroAndThoseInUse() {
    var session = ServerSession()
    var options = SessionOptions(clientID: "kiosk")
    options.receiveMaximum = 2
    session.open(options, by: 0, resumed: false, behavior: .mosquitto)
    let message = StoredMessage(Message(topic: "a", text: ""), at: .zero)
    var ids: [UInt16] = []
    for _ in 1...65_537 {
      session.enqueue(message, limit: 1, behavior: .mosquitto)
      guard let id = session.nextDelivery(at: .zero)?.packetID else { break }
      ids.append(id)
      if id > 1 { session.acknowledge(id) }
    }
    #expect(ids.prefix(65_535) == ArraySlice(1...65_535))
    #expect(ids.suffix(2) == [2, 3])
  }

  @Test func attemptsToReconnectBackOff() async throws {
    let fixture = InMemoryFixture()
    let broker = fixture.broker
    let kiosk = try await fixture.onlineClient("kiosk")
    broker.stop()
    var delays: [Duration] = []
    for _ in 1...8 {
      let due = try #require(broker.nextDeadline)
      delays.append(due - broker.now)
      broker.advance(by: due - broker.now)
    }
    #expect(delays == [1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
    #expect(try await kiosk.event() == .offline(.connectionLost("the broker was stopped")))
    #expect(try await kiosk.event() == .offline(.unreachable("nothing listens")))
    #expect(await kiosk.nextEvent(timeout: .zero) == nil, "told once for each reason")

    broker.start()
    fixture.letReconnect()
    try await kiosk.expectOnline()
    broker.advance(by: .seconds(61))
    broker.cut("kiosk")
    #expect(broker.nextDeadline == broker.now + .seconds(1), "the delay starts anew")
  }

  @Test func aTakeoverPublishesTheWill() async throws {
    let fixture = InMemoryFixture()
    let display = try await fixture.onlineClient("display", "status")
    let older = try await fixture.onlineClient("kiosk") {
      $0.will = Message(topic: "status", text: "offline")
    }
    _ = try await fixture.onlineClient("kiosk")
    #expect(try await display.nextTexts(1) == ["offline"])
    #expect(try await older.expectOffline() == .sessionTakenOver)
  }

  /// A process that was suspended must not execute outdated orders in its socket.
  @Test func whatWaitedInTheSocketForTooLongIsNotRead() async throws {
    let fixture = InMemoryFixture()
    let kiosk = try await fixture.onlineClient("kiosk", "orders") { $0.lasts(.seconds(30)) }
    let panel = try await fixture.onlineClient("panel")
    try await panel.publishAndConfirm([Message(topic: "orders", text: "old")])
    fixture.broker.advance(by: .seconds(31))
    try await kiosk.expectOffline()
    fixture.letReconnect()
    try await kiosk.expectOnline()
    try await panel.publishAndConfirm([Message(topic: "orders", text: "new")])
    #expect(try await kiosk.nextTexts(1) == ["new"])
  }

  @Test func retainedMessagesCanBeLookedAtAndExpire() async throws {
    let fixture = InMemoryFixture()
    let kiosk = try await fixture.onlineClient("kiosk")
    try await kiosk.publishAndConfirm([
      Message(topic: "b", payload: [1], retain: true),
      Message(topic: "a", payload: [2], retain: true, expiry: 5),
    ])
    #expect(fixture.broker.retainedTopics == ["a", "b"])
    fixture.broker.advance(by: .milliseconds(3500))
    #expect(fixture.broker.retained("a")?.expiry == 2)
    fixture.broker.advance(by: .milliseconds(1500))
    #expect(fixture.broker.retainedTopics == ["b"])
    #expect(fixture.broker.retained("a") == nil)
  }

  /// Messages beyond the receive maximum are kept for the next connection, except those with QoS 0.
  @Test func qos0IsForgottenWithTheConnection() async throws {
    let fixture = InMemoryFixture()
    let kiosk = try await fixture.onlineClient("kiosk", "orders") {
      $0.lasts()
      $0.receiveMaximum = 1
    }
    let panel = try await fixture.onlineClient("panel")
    try await panel.publishAndConfirm([
      Message(topic: "orders", text: "1"), Message(topic: "orders", text: "2"),
      Message(topic: "orders", text: "0", qos: .atMostOnce), Message(topic: "orders", text: "3"),
    ])
    fixture.broker.cut("kiosk")
    try await kiosk.expectOffline()
    fixture.letReconnect()
    #expect(try await kiosk.nextTexts(3) == ["1", "2", "3"])
  }

  /// A connection exists for the client only once it has received an event of it, as with a real
  /// broker.
  @Test func aClientPublishesOnlyOnAConnectionThatItKnowsOf() async throws {
    let fixture = InMemoryFixture()
    let display = try await fixture.onlineClient("display", "stock")
    let kiosk = fixture.client("kiosk")
    await kiosk.connect(SessionOptions(clientID: "kiosk"))
    try await kiosk.publish([Message(topic: "stock", text: "too early")])
    try await kiosk.expectOnline()
    fixture.broker.cut("kiosk")
    fixture.letReconnect()
    try await kiosk.publish([Message(topic: "stock", text: "too early again")])
    try await kiosk.expectOnline()
    try await kiosk.publish([Message(topic: "stock", text: "7")])
    try await kiosk.expectConfirmed(3)
    #expect(try await display.nextTexts(1) == ["7"])
  }

  @Test func whatIsRedeliveredExpiresToo() async throws {
    let fixture = InMemoryFixture()
    let kiosk = try await fixture.onlineClient("kiosk", "orders") { $0.lasts() }
    let panel = try await fixture.onlineClient("panel")
    try await panel.publishAndConfirm([
      Message(topic: "orders", payload: [1], expiry: 1), Message(topic: "orders", payload: [2]),
    ])
    fixture.broker.cut("kiosk")
    fixture.letReconnect()
    #expect(try await kiosk.nextDeliveries(1).map(\.message.payload) == [[2]])
  }

  /// A client that is disconnected while its broker is stopped cannot detect the loss of its
  /// session.
  @Test func aSessionThatIsGoneRedeliversNothing() async throws {
    let fixture = InMemoryFixture()
    let kiosk = try await fixture.onlineClient("kiosk", "orders") { $0.lasts() }
    fixture.broker.dropSession(of: "kiosk")
    try await kiosk.expectOffline()
    let next = try await fixture.onlineClient("kiosk") { $0.lasts() }
    let panel = try await fixture.onlineClient("panel")
    try await panel.publishAndConfirm([Message(topic: "orders", text: "order")])
    #expect(await next.nextEvent(timeout: .zero) == nil, "its subscriptions are gone")
  }
}
