import MessageBroker
import Testing

/// Which topics a subscription selects, as the broker sees it (MQTT 4.7).
@Suite(.timeLimit(.minutes(2)))
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
}
