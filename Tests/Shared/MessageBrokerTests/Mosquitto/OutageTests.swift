import InMemoryBroker
import MessageBroker
import MosquittoBroker
import TestSupport
import Testing

/// Outages that only occur with a real broker and a real network.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct OutageTests {
  @Test func aFrozenBrokerIsNoticed() async throws {
    try await withMosquitto { server in
      let broker = try MosquittoClient(.loopback(server.port))
      await broker.connect(SessionOptions(clientID: "kiosk", keepAlive: 5))
      try await broker.expectOnline()
      server.freeze()
      #expect(
        try await broker.event()
          == .offline(.connectionLost("the broker sent nothing for the keep-alive time of 5 s")))
      server.resume()
      try await broker.expectOnline()
    }
  }

  /// Whichever address the first attempt begins with, it is probably one without a listener.
  @Test func whereNobodyListensTheNextAddressIsTriedAtOnce() async throws {
    try await withMosquitto { server in
      var configuration = MosquittoClient.Configuration.loopback(server.port)
      let closed = BrokerAddress(host: "127.0.0.1", port: 1)
      configuration.addresses += Array(repeating: closed, count: 30)
      configuration.reconnectDelays = .seconds(1000) ... .seconds(1000)
      let broker = try MosquittoClient(configuration)
      await broker.connect(SessionOptions(clientID: "kiosk"))
      try await broker.expectOnline()
    }
  }

  /// The keep-alive begins with the connection: a broker that accepts a thousand clients needs
  /// time.
  @Test func aBrokerThatAnswersLateIsWaitedForAsLongAsTheSessionSays() async throws {
    let server = try ScriptedServer([])
    var configuration = MosquittoClient.Configuration.loopback(server.port)
    configuration.connectTimeout = .seconds(4)
    let broker = try MosquittoClient(configuration)
    await broker.connect(SessionOptions(clientID: "kiosk", keepAlive: 5))
    #expect(
      try await broker.event()
        == .offline(
          .unreachable(
            "127.0.0.1 does not finish the MQTT handshake"
              + "; if it supports only MQTT 3.1.1, set broker.protocol: 3.1.1")))
  }

  /// Otherwise a proxy that forwards everything else would count as a working broker.
  @Test(arguments: [1, 32_769])
  func aBrokerThatConfirmsNothingIsLeft(messages: Int) async throws {
    // CONNACK, then only PINGRESPs.
    let server = try ScriptedServer([[0x20, 3, 0, 0, 0]], then: [0xD0, 0])
    let broker = try MosquittoClient(.loopback(server.port))
    await broker.connect(SessionOptions(clientID: "kiosk", keepAlive: 5))
    try await broker.expectOnline()
    let last = try await broker.publish(
      (1...messages).map { Message(topic: "results", text: "\($0)") })
    #expect(last == UInt64(messages))
    // libmosquitto searches all unconfirmed messages for each new one, which takes a busy machine a
    // minute.
    let event = await broker.nextEvent(timeout: .seconds(300))
    #expect(
      event == .offline(.connectionLost("the broker does not acknowledge messages")))
    #expect(await broker.confirmed == 0)
  }

  @Test(arguments: [MosquittoClient.Configuration.ProtocolVersion.v311, .v5])
  func aKilledBrokerIsComeBackTo(
    version: MosquittoClient.Configuration.ProtocolVersion
  ) async throws {
    try await withMosquitto { server in
      let broker = try MosquittoClient(.loopback(server.port, version))
      await broker.connect(
        SessionOptions(
          clientID: "kiosk", subscriptions: [try TopicFilter("echo")], sessionExpiry: .seconds(60)))
      try await broker.expectOnline()
      server.kill()
      guard case .connectionLost = try await broker.expectOffline() else { return }
      // Dropped; and writing to the closed connection must not end the process (SIGPIPE).
      try await broker.publish([Message(topic: "echo", text: "dropped")])
      try server.start()
      try await broker.expectOnline()
      try await broker.publish([Message(topic: "echo", text: "sent")])
      #expect(try await broker.nextTexts(1) == ["sent"])
      try await broker.expectConfirmed(2)
    }
  }

  @Test func aConnectionCutInMidFlightLosesNothingThatIsPublishedAgain() async throws {
    try await withMosquitto { server in
      let proxy = try Proxy(to: server.port)
      defer { proxy.tearDown() }
      let broker = try MosquittoClient(.loopback(proxy.port))
      await broker.connect(
        SessionOptions(
          clientID: "kiosk", subscriptions: [try TopicFilter("orders")], sessionExpiry: .seconds(60)
        ))
      try await broker.expectOnline()
      let panel = try MosquittoClient(.loopback(server.port))
      await panel.connect(SessionOptions(clientID: "panel"))
      try await panel.expectOnline()
      try await panel.publish((0..<200).map { Message(topic: "orders", text: "\($0)") })

      var seen: Set<String> = []
      var cuts = 0
      while seen.count < 200 {
        let batch = try await broker.nextBatch()
        seen.formUnion(batch.map(\.text))
        if cuts < 3 {
          cuts += 1
          proxy.cut()
        }
        await broker.acknowledge()
      }
    }
  }
}
