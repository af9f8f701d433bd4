import MessageBroker
import MosquittoBroker
import TestSupport
import Testing

/// The report of a probe, and that a probe does not disturb other clients.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct BrokerProbeTests {
  @Test func itTellsTheLimits() async throws {
    try await withMosquitto {
      $0.configuration = """
        max_qos 1
        retain_available false
        max_packet_size 1000
        max_inflight_messages 0
        """
    } _: { server in
      let report = try await MosquittoClient.Configuration.loopback(server.port).run(
        BrokerProbe(clientID: "visitor"))
      var limits = BrokerLimits()
      limits.maximumQoS = 1
      limits.retainsMessages = false
      limits.maximumPacket = 1000
      #expect(report.limits == limits)
    }
  }

  @Test func itLeavesASessionAsItWasAndNoneBehind() async throws {
    try await withMosquitto { _ in
    } _: { server in
      let configuration = MosquittoClient.Configuration.loopback(server.port)
      let probe = BrokerProbe(clientID: "kiosk", resuming: .seconds(60))
      #expect(try await configuration.run(probe).hasResumed == false)
      #expect(try await configuration.run(probe).hasResumed == false)
      let options = SessionOptions(
        clientID: "kiosk", subscriptions: [try TopicFilter("order")], cleanStart: false,
        sessionExpiry: .seconds(60))
      let kiosk = try MosquittoClient(configuration)
      await kiosk.connect(options)
      try await kiosk.expectOnline()
      await kiosk.disconnect(grace: .seconds(5))
      let panel = try MosquittoClient(configuration)
      await panel.connect(SessionOptions(clientID: "panel"))
      try await panel.expectOnline()
      let serial = try await panel.publish([Message(topic: "order", text: "kiwi")])
      await panel.acknowledge()
      try await panel.expectConfirmed(serial)
      for _ in 1...2 { #expect(try await configuration.run(probe).hasResumed) }
      let again = try MosquittoClient(configuration)
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
        try await MosquittoClient.Configuration.loopback(server.port).run(
          BrokerProbe(clientID: "visitor"))
      }
    }
  }
}
