import MessageBroker
import Testing

/// Topics that a subscription matches, as brokers implement it (MQTT 4.7).
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct FilterTests {
  static let topics = ["orders", "orders/a", "orders/a/result", "orders/", "Orders/b"]

  struct Example: Sendable {
    let filter: String
    let selected: [String]
  }

  static let examples = [
    Example(filter: "orders/a", selected: ["orders/a"]),
    Example(filter: "orders/+", selected: ["orders/a", "orders/"]),
    Example(filter: "orders/#", selected: ["orders", "orders/a", "orders/a/result", "orders/"]),
    Example(filter: "+/+/result", selected: ["orders/a/result"]),
    Example(filter: "+", selected: ["orders"]),
  ]

  @Test(arguments: BrokerKind.allCases, examples)
  func aFilterSelectsItsTopics(kind: BrokerKind, example: Example) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk", example.filter, "the/very/last/one")
      let panel = try await fixture.onlineClient("panel")
      try await panel.publishAndConfirm(
        (Self.topics + ["the/very/last/one"]).map { Message(topic: $0, text: "") })

      let deliveries = try await kiosk.nextDeliveries(example.selected.count + 1)
      #expect(deliveries.map(\.message.topic) == example.selected + ["the/very/last/one"])
    }
  }

  /// An invalid filter is reported, and not left out silently.
  @Test(arguments: BrokerKind.allCases, ["", "a/#/b", "a+b", "a\0"])
  func whatIsNoFilterIsRefusedByName(kind: BrokerKind, text: String) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.client("kiosk")
      var options = SessionOptions(clientID: "kiosk", subscriptions: [try TopicFilter("a")])
      options.subscriptions.append(TopicFilter(unchecked: text))
      await kiosk.connect(options)
      #expect(try await kiosk.event() == .sessionBegan)
      #expect(try await kiosk.expectOffline() == .subscriptionRefused(filter: text))
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func anUpdateToWhatIsNoFilterIsRefusedByName(kind: BrokerKind) async throws {
    try await withBroker(kind) { fixture in
      let kiosk = try await fixture.onlineClient("kiosk", "a")
      await kiosk.update(
        SessionOptions(clientID: "kiosk", subscriptions: [TopicFilter(unchecked: "a/#/b")]))
      #expect(
        try await kiosk.event() == .updated(refusal: .subscriptionRefused(filter: "a/#/b")))
      let panel = try await fixture.onlineClient("panel")
      try await panel.publishAndConfirm([Message(topic: "a", text: "order")])
      #expect(try await kiosk.nextTexts(1) == ["order"])
    }
  }
}
