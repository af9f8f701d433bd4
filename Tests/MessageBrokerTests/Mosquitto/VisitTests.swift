import KioskTestSupport
import MessageBroker
import MosquittoBroker
import Testing

/// What a visit finds out, and that nobody notices it.
@Suite(.timeLimit(.minutes(2)))
struct VisitTests {
  @Test func itTellsWhereAnAccountMayPublishAndNobodyHearsOfIt() async throws {
    try await withMosquitto {
      $0.accessControl = "topic read #\ntopic write granted/+\ntopic write done"
      $0.configuration = "max_inflight_messages 7"
    } _: { server in
      let configuration = MosquittoClient.Configuration.loopback(server.port)
      let listener = MosquittoClient(configuration)
      await listener.connect(
        SessionOptions(clientID: "listener", subscriptions: [try TopicFilter("#")]))
      try await listener.expectOnline()
      let topics = ["granted/1", "denied/1", "granted/2", "denied"]
      let report = try await configuration.pay(
        BrokerVisit(clientID: "visitor", topics: topics))
      #expect(report.accepted == ["granted/1", "granted/2"])
      #expect(report.refusals == ["denied/1": "Not authorized", "denied": "Not authorized"])
      #expect(report.limits.receiveMaximum == 7)
      // More than the broker takes at once: the rest is not tried.
      let many = try await configuration.pay(
        BrokerVisit(clientID: "visitor", topics: (1...9).map { "granted/\($0)" }))
      #expect(many.accepted.count == 7)
      try await listener.publish([Message(topic: "done", text: "")])
      await listener.settle()
      let heard = try await listener.nextDeliveries(1)
      #expect(heard.map(\.message.topic) == ["done"])
    }
  }

  @Test func itTellsTheLimits() async throws {
    try await withMosquitto {
      $0.configuration = """
        max_qos 1
        retain_available false
        max_packet_size 1000
        max_inflight_messages 0
        """
    } _: { server in
      let report = try await MosquittoClient.Configuration.loopback(server.port).pay(
        BrokerVisit(clientID: "visitor", topics: ["a"]))
      var limits = BrokerLimits()
      limits.maximumQoS = 1
      limits.retainsMessages = false
      limits.maximumPacket = 1000
      #expect(report.limits == limits)
      #expect(report.accepted.isEmpty && report.refusals.isEmpty)
    }
  }

  @Test func itLeavesASessionAsItWasAndNoneBehind() async throws {
    try await withMosquitto { _ in
    } _: { server in
      let configuration = MosquittoClient.Configuration.loopback(server.port)
      let visit = BrokerVisit(clientID: "kiosk", resuming: .seconds(60))
      #expect(try await configuration.pay(visit).hasResumed == false)
      #expect(try await configuration.pay(visit).hasResumed == false)
      let options = SessionOptions(
        clientID: "kiosk", subscriptions: [try TopicFilter("order")], cleanStart: false,
        sessionExpiry: .seconds(60))
      let kiosk = MosquittoClient(configuration)
      await kiosk.connect(options)
      try await kiosk.expectOnline()
      await kiosk.disconnect(grace: .seconds(5))
      let panel = MosquittoClient(configuration)
      await panel.connect(SessionOptions(clientID: "panel"))
      try await panel.expectOnline()
      let serial = try await panel.publish([Message(topic: "order", text: "kiwi")])
      await panel.settle()
      try await panel.expectConfirmed(serial)
      for _ in 1...2 { #expect(try await configuration.pay(visit).hasResumed) }
      let again = MosquittoClient(configuration)
      await again.connect(options)
      let heard = try await again.nextDeliveries(1)
      #expect(heard.map(\.message.payload) == [Array("kiwi".utf8)])
    }
  }

  @Test func aRefusedLoginIsNamed() async throws {
    try await withMosquitto {
      $0.users = ["kiosk": "right"]
    } _: { server in
      await #expect(throws: BrokerError.self) {
        try await MosquittoClient.Configuration.loopback(server.port).pay(
          BrokerVisit(clientID: "visitor"))
      }
    }
  }
}
