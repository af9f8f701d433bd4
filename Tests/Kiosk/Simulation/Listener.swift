import InMemoryBroker
import MessageBroker

/// Somebody with a connection to the broker: hears what was subscribed to, and may send.
actor Listener {
  nonisolated let client: MemoryClient
  nonisolated var unownedExecutor: UnownedSerialExecutor { client.unownedExecutor }
  // Read between two runs of the executor, on the same thread.
  nonisolated(unsafe) private(set) var received: [Message] = []
  nonisolated(unsafe) private(set) var isConnected = false

  init(_ client: MemoryClient) { self.client = client }

  func run(_ options: SessionOptions) async {
    await client.connect(options)
    while !Task.isCancelled, let event = await client.nextEvent(timeout: nil) {
      switch event {
      case .online: isConnected = true
      case .offline: isConnected = false
      case .deliveries(let deliveries): received += deliveries.map(\.message)
      case .confirmed, .updated, .refused, .sessionBegan: break
      }
      await client.acknowledge()
    }
  }

  /// - Parameter observing: is handed what publishes the messages, and may look at what that does
  ///   before anybody else acts.
  func send(_ messages: [Message], observing: @Sendable (() -> Void) -> Void) {
    observing { client.assumeIsolated { _ = try? $0.publish(messages) } }
  }

  /// What has come since the last look.
  nonisolated func take() -> [Message] {
    defer { received = [] }
    return received
  }
}
