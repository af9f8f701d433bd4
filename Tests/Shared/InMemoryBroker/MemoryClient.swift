package import MessageBroker

/// A client of a `MemoryBroker`.
///
/// It takes a connection for established when `nextEvent` has returned something from it; what is
/// published before is dropped. While a batch is in hand `nextEvent` reads nothing: it returns only
/// for an outage, for its timeout or for a cancellation. One call of `nextEvent` waits at a time; a
/// second one lets the first return `nil`.
package actor MemoryClient: BrokerClient {
  /// Lends its executor to a client that was given none.
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
        // A cancellation before the line above found nobody waiting.
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

  /// Nothing takes time, so nothing needs grace.
  package func disconnect(grace: Duration) async { broker.update { $0.disconnect(number) } }
}

extension MemoryBroker {
  /// Whether the message has a topic name (4.7.3, no wildcards: 3.3.2.1) and is not too long.
  fileprivate func permits(_ message: Message) -> Bool {
    let topic = message.topic.utf8
    let forbidden = [UInt8(ascii: "+"), UInt8(ascii: "#"), 0]
    return (1...65_535).contains(topic.count) && !topic.contains(where: forbidden.contains)
      && message.payload.count <= maximumPayload
  }
}
