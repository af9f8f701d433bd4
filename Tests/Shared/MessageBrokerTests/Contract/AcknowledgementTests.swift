import MessageBroker
import Testing

/// One batch at a time, and no packet written before it is acknowledged.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct AcknowledgementTests {
  @Test(arguments: BrokerKind.allCases)
  func whatWasNotSettledComesAgain(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders/#") { $0.lasts() }
      // Acknowledged, so that the packet id below is not the first one of the session.
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "0")])
      _ = try await kiosk.nextDeliveries(1)
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "1")])
      let first = try await kiosk.nextBatch()
      #expect(first.map(\.isRedelivery) == [false])

      try await fixture.cutConnection(ofClient: "kiosk")
      try await kiosk.expectOffline()
      await kiosk.acknowledge()
      try await fixture.letReconnect()
      let again = try await kiosk.nextBatch()
      #expect(again.map(\.message) == first.map(\.message))
      expectSamePacketIDs(again, first, kind)
      #expect(again.map(\.isRedelivery) == [true])
    }
  }

  /// Only in memory: the proxy before a real broker may forward an order after its confirmation.
  /// `EventLoopTests` tests mosquitto without a proxy.
  @Test(arguments: BrokerKind.allCases.filter { $0 == .inMemory })
  func aTimeoutOfZeroPassesNothingOverThatHasArrived(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders")
      try await panel.publishAndConfirm([Message(topic: "orders", text: "1")])
      for number in 2...5 {
        _ = try await kiosk.nextBatch()
        // While the batch is unacknowledged.
        try await panel.publishAndConfirm([Message(topic: "orders", text: "\(number)")])
        await kiosk.acknowledge()
        let event = await kiosk.nextEvent(timeout: .zero)
        guard case .deliveries(let deliveries) = event else {
          Issue.record("order \(number) was not read, but \(event as Any)")
          return
        }
        #expect(deliveries.map(\.text) == ["\(number)"])
        await kiosk.acknowledge()
        try await panel.publishAndConfirm([Message(topic: "orders", text: "next")])
      }
    }
  }

  /// The packet ids of a batch belong to the connection that delivered it: acknowledged on the next
  /// connection, they would acknowledge other messages.
  @Test(arguments: BrokerKind.allCases)
  func aBatchCannotBeSettledOnALaterConnection(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders/#") { $0.lasts() }
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "order")])
      _ = try await kiosk.nextBatch()
      try await fixture.cutConnection(ofClient: "kiosk")
      try await kiosk.expectOffline()
      try await fixture.letPass(.seconds(2))
      if case .deliveries = await kiosk.nextEvent(timeout: fixture.quietPeriod) {
        Issue.record("a second batch in hand")
      }
      #expect(await !kiosk.acknowledge())
      #expect(try await kiosk.nextBatch().map(\.isRedelivery) == [true])

      try await fixture.cutConnection(ofClient: "kiosk")
      try await kiosk.expectOffline()
      #expect(await !kiosk.acknowledge())
      try await fixture.letReconnect()
      #expect(try await kiosk.nextBatch().map(\.isRedelivery) == [true], "still unacknowledged")
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func whatWasSettledDoesNotComeAgain(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders/#") { $0.lasts() }
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "old")])
      _ = try await kiosk.nextBatch()
      #expect(await kiosk.acknowledge())
      // The broker has processed the PUBACK when it confirms the later message.
      try await kiosk.publishAndConfirm([Message(topic: "marker", text: "")])

      try await fixture.cutConnection(ofClient: "kiosk")
      try await kiosk.expectOffline()
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "new")])
      try await fixture.letReconnect()
      let deliveries = try await kiosk.nextDeliveries(1)
      #expect(deliveries.map(\.text) == ["new"])
      #expect(deliveries.map(\.isRedelivery) == [kind.behavior.takesFirstQueuedForSent])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func oneBatchIsInHandAndTheNextOneHoldsWhatCameMeanwhile(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders/#")
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "0")])
      _ = try await kiosk.nextBatch()

      let later = (1...9).map { Message(topic: "orders/\($0 % 2)", text: "\($0)") }
      try await panel.publishAndConfirm(later)
      #expect(await kiosk.nextEvent(timeout: fixture.quietPeriod) == nil)
      await kiosk.acknowledge()
      let next = try await kiosk.nextBatch()
      #expect(next.map(\.message) == Array(later.prefix(kind.behavior.inFlight)))
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func answersAreHeldBackUntilTheBatchIsSettled(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel", "results")
      let kiosk = try await fixture.onlineClient("kiosk", "orders")
      try await panel.publishAndConfirm([Message(topic: "orders", text: "order")])
      _ = try await kiosk.nextBatch()

      try await kiosk.publish([Message(topic: "results", text: "1")])
      try await kiosk.publish([Message(topic: "results", text: "2")])
      #expect(await panel.nextEvent(timeout: fixture.quietPeriod) == nil)
      #expect(await kiosk.confirmed == 0)
      await kiosk.acknowledge()
      #expect(try await panel.nextTexts(2) == ["1", "2"])
      try await kiosk.expectConfirmed(2)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func settlingWithoutABatchFlushes(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let display = try await fixture.onlineClient("display", "stock")
      let kiosk = try await fixture.onlineClient("kiosk")
      try await kiosk.publish([Message(topic: "stock", text: "10")])
      await kiosk.acknowledge()
      #expect(try await display.nextTexts(1) == ["10"])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func anAbandonedBatchComesAgain(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel", "results", "status")
      let kiosk = try await fixture.onlineClient("kiosk", "orders") {
        $0.lasts()
        $0.will = Message(topic: "status", text: "offline")
      }
      try await panel.publishAndConfirm([Message(topic: "orders", text: "order")])
      let first = try await kiosk.nextBatch()
      try await kiosk.publish([Message(topic: "results", text: "never sent")])
      await kiosk.abandon()

      #expect(try await panel.nextTexts(1) == ["offline"])
      try await kiosk.expectOffline()
      try await fixture.letReconnect()
      let again = try await kiosk.nextBatch()
      expectSamePacketIDs(again, first, kind)
      #expect(again.map(\.isRedelivery) == [true])
      #expect(await panel.nextEvent(timeout: fixture.quietPeriod) == nil)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aBatchInHandAtDisconnectStaysUnacknowledged(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders") { $0.lasts() }
      try await panel.publishAndConfirm([Message(topic: "orders", text: "order")])
      let first = try await kiosk.nextBatch()
      await kiosk.disconnect(grace: .seconds(5))

      let again = try await fixture.resumedClient("kiosk", "orders").nextBatch()
      expectSamePacketIDs(again, first, kind)
      #expect(again.map(\.isRedelivery) == [true])
    }
  }

  @Test(arguments: BrokerKind.allCases.filter(\.speaksVersion5))
  func theReceiveMaximumBoundsABatch(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders") { $0.receiveMaximum = 2 }
      try await panel.publishAndConfirm((1...5).map { Message(topic: "orders", text: "\($0)") })

      var texts: [String] = []
      while texts.count < 5 {
        let batch = try await kiosk.nextBatch()
        #expect(batch.count <= 2)
        texts += batch.map(\.text)
        await kiosk.acknowledge()
      }
      #expect(texts == ["1", "2", "3", "4", "5"])
    }
  }
}
