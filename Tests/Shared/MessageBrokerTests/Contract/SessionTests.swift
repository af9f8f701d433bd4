import MessageBroker
import Testing

/// The state that a session keeps while its client is disconnected, and its expiry (MQTT 4.1).
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct SessionTests {
  @Test(arguments: BrokerKind.allCases)
  func aResumedSessionDeliversWhatCameMeanwhile(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders/#") { $0.lasts() }
      await kiosk.disconnect(grace: .seconds(5))
      try await panel.publishAndConfirm([
        Message(topic: "orders/a", text: "1"), Message(topic: "orders/b", text: "2"),
      ])

      let deliveries = try await fixture.resumedClient("kiosk", "orders/#").nextDeliveries(2)
      #expect(deliveries.map(\.text) == ["1", "2"])
      #expect(deliveries.map(\.isRedelivery) == [kind.behavior.takesFirstQueuedForSent, false])
      #expect(deliveries.allSatisfy { !$0.message.retain })
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func onlyQoS1IsKeptForAnAbsentClient(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders/#") { $0.lasts() }
      await kiosk.disconnect(grace: .seconds(5))
      try await panel.publishAndConfirm([
        Message(topic: "orders/a", text: "0", qos: .atMostOnce),
        Message(topic: "orders/a", text: "1"),
      ])

      let resumed = try await fixture.resumedClient("kiosk", "orders/#")
      let texts = (kind.behavior.queuesQoS0 ? ["0"] : []) + ["1"]
      #expect(try await resumed.nextTexts(texts.count).sorted() == texts)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aCleanStartForgetsTheSession(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders/#") { $0.lasts() }
      await kiosk.disconnect(grace: .seconds(5))
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "old")])

      let clean = try await fixture.onlineClient("kiosk", "orders/#") { $0.cleanStart = true }
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "new")])
      #expect(try await clean.nextTexts(1) == ["new"])
    }
  }

  /// Not with MQTT 3.1.1, where a session that starts clean ends with its connection.
  @Test(arguments: BrokerKind.allCases.filter(\.speaksVersion5))
  func aCleanStartIsSaidForTheFirstConnect(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders/#") {
        $0.lasts()
        $0.cleanStart = true
      }
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "order")])
      _ = try await kiosk.nextBatch()
      try await fixture.cutConnection(ofClient: "kiosk")
      try await kiosk.expectOffline()
      await kiosk.acknowledge()
      try await fixture.letReconnect()
      #expect(try await kiosk.nextBatch().map(\.isRedelivery) == [true])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aNewSessionDeliversNothingBeforeItsClientKnowsOfIt(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.resumedClient("kiosk", "orders/#")
      #expect(try await kiosk.event() == .sessionBegan)
      // Two round trips: a SUBSCRIBE would have been received before.
      for text in ["1", "2"] {
        try await panel.publishAndConfirm([Message(topic: "orders/a", text: text)])
      }
      try await kiosk.expectOnline()
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "3")])
      #expect(try await kiosk.nextTexts(1) == ["3"])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aClientIsToldWhetherItsSessionIsNew(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk", "orders/#") { $0.lasts() }
      try await fixture.stop()
      try await fixture.restart(keepingSessions: true)
      try await fixture.letReconnect()
      #expect(try await kiosk.expectOnline() != kind.behavior.savesSessions)

      try await fixture.stop()
      try await fixture.restart(keepingSessions: false)
      try await fixture.letReconnect()
      #expect(try await kiosk.expectOnline())
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aSessionWithoutExpiryEndsWithItsConnection(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders/#") { $0.lasts(.zero) }
      await kiosk.disconnect(grace: .seconds(5))
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "old")])

      let next = try await fixture.onlineClient("kiosk", "orders/#") { $0.lasts(.zero) }
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "new")])
      #expect(try await next.nextTexts(1) == ["new"])
    }
  }

  /// The client enforces the expiry itself, where the broker was stopped or uses MQTT 3.1.1.
  @Test(arguments: BrokerKind.allCases)
  func aClientThatWasAwayForTooLongStartsClean(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk", "orders/#") { $0.lasts(.seconds(600)) }
      let panel = try await fixture.onlineClient("panel")
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "old")])
      _ = try await kiosk.nextBatch()

      try await fixture.stop()
      try await kiosk.expectOffline()
      await kiosk.acknowledge()
      try await fixture.letPass(.seconds(601))
      try await fixture.restart(keepingSessions: true)
      try await fixture.letReconnect()
      try await kiosk.expectOnline()
      try await panel.expectOnline()
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "new")])
      #expect(try await kiosk.nextTexts(1) == ["new"])
    }
  }

  /// A client that reconnects briefly and abandons its batches counts as absent.
  @Test(arguments: BrokerKind.allCases)
  func whatIsAbandonedForTooLongDoesNotComeAgain(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk", "orders/#") { $0.lasts(.seconds(600)) }
      let panel = try await fixture.onlineClient("panel")
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "old")])
      for away in [200, 500] {
        #expect(try await kiosk.nextBatch().map(\.text) == ["old"])
        // Otherwise the kiosk could reconnect before its clock has advanced.
        await fixture.refuseConnections()
        await kiosk.abandon()
        try await fixture.letPass(.seconds(away))
        try await fixture.letReconnect()
      }
      var events: [BrokerEvent] = []
      while events.last != .online, events.count < 100 {
        let event = try await fixture.nextEvent(of: kiosk, timeout: .seconds(60))
        events.append(try #require(event))
      }
      #expect(events.contains(.sessionBegan))
      #expect(!events.contains { if case .deliveries = $0 { true } else { false } })
      // The clock of the first panel has advanced, too: its connection may be lost.
      let another = try await fixture.onlineClient("another")
      try await another.publishAndConfirm([Message(topic: "orders/a", text: "new")])
      #expect(try await kiosk.nextTexts(1) == ["new"])
    }
  }

  @Test(arguments: BrokerKind.allCases.filter(\.speaksVersion5))
  func aBrokerForgetsAnExpiredSession(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders/#") { $0.lasts(.seconds(1)) }
      await kiosk.disconnect(grace: .seconds(5))
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "old")])
      try await fixture.letSessionExpire(ofClient: "kiosk", .seconds(1))

      let next = try await fixture.onlineClient("kiosk", "orders/#") { $0.lasts() }
      try await panel.publishAndConfirm([Message(topic: "orders/a", text: "new")])
      #expect(try await next.nextTexts(1) == ["new"])
    }
  }

  @Test(arguments: BrokerKind.allCases.filter(\.speaksVersion5))
  func aMessageExpiresInTheQueue(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders/#") { $0.lasts() }
      await kiosk.disconnect(grace: .seconds(5))
      try await panel.publishAndConfirm([
        Message(topic: "orders/a", payload: [1], expiry: 1),
        Message(topic: "orders/a", payload: [2], expiry: 100),
        Message(topic: "orders/a", payload: [3]),
      ])
      let age = try await fixture.letMessagesAge(.seconds(1))

      let payloads: [[UInt8]] = (kind.behavior.takesFirstQueuedForSent ? [[1]] : []) + [[2], [3]]
      let resumed = try await fixture.resumedClient("kiosk", "orders/#")
        .nextDeliveries(payloads.count)
      #expect(resumed.map(\.message.payload) == payloads)
      let left = try #require(resumed.dropLast().last?.message.expiry)
      let most = 100 - Int(age.components.seconds)
      // Packets may be in transit for as long as a test may take.
      #expect((UInt32(most - 60)...UInt32(most)).contains(left), "of 100 s after \(age)")
      #expect(resumed.last?.message.expiry == nil)
    }
  }
}
