import KioskTestSupport
import MessageBroker
import MosquittoBroker
import Testing

/// Outages that only a real broker and a real network have.
@Suite(.timeLimit(.minutes(2)))
struct OutageTests {
  @Test func aFrozenBrokerIsNoticedWithinTwoKeepAlives() async throws {
    try await withMosquitto { server in
      let broker = MosquittoClient(.loopback(server.port))
      await broker.connect(SessionOptions(clientID: "kiosk", keepAlive: 5))
      try await broker.expectOnline()
      server.freeze()
      var event: BrokerEvent?
      let took = await ContinuousClock().measure {
        event = await broker.nextEvent(timeout: .seconds(30))
      }
      #expect(
        event == .offline(.connectionLost("no sign of life for the keep-alive time of 5 s")))
      #expect(took < .seconds(13))
      server.resume()
      try await broker.expectOnline()
    }
  }

  /// A proxy that passes on everything else would otherwise be taken for a broker for ever.
  @Test(arguments: [1, 32_769])
  func aBrokerThatConfirmsNothingIsLeft(messages: Int) async throws {
    // CONNACK, nothing for what is published, and a PINGRESP for each PINGREQ.
    let pings = Array(repeating: [0xD0, 0] as [UInt8], count: 10)
    let server = try ScriptedServer([[0x20, 3, 0, 0, 0], []] + pings)
    let broker = MosquittoClient(.loopback(server.port))
    await broker.connect(SessionOptions(clientID: "kiosk", keepAlive: 5))
    try await broker.expectOnline()
    let last = try await broker.publish(
      (1...messages).map { Message(topic: "results", text: "\($0)") })
    #expect(last == UInt64(messages))
    // libmosquitto looks through all that wait for each one more, which takes a busy machine a minute.
    #expect(
      await broker.nextEvent(timeout: .seconds(100))
        == .offline(.connectionLost("the broker confirms nothing of what is published")))
    #expect(await broker.confirmed == 0)
  }

  @Test(arguments: [MosquittoClient.Configuration.ProtocolVersion.v311, .v5])
  func aKilledBrokerIsComeBackTo(
    version: MosquittoClient.Configuration.ProtocolVersion
  ) async throws {
    try await withMosquitto { server in
      let broker = MosquittoClient(.loopback(server.port, version))
      await broker.connect(
        SessionOptions(
          clientID: "kiosk", subscriptions: [try TopicFilter("echo")], sessionExpiry: .seconds(60)))
      try await broker.expectOnline()
      server.kill()
      guard case .connectionLost = try await broker.expectOffline() else { return }
      // Dropped, and writing to the dead connection must not end the process (SIGPIPE).
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
      let broker = MosquittoClient(.loopback(proxy.port))
      await broker.connect(
        SessionOptions(
          clientID: "kiosk", subscriptions: [try TopicFilter("orders")], sessionExpiry: .seconds(60)
        ))
      try await broker.expectOnline()
      let panel = MosquittoClient(.loopback(server.port))
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
        await broker.settle()
      }
    }
  }
}
