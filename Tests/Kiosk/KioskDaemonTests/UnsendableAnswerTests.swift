import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import MessageBroker
import Testing

/// Tests an answer that makes the broker end the connection on which it is published.
@Suite struct UnsendableAnswerTests {
  private static let order = "kiosk/k1/order/p1"
  private let fixture: KioskFixture

  init() throws {
    fixture = try KioskFixture()
    try fixture.startKiosk()
  }

  private func order(_ payload: String, by panel: TestClient, answeredOn topic: String? = nil) {
    fixture.publish(payload, to: Self.order, by: panel, responseTopic: topic)
  }

  @Test func itIsTriedAloneOnThePlainTopicAndTheOthersAreAnswered() throws {
    fixture.broker.endConnections(publishingTo: try TopicFilter("kiosk/k1/order/p1/deadly"))
    let (panel, other) = (try fixture.panel(), try fixture.panel("p2"))
    order(#"{"id":"bad","juice":"kiwi"}"#, by: panel, answeredOn: "kiosk/k1/order/p1/deadly")
    fixture.publish(#"{"id":"good","juice":"kiwi"}"#, to: "kiosk/k1/order/p2", by: other)
    fixture.advance(by: .seconds(300))
    #expect(try panel.takeResults().map(\.id) == ["bad"])
    #expect(try Set(other.takeResults().map(\.id)) == ["good"])
    #expect(fixture.retained("status") == "online")
    #expect(fixture.retained("stock/kiwi") == "4")
  }

  /// The default topic ends the connection, too: the answer is dropped, and the event is published.
  @Test(arguments: [false, true])
  func itIsGivenUpAndTheRestGoesOn(restarts: Bool) throws {
    fixture.broker.endConnections(publishingTo: try TopicFilter("kiosk/k1/order/p1/+"))
    let (panel, other) = (try fixture.panel(), try fixture.panel("p2"))
    let listener = try fixture.testClient("listener", subscribedTo: ["kiosk/k1/events"])
    order(#"{"id":"bad","juice":"kiwi"}"#, by: panel)
    if restarts {
      fixture.crashKiosk()
      try fixture.startKiosk()
    }
    for id in ["a", "b", "c"] {
      fixture.publish("{\"id\":\"\(id)\",\"juice\":\"banana\"}", to: "kiosk/k1/order/p2", by: other)
      fixture.advance(by: .seconds(1))
    }
    fixture.advance(by: .seconds(300))
    #expect(fixture.retained("status") == "online")
    #expect(try panel.takeResults().isEmpty)
    #expect(try Set(other.takeResults().map(\.id)) == ["a", "b", "c"])
    let seqs = try listener.take().map { try LedgerEntry(payload: $0.payload).seq }
    #expect(Set(seqs) == [2, 3, 4, 5])
    // The next connection publishes nothing again.
    fixture.crashConnection()
    fixture.advance(by: .seconds(10))
    #expect(try other.takeResults().isEmpty)
    #expect(fixture.retained("status") == "online")
  }

  /// Connections that end for other reasons cause no loss of answers.
  @Test func aBadNetworkLosesNoAnswer() throws {
    let panel = try fixture.panel()
    for number in 1...3 {
      order("{\"id\":\"a\(number)\",\"juice\":\"kiwi\"}", by: panel)
      for _ in 1...2 {
        fixture.broker.inject(.init(.before, .publish, of: "kiosk"))
      }
      fixture.advance(by: .seconds(300))
    }
    #expect(try Set(panel.takeResults().map(\.id)) == ["a1", "a2", "a3"])
    #expect(fixture.retained("stock/kiwi") == "1")
  }
}
