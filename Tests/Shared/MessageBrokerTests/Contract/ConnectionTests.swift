import MessageBroker
import Testing

/// Outages, and reconnecting after each.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct ConnectionTests {
  @Test(arguments: BrokerKind.allCases)
  func aClientReconnectsAndSubscribesAgain(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk", "orders")
      try await fixture.cutConnection(ofClient: "kiosk")
      guard case .connectionLost = try await kiosk.expectOffline() else {
        Issue.record("an outage for another reason")
        return
      }
      try await fixture.letReconnect()
      try await kiosk.expectOnline()
      let panel = try await fixture.onlineClient("panel")
      try await panel.publishAndConfirm([Message(topic: "orders", text: "order")])
      #expect(try await kiosk.nextTexts(1) == ["order"])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func whatWasPublishedInAnOutageIsDropped(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let display = try await fixture.onlineClient("display", "stock")
      let kiosk = try await fixture.onlineClient("kiosk")
      try await fixture.cutConnection(ofClient: "kiosk")
      try await kiosk.expectOffline()
      #expect(try await kiosk.publish([Message(topic: "stock", text: "dropped")]) == 1)
      try await fixture.letReconnect()
      try await kiosk.expectOnline()
      #expect(await kiosk.confirmed == 0)
      try await kiosk.publishAndConfirm([Message(topic: "stock", text: "sent")])
      #expect(try await display.nextTexts(1) == ["sent"])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aBrokerThatKeepsItsStoreResumesSessions(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders") { $0.lasts() }
      try await panel.publishAndConfirm([
        Message(topic: "orders", text: "order"), Message(topic: "stock", text: "7", retain: true),
      ])
      let first = try await kiosk.nextBatch()

      try await fixture.stop()
      try await kiosk.expectOffline()
      await kiosk.acknowledge()
      try await fixture.restart(keepingSessions: true)
      try await fixture.letReconnect()
      if kind.behavior.savesSessions {
        let again = try await kiosk.nextBatch()
        #expect(again.map(\.message) == first.map(\.message))
        #expect(again.map(\.isRedelivery) == [true])
      } else {
        try await kiosk.expectOnline()
      }
      let display = try await fixture.onlineClient("display", "stock")
      #expect(try await display.nextTexts(1) == ["7"])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aBrokerThatLostItsStoreStartsAnew(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders", "stock") { $0.lasts() }
      try await panel.publishAndConfirm([Message(topic: "orders", text: "lost")])
      _ = try await kiosk.nextBatch()
      try await panel.publishAndConfirm([Message(topic: "stock", text: "lost", retain: true)])

      try await fixture.stop()
      try await kiosk.expectOffline()
      await kiosk.acknowledge()
      try await fixture.restart(keepingSessions: false)
      try await fixture.letReconnect()
      try await kiosk.expectOnline()
      try await panel.expectOnline()
      try await panel.publishAndConfirm([Message(topic: "orders", text: "new")])
      let deliveries = try await kiosk.nextDeliveries(1)
      #expect(deliveries.map(\.text) == ["new"])
      #expect(deliveries.map(\.isRedelivery) == [false])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aClientWaitsForItsBroker(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      try await fixture.stop()
      let kiosk = try await fixture.client("kiosk")
      await kiosk.connect(SessionOptions(clientID: "kiosk"))
      guard case .unreachable = try await kiosk.expectOffline() else {
        Issue.record("an outage for another reason")
        return
      }
      try await fixture.restart(keepingSessions: true)
      try await fixture.letReconnect()
      try await kiosk.expectOnline()
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aSecondClientWithTheSameIDTakesTheSessionOver(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let older = try await fixture.onlineClient("kiosk", "orders") { $0.lasts() }
      try await panel.publishAndConfirm([Message(topic: "orders", text: "order")])
      let first = try await older.nextBatch()

      let newer = try await fixture.resumedClient("kiosk", "orders")
      let again = try await newer.nextBatch()
      expectSamePacketIDs(again, first, kind)
      #expect(again.map(\.isRedelivery) == [true])
      let reason = try await older.expectOffline()
      // Only MQTT 5 can report the reason for a disconnect, and mosquitto 2.0.11 does not.
      if case .connectionLost = reason, kind != .inMemory {
      } else {
        #expect(reason == .sessionTakenOver)
      }
      await older.disconnect(grace: .zero)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aRefusedLoginIsToldAsOne(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      try await fixture.refuseLogins()
      let kiosk = try await fixture.client("kiosk")
      await kiosk.connect(SessionOptions(clientID: "kiosk"))
      let reason = try await kiosk.expectOffline()
      guard case .loginRefused = reason else {
        Issue.record("an outage for another reason: \(reason)")
        return
      }
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func nextEventReturnsAfterItsTimeout(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk")
      #expect(try await fixture.nextEvent(of: kiosk, timeout: .milliseconds(100)) == nil)
      #expect(await kiosk.nextEvent(timeout: .zero) == nil)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func nextEventReturnsWhenItsTaskIsCancelled(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk", "orders")
      // Cancels before the call, within it, and while it waits.
      for turns in 0..<200 {
        let waiting = Task { await kiosk.nextEvent(timeout: nil) }
        for _ in 0..<turns { await Task.yield() }
        waiting.cancel()
        #expect(await waiting.value == nil)
      }

      // The client continues to work for other tasks.
      let panel = try await fixture.onlineClient("panel")
      try await panel.publishAndConfirm([Message(topic: "orders", text: "order")])
      #expect(try await kiosk.nextTexts(1) == ["order"])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aCancelledTaskDoesNotWait(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk", "orders")
      let cancelled = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return await kiosk.nextEvent(timeout: nil)
      }
      #expect(await cancelled.value == nil)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func nothingHappensAfterDisconnect(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk", "orders")
      let waiting = Task { await kiosk.nextEvent(timeout: nil) }
      await kiosk.disconnect(grace: .seconds(5))
      #expect(await waiting.value == nil)
      #expect(await kiosk.nextEvent(timeout: nil) == nil)
      await kiosk.acknowledge()
      await kiosk.abandon()
    }
  }
}
