import MessageBroker
import Testing

/// Limits for the parts of a received message.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct LimitTests {
  static let limits = {
    var limits = MessageLimits.commands
    (limits.packet, limits.payload, limits.correlationData) = (20_000, 10, 4)
    (limits.topic, limits.topicLevels) = (12, 3)
    (limits.responseTopic, limits.responseTopicLevels) = (8, 2)
    return limits
  }()

  static let tooLarge: [(Message, Delivery.Excess?, Message)] = [
    (
      Message(topic: "a/0123456789", payload: Array(0..<10)),
      nil, Message(topic: "a/0123456789", payload: Array(0..<10))
    ),
    (
      Message(topic: "a/01234567890", text: ""),
      .topic, Message(topic: "a/0123456789", text: "")
    ),
    (Message(topic: "a/b/c/d", text: ""), .topic, Message(topic: "a/b/c/d", text: "")),
    (
      Message(topic: "a/b", payload: Array(0..<11)),
      .payload, Message(topic: "a/b", payload: Array(0..<10))
    ),
    (
      Message(topic: "a/b", payload: [1], responseTopic: "012345678", correlationData: [1, 2]),
      .responseTopic, Message(topic: "a/b", payload: [1], correlationData: [1, 2])
    ),
    (
      Message(topic: "a/b", payload: [1], responseTopic: "a/b/c"),
      .responseTopic, Message(topic: "a/b", payload: [1])
    ),
    (
      Message(topic: "a/b", payload: [1], responseTopic: "a/b", correlationData: Array(0..<5)),
      .correlationData, Message(topic: "a/b", payload: [1], responseTopic: "a/b")
    ),
  ]

  @Test(arguments: BrokerKind.allCases.filter(\.speaksVersion5))
  func whatIsTooLargeIsCutOffAndTold(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk", "a/#") { $0.limits = Self.limits }
      let panel = try await fixture.onlineClient("panel")
      try await panel.publishAndConfirm(Self.tooLarge.map(\.0))
      let deliveries = try await kiosk.nextDeliveries(Self.tooLarge.count)
      for (delivery, (_, excess, message)) in zip(deliveries, Self.tooLarge) {
        #expect(delivery.excess == excess)
        #expect(delivery.message == message)
      }
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func topicAndPayloadAreCutOffOnEachProtocol(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk", "a/#") { $0.limits = Self.limits }
      let panel = try await fixture.onlineClient("panel")
      try await panel.publishAndConfirm([
        Message(topic: "a/01234567890", text: "fits"), Message(topic: "a/b", text: "fits not: 11"),
      ])
      let deliveries = try await kiosk.nextDeliveries(2)
      #expect(deliveries.map(\.message.topic) == ["a/0123456789", "a/b"])
      #expect(deliveries.map(\.text) == ["fits", "fits not: "])
      #expect(deliveries.map(\.excess) == [.topic, .payload])
    }
  }

  /// A packet that is too large does not block later ones, neither for a connected client nor in
  /// its queue.
  @Test(arguments: BrokerKind.allCases.filter(\.speaksVersion5))
  func aPacketThatIsTooLargeNeverArrives(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk", "a/#") {
        $0.lasts()
        $0.limits = Self.limits
      }
      let panel = try await fixture.onlineClient("panel")
      let large = Message(topic: "a/b", payload: Array(repeating: 0, count: 30_000))
      try await panel.publishAndConfirm([large, Message(topic: "a/b", text: "1")])
      #expect(try await kiosk.nextTexts(1) == ["1"])
      await kiosk.disconnect(grace: .seconds(5))
      try await panel.publishAndConfirm([
        large, Message(topic: "a/b", text: "2"), large, Message(topic: "a/b", text: "3"),
      ])
      let again = try await fixture.client("kiosk")
      var options = SessionOptions(
        clientID: "kiosk", subscriptions: [try TopicFilter("a/#")], limits: Self.limits)
      options.lasts()
      await again.connect(options)
      #expect(try await again.nextTexts(2) == ["2", "3"])
    }
  }
}
