import Foundation
import InMemoryBroker
import MessageBroker
import MosquittoBroker
import TestSupport
import Testing

/// The thread of the event loop, and behavior that depends on its scheduling.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct EventLoopTests {
  /// A client on the event loop's thread.
  actor Client {
    let broker: MosquittoClient

    init(_ broker: MosquittoClient) { self.broker = broker }

    nonisolated var unownedExecutor: UnownedSerialExecutor { broker.unownedExecutor }

    /// Blocks the thread until the semaphore is signalled, and for longer than `duration`.
    func block(
      _ duration: Duration, until end: DispatchSemaphore,
      _ started: CheckedContinuation<Void, Never>
    ) {
      let start = ContinuousClock.now
      started.resume()
      end.wait()
      while ContinuousClock.now - start <= duration { poll(nil, 0, 10) }
    }

    /// Acknowledges, and blocks the thread until the check has run.
    func acknowledge(_ check: @Sendable () throws -> Void) throws {
      broker.assumeIsolated { _ = $0.acknowledge() }
      try check()
    }

    /// Acknowledges without an iteration of the loop between the calls, since both actors share a
    /// thread.
    func settleAndLook() async -> BrokerEvent? {
      await broker.acknowledge()
      return await broker.nextEvent(timeout: .zero)
    }

    /// Answers without a suspension between the calls, since both actors share a thread.
    func answer(_ message: Message) throws {
      try broker.assumeIsolated {
        try $0.publish([message])
        $0.acknowledge()
      }
    }
  }

  @Test func aClientOnItsThreadTalksWithoutSuspending() async throws {
    try await withMosquitto { server in
      let broker = try await online(server, "echo")
      try await Client(broker).answer(Message(topic: "echo", text: "hello"))
      #expect(try await broker.nextTexts(1) == ["hello"])
    }
  }

  /// While a batch is being processed nothing is read, so the loop has to check the socket for a
  /// hang-up.
  @Test(arguments: [MosquittoClient.Configuration.ProtocolVersion.v311, .v5], [false, true])
  func aTimeoutOfZeroLooksAtTheSocket(
    version: MosquittoClient.Configuration.ProtocolVersion, isOnItsThread: Bool
  ) async throws {
    try await withMosquitto { server in
      let broker = try await online(server, "orders", version: version)
      let panel = try await online(server, "nothing", clientID: "panel", version: version)
      try await panel.publishAndConfirm([Message(topic: "orders", text: "next")])
      for number in 1...4 {
        _ = try await broker.nextBatch()
        try await panel.publishAndConfirm([Message(topic: "orders", text: "\(number)")])
        var event: BrokerEvent?
        if isOnItsThread {
          event = await Client(broker).settleAndLook()
        } else {
          await broker.acknowledge()
          event = await broker.nextEvent(timeout: .zero)
        }
        // On a busy machine the message can arrive a moment after the panel's confirmation.
        let deadline = ContinuousClock.now + .seconds(60)
        while event == nil, ContinuousClock.now < deadline {
          event = await broker.nextEvent(timeout: .zero)
        }
        guard case .deliveries(let deliveries) = event else {
          Issue.record("order \(number) was not read, but \(event as Any)")
          return
        }
        #expect(deliveries.map(\.text) == ["\(number)"])
        await broker.acknowledge()
        try await panel.publishAndConfirm([Message(topic: "orders", text: "next")])
      }
    }
  }

  /// The kiosk records immediately afterwards that its acknowledgements are written.
  @Test func whatIsSettledHasLeftWhenTheCallReturns() async throws {
    try await withMosquitto { server in
      let broker = try await online(server, "orders", clientID: "kiosk")
      try await broker.publish([Message(topic: "orders", text: "order")])
      _ = try await broker.nextBatch()
      try await Client(broker).acknowledge {
        try waitUntil("it is acknowledged") { server.log.contains("Received PUBACK from kiosk") }
      }
    }
  }

  @Test(arguments: [MosquittoClient.Configuration.ProtocolVersion.v311, .v5])
  func whatWaitedForLongerThanTheSessionLivesIsNotRead(
    version: MosquittoClient.Configuration.ProtocolVersion
  ) async throws {
    try await withMosquitto { server in
      let broker = try MosquittoClient(.loopback(server.port, version))
      await broker.connect(
        SessionOptions(
          clientID: "kiosk", subscriptions: [try TopicFilter("orders")],
          sessionExpiry: .seconds(2)))
      try await broker.expectOnline()
      let panel = try await online(server, clientID: "panel")
      let client = Client(broker)
      let end = DispatchSemaphore(value: 0)
      await withCheckedContinuation { started in
        Task { await client.block(.seconds(2), until: end, started) }
      }
      do {
        // Otherwise the thread never ends.
        defer { end.signal() }
        try await panel.publishAndConfirm([Message(topic: "orders", text: "late")])
      }

      guard case .connectionLost = try await broker.expectOffline() else { return }
      try await broker.expectOnline()
      try await panel.publishAndConfirm([Message(topic: "orders", text: "new")])
      #expect(try await broker.nextTexts(1) == ["new"])
    }
  }

  @Test func aLargePayloadIsDeliveredAsAnyOther() async throws {
    try await withMosquitto { server in
      let broker = try await online(server, "echo")
      let message = Message(topic: "echo", payload: .init(repeating: 7, count: 1_000_000))
      try await broker.publish([message])
      #expect(try await broker.nextDeliveries(1).map(\.message) == [message])
    }
  }

  @Test func theThreadEndsWithTheBroker() async throws {
    try await withMosquitto { server in
      weak var released: MosquittoClient?
      do {
        let broker = try await online(server)
        released = broker
      }
      try waitUntil("the broker is released") { released == nil }
      try waitUntil("its connection is closed") {
        server.endedConnections(of: "kiosk") > 0
      }
    }
  }

  @Test func closingDoesNotWaitForAnAttemptUnderWay() async throws {
    // A backlog of 0 holds one connection, and the next one is not answered.
    let (listener, port) = try LoopbackSocket.listenAnywhere(backlog: 0)
    let first = try LoopbackSocket.connect(to: port)
    defer { for socket in [listener, first].compactMap(\.self) { close(socket) } }
    let broker = try MosquittoClient(.loopback(port))
    await broker.connect(SessionOptions(clientID: "kiosk"))
    // Both the attempt in progress and the grace period last a minute.
    let took = await ContinuousClock().measure { await broker.disconnect(grace: .seconds(60)) }
    #expect(took < .seconds(30))
  }

  private func online(
    _ server: Mosquitto, _ filters: String..., clientID: String = "kiosk",
    version: MosquittoClient.Configuration.ProtocolVersion = .v5
  ) async throws -> MosquittoClient {
    let broker = try MosquittoClient(.loopback(server.port, version))
    await broker.connect(
      SessionOptions(clientID: clientID, subscriptions: try filters.map { try TopicFilter($0) }))
    try await broker.expectOnline()
    return broker
  }
}
