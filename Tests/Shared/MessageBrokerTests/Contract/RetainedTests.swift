import MessageBroker
import Testing

/// Retained messages (MQTT 3.3.1.3) and wills (3.1.2.5).
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct RetainedTests {
  @Test(arguments: BrokerKind.allCases)
  func theLastRetainedMessageComesWithTheSubscription(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk")
      try await kiosk.publishAndConfirm([
        Message(topic: "stock/kiwi", text: "10", retain: true),
        Message(topic: "stock/kiwi", text: "7", retain: true),
      ])
      let display = try await fixture.onlineClient("display", "stock/kiwi")
      let retained = try await display.nextDeliveries(1)
      #expect(retained.map(\.text) == ["7"])
      #expect(retained.map(\.message.retain) == [true])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func toASubscriberItIsNews(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let display = try await fixture.onlineClient("display", "stock/+")
      let kiosk = try await fixture.onlineClient("kiosk")
      try await kiosk.publishAndConfirm([Message(topic: "stock/kiwi", text: "7", retain: true)])
      let live = try await display.nextDeliveries(1)
      #expect(live.map(\.text) == ["7"])
      #expect(live.map(\.message.retain) == [false])
    }
  }

  /// A bridge forwards a retained command as a new message each time it connects.
  @Test(arguments: BrokerKind.allCases.filter(\.speaksVersion5))
  func theFlagComesAsPublishedWhereThatIsAskedFor(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk", "restock/+", "device") {
        $0.retainAsPublished = [TopicFilter(unchecked: "restock/+")]
      }
      let panel = try await fixture.onlineClient("panel")
      try await panel.publishAndConfirm([
        Message(topic: "restock/office", text: "1", retain: true),
        Message(topic: "restock/office", text: "2"),
        Message(topic: "device", text: "3", retain: true),
      ])
      let deliveries = try await kiosk.nextDeliveries(3)
      #expect(deliveries.map(\.text) == ["1", "2", "3"])
      #expect(deliveries.map(\.message.retain) == [true, false, false])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func anEmptyPayloadClearsIt(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk")
      try await kiosk.publishAndConfirm([
        Message(topic: "stock/kiwi", text: "7", retain: true),
        Message(topic: "stock/kiwi", text: "", retain: true),
        Message(topic: "stock/mango", text: "8", retain: true),
      ])
      let display = try await fixture.onlineClient("display", "stock/kiwi", "stock/mango")
      #expect(try await display.nextTexts(1) == ["8"])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aWildcardSelectsThemToo(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk")
      try await kiosk.publishAndConfirm([Message(topic: "stock/kiwi", text: "7", retain: true)])
      let display = try await fixture.onlineClient("display", "stock/+")
      try await kiosk.publishAndConfirm([Message(topic: "stock/end", text: "end")])
      let texts = (kind.behavior.retainedMatchWildcards ? ["7"] : []) + ["end"]
      #expect(try await display.nextTexts(texts.count) == texts)
    }
  }

  /// A display that was disconnected receives the current stock, also when its session is resumed.
  @Test(arguments: BrokerKind.allCases)
  func itComesAgainOnEveryConnect(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk")
      try await kiosk.publishAndConfirm([Message(topic: "stock", text: "7", retain: true)])
      let display = try await fixture.onlineClient("display", "stock") { $0.lasts() }
      _ = try await display.nextDeliveries(1)
      try await display.publishAndConfirm([Message(topic: "marker", text: "")])

      try await fixture.cutConnection(ofClient: "display")
      try await display.expectOffline()
      try await fixture.letReconnect()
      let retained = try await display.nextDeliveries(1)
      #expect(retained.map(\.text) == ["7"])
      #expect(retained.map(\.message.retain) == [true])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aLostConnectionPublishesTheWill(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let display = try await fixture.onlineClient("display", "status")
      let kiosk = try await fixture.onlineClient("kiosk") {
        $0.will = Message(topic: "status", text: "offline", retain: true)
      }
      try await fixture.cutConnection(ofClient: "kiosk")
      let will = try await display.nextDeliveries(1)
      #expect(will.map(\.text) == ["offline"])
      #expect(will.map(\.message.retain) == [false])
      let late = try await fixture.onlineClient("late", "status")
      #expect(try await late.nextDeliveries(1).map(\.message.retain) == [true])
      await kiosk.disconnect(grace: .zero)
    }
  }

  /// A DISCONNECT would suppress the will, although the final message is not published either.
  @Test(arguments: BrokerKind.allCases)
  func theWillSpeaksWhereTheLastWordsAreHeldBack(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let display = try await fixture.onlineClient("display", "status")
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders") {
        $0.will = Message(topic: "status", text: "offline")
      }
      try await panel.publishAndConfirm([Message(topic: "orders", text: "order")])
      _ = try await kiosk.nextBatch()
      try await kiosk.publish([Message(topic: "status", text: "held back")])
      await kiosk.disconnect(grace: .seconds(5))
      #expect(try await display.nextTexts(1) == ["offline"])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aFarewellDoesNot(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let display = try await fixture.onlineClient("display", "status")
      let kiosk = try await fixture.onlineClient("kiosk") {
        $0.will = Message(topic: "status", text: "offline")
      }
      await kiosk.disconnect(grace: .seconds(5))
      #expect(await display.nextEvent(timeout: fixture.quietPeriod) == nil)
    }
  }
}
