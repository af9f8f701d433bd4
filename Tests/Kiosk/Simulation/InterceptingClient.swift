import InMemoryBroker
package import MessageBroker

/// The boundary between the kiosk's process and the world: intercepts each call to the broker, and
/// can end the process at any of them.
///
/// Actions of the process after its end have no effect: its connection is closed, and its ledger
/// file is never read again.
package actor InterceptingClient: BrokerClient {
  private let client: MemoryClient
  // The world runs this actor's executor on its own thread, and only there.
  private unowned let world: World
  /// Whether the last event notified the process of a new session.
  private var isBeginning = false

  package nonisolated var unownedExecutor: UnownedSerialExecutor { client.unownedExecutor }

  init(_ client: MemoryClient, of world: World) {
    self.client = client
    self.world = world
  }

  package func connect(_ options: SessionOptions) {
    if options.cleanStart { world.kioskStartsClean() }
    client.assumeIsolated { $0.connect(options) }
    world.interceptCall(client)
  }

  package func update(_ options: SessionOptions) {
    world.interceptCall(client)
    client.assumeIsolated { $0.update(options) }
    world.interceptCall(client)
  }

  package func nextEvent(timeout: Duration?) async -> BrokerEvent? {
    world.kioskWaits(client)
    if isBeginning { world.kioskHandledNewSession(client) }
    isBeginning = false
    var event = await client.nextEvent(timeout: timeout)
    if case .deliveries(let deliveries) = event {
      if world.kiosk?.client === client {
        world.auditor.kioskReceived(deliveries, at: world.broker.now)
      }
      world.kioskHasWork()
      switch world.injectedBug {
      case .acknowledgesEarly: await client.acknowledge()
      case .hidesRedelivery:
        event = .deliveries(
          deliveries.map { Delivery(message: $0.message, packetID: $0.packetID) })
      case .ignoresReload, nil: break
      }
    }
    switch event {
    case .online, .deliveries, .confirmed: world.kioskIsConnected()
    case .offline, .updated, .refused, .sessionBegan, nil: break
    }
    if case .online = event { world.kioskIsOnline() }
    isBeginning = event == .sessionBegan
    world.interceptCall(client)
    return event
  }

  package func publish(_ messages: [Message]) throws(BrokerError) -> UInt64 {
    world.interceptCall(client)
    world.kioskPublishes(messages, client)
    let result = client.assumeIsolated { client in
      Result { () throws(BrokerError) in try client.publish(messages) }
    }
    world.interceptCall(client)
    return try result.get()
  }

  package var confirmed: UInt64 { client.assumeIsolated { $0.confirmed } }

  @discardableResult
  package func acknowledge() -> Bool {
    world.interceptCall(client)
    defer { world.interceptCall(client) }
    return client.assumeIsolated { $0.acknowledge() }
  }

  package func abandon() {
    world.kioskAbandons(client)
    if world.kiosk?.client === client { world.auditor.batchIsAbandoned() }
    world.interceptCall(client)
    client.assumeIsolated { $0.abandon() }
    world.interceptCall(client)
  }

  package func disconnect(grace: Duration) async {
    world.interceptCall(client)
    await client.disconnect(grace: grace)
  }
}
