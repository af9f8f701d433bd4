import MessageBroker
import Testing

/// Properties of published messages, confirmations, and messages that cannot be published.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct PublishingTests {
  @Test(arguments: BrokerKind.allCases)
  func confirmedCountsWhatWasPublishedWithQoS1(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk")
      #expect(await kiosk.confirmed == 0)
      let first = try await kiosk.publish([
        Message(topic: "a", text: ""), Message(topic: "a", text: "", qos: .atMostOnce),
        Message(topic: "a", text: ""),
      ])
      #expect(first == 2)
      try await kiosk.expectConfirmed(2)
      #expect(try await kiosk.publish([Message(topic: "a", text: "", qos: .atMostOnce)]) == 2)
      #expect(try await kiosk.publish([Message(topic: "a", text: "")]) == 3)
      try await kiosk.expectConfirmed(3)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func confirmedIsAnEventOfItsOwn(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk")
      try await kiosk.publish([Message(topic: "a", text: "")])
      #expect(try await kiosk.event() == .confirmed)
      #expect(await kiosk.confirmed == 1)
    }
  }

  /// A dropped message consumes a number as well; otherwise it would be mistaken for a confirmed
  /// one.
  @Test(arguments: BrokerKind.allCases)
  func whatIsPublishedWithoutAConnectionIsDropped(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let display = try await fixture.onlineClient("display", "stock")
      let kiosk = try await fixture.client("kiosk")
      #expect(try await kiosk.publish([Message(topic: "stock", text: "dropped")]) == 1)
      await kiosk.connect(SessionOptions(clientID: "kiosk"))
      try await kiosk.expectOnline()
      #expect(await kiosk.confirmed == 0)

      #expect(try await kiosk.publish([Message(topic: "stock", text: "sent")]) == 2)
      try await kiosk.expectConfirmed(2)
      #expect(try await display.nextTexts(1) == ["sent"])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aDeliveryHasTheQoSOfItsMessage(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let display = try await fixture.onlineClient("display", "stock")
      let kiosk = try await fixture.onlineClient("kiosk")
      try await kiosk.publishAndConfirm([
        Message(topic: "stock", text: "0", qos: .atMostOnce), Message(topic: "stock", text: "1"),
      ])
      let deliveries = try await display.nextDeliveries(2)
      #expect(deliveries.map(\.message.qos) == [.atMostOnce, .atLeastOnce])
      #expect(deliveries.map { $0.packetID > 0 } == [false, true])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func payloadsAreBytes(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let display = try await fixture.onlineClient("display", "bytes")
      let kiosk = try await fixture.onlineClient("kiosk")
      let payloads = [[], [0, 255, 0], Array(repeating: UInt8(7), count: 100_000)]
      try await kiosk.publishAndConfirm(payloads.map { Message(topic: "bytes", payload: $0) })
      #expect(try await display.nextDeliveries(3).map(\.message.payload) == payloads)
    }
  }

  @Test(arguments: BrokerKind.allCases.filter(\.speaksVersion5))
  func aRequestCarriesItsResponseTopicAndCorrelationData(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk", "orders")
      let panel = try await fixture.onlineClient("panel")
      let request = Message(
        topic: "orders", payload: [1], responseTopic: "orders/answer", correlationData: [0, 9])
      try await panel.publishAndConfirm([request])
      #expect(try await kiosk.nextDeliveries(1).map(\.message) == [request])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aTopicWithAWildcardCannotBePublishedTo(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let display = try await fixture.onlineClient("display", "stock/#")
      let kiosk = try await fixture.onlineClient("kiosk")
      let error = await #expect(throws: BrokerError.self) {
        try await kiosk.publish([
          Message(topic: "stock/kiwi", text: "1"), Message(topic: "stock/+", text: "2"),
          Message(topic: "stock/mango", text: "3"), Message(topic: "", text: "4"),
        ])
      }
      guard case .cannotPublish(let topics, _) = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(topics == ["stock/+", ""])
      #expect(try await display.nextTexts(2) == ["1", "3"])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func disconnectWritesOutWhatWasPublished(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let display = try await fixture.onlineClient("display", "stock")
      let kiosk = try await fixture.onlineClient("kiosk")
      let texts = (1...50).map(String.init)
      let last = try await kiosk.publish(texts.map { Message(topic: "stock", text: $0) })
      await kiosk.disconnect(grace: .seconds(10))
      #expect(await kiosk.confirmed == last)
      #expect(try await display.nextTexts(50) == texts)
    }
  }
}
