import MessageBroker
import Testing

/// Updates of the options within a session.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct UpdateTests {
  private func options(_ filters: String...) throws -> SessionOptions {
    var options = SessionOptions(
      clientID: "kiosk", subscriptions: try filters.map { try TopicFilter($0) })
    options.lasts()
    return options
  }

  @Test(arguments: BrokerKind.allCases)
  func subscriptionsComeAndGo(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      try await panel.publishAndConfirm(
        ["old", "stays", "new"].map { topic in
          Message(topic: topic, text: "retained", retain: true)
        })
      let kiosk = try await fixture.onlineClient("kiosk", "old", "stays") { $0.lasts() }
      _ = try await kiosk.nextDeliveries(2)

      await kiosk.update(try options("stays", "new"))
      try await kiosk.expectUpdated()
      // Retained messages arrive only for the new filter.
      #expect(try await kiosk.nextDeliveries(1).map(\.message.topic) == ["new"])
      // The broker may serve the panel before it has read the UNSUBSCRIBE. The confirmation of a
      // later message on the same connection proves that it has.
      try await kiosk.publishAndConfirm([Message(topic: "behind", text: "it")])
      try await panel.publishAndConfirm(
        ["old", "stays", "new"].map { topic in
          Message(topic: topic, text: "live")
        })
      #expect(try await kiosk.nextDeliveries(2).map(\.message.topic) == ["stays", "new"])
    }
  }

  /// Each update as it is made, without an intermediate connection.
  @Test(arguments: BrokerKind.allCases)
  func aWildcardMayTakeThePlaceOfWhatItSelects(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "orders/a") { $0.lasts() }
      for filter in ["orders/+", "orders/a", "orders/#"] {
        await kiosk.update(try options(filter))
        try await kiosk.expectUpdated()
        try await panel.publishAndConfirm([Message(topic: "orders/a", text: filter)])
        #expect(try await kiosk.nextTexts(1) == [filter])
      }
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func withoutAConnectionTheNextOneHasThem(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk", "old", "stays") { $0.lasts() }
      try await fixture.stop()
      try await kiosk.expectOffline()
      await kiosk.update(try options("stays", "new"))
      try await kiosk.expectUpdated()
      try await fixture.restart(keepingSessions: true)
      try await fixture.letReconnect()
      try await kiosk.expectOnline()

      let panel = try await fixture.onlineClient("panel")
      try await panel.publishAndConfirm(
        ["old", "stays", "new"].map { topic in
          Message(topic: topic, text: "live")
        })
      let heard = (kind.behavior.endsEarlierSubscriptions ? [] : ["old"]) + ["stays", "new"]
      #expect(try await kiosk.nextDeliveries(heard.count).map(\.message.topic) == heard)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aBatchInHandStaysInHand(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let panel = try await fixture.onlineClient("panel")
      let kiosk = try await fixture.onlineClient("kiosk", "old") { $0.lasts() }
      try await panel.publishAndConfirm([Message(topic: "old", text: "1")])
      #expect(try await kiosk.nextBatch().map(\.text) == ["1"])
      await kiosk.update(try options("new"))
      #expect(await kiosk.acknowledge())
      try await kiosk.expectUpdated()
      try await panel.publishAndConfirm([Message(topic: "new", text: "2")])
      #expect(try await kiosk.nextTexts(1) == ["2"])
    }
  }
}
