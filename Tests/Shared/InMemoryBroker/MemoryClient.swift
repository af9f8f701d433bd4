package import MessageBroker

/// A client of a `MemoryBroker`.
///
/// A client is connected once `nextEvent` has returned an event of the connection; messages
/// published before that are dropped. While a batch is unacknowledged, `nextEvent` returns only for
/// an outage, a timeout or a cancellation. One call of `nextEvent` can wait at a time; a second
/// call makes the first return `nil`.
package actor MemoryClient: BrokerClient {
  /// Provides the executor of a client without one.
  private actor DefaultActor {}

  nonisolated let number: Int
  private nonisolated let broker: MemoryBroker
  private nonisolated let executor: (any SerialExecutor)?
  private nonisolated let defaultActor = DefaultActor()
  private var waits = 0

  init(_ number: Int, of broker: MemoryBroker, on executor: (any SerialExecutor)?) {
    self.number = number
    self.broker = broker
    self.executor = executor
  }

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    executor?.asUnownedSerialExecutor() ?? defaultActor.unownedExecutor
  }

  package func connect(_ options: SessionOptions) {
    broker.update { $0.connect(number, options) }
  }

  package func update(_ options: SessionOptions) {
    broker.update { $0.update(number, options) }
  }

  package func nextEvent(timeout: Duration?) async -> BrokerEvent? {
    let timeout = Task.isCancelled ? .zero : timeout
    waits += 1
    let (number, wait) = (number, waits)
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        broker.wait(number, wait, timeout: timeout, continuation)
        // A cancellation before the previous line found no waiting call.
        if Task.isCancelled { broker.cancelWait(number, wait) }
      }
    } onCancel: {
      broker.cancelWait(number, wait)
    }
  }

  @discardableResult
  package func publish(_ messages: [Message]) throws(BrokerError) -> UInt64 {
    let refused = messages.filter { !broker.permits($0) }
    let allowed = refused.isEmpty ? messages : messages.filter { broker.permits($0) }
    let last = broker.update { $0.publish(allowed, by: number) }
    guard refused.isEmpty else {
      throw .cannotPublish(
        topics: refused.map(\.topic),
        reason: "not a topic name, or a payload of more than \(broker.maximumPayload) bytes")
    }
    return last
  }

  package var confirmed: UInt64 { broker.update { $0.clients[number].session.confirmed } }

  @discardableResult
  package func acknowledge() -> Bool { broker.update { $0.acknowledge(number) } }

  package func abandon() { broker.update { $0.abandon(number) } }

  /// Ignores `grace`, because transmission is instantaneous.
  package func disconnect(grace: Duration) async { broker.update { $0.disconnect(number) } }
}

extension MemoryBroker {
  /// Returns whether the topic name is valid (4.7.3, no wildcards: 3.3.2.1) and the payload is not
  /// too long.
  fileprivate func permits(_ message: Message) -> Bool {
    let topic = message.topic.utf8
    let forbidden = [UInt8(ascii: "+"), UInt8(ascii: "#"), 0]
    return (1...65_535).contains(topic.count) && !topic.contains(where: forbidden.contains)
      && message.payload.count <= maximumPayload
  }
}
