import InMemoryBroker
import MessageBroker

/// A client of the broker: collects the messages of its subscriptions, and can publish.
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

  /// Publishes messages.
  ///
  /// - Parameter observing: receives the closure that publishes, and can examine its effect before
  ///   any other task runs.
  func send(_ messages: [Message], observing: @Sendable (() -> Void) -> Void) {
    observing { client.assumeIsolated { _ = try? $0.publish(messages) } }
  }

  /// Returns the messages received since the previous call.
  nonisolated func take() -> [Message] {
    defer { received = [] }
    return received
  }
}
