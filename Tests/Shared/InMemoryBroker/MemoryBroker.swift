import MessageBroker
import Synchronization

/// An MQTT 5 broker in memory, for tests and simulations: several clients, a manual clock, and
/// faults on demand. The same calls always have the same effects.
///
/// Transmission is instantaneous: a message has reached its receivers when the call of its sender
/// returns. Keep-alive, will delay and QoS 2 are not implemented.
package final class MemoryBroker: Sendable {
  /// The state that a broker restores when it starts.
  package enum Persistence: Sendable {
    /// Sessions with their queues, and retained messages.
    case everything
    /// The state of the last `save()`, as after a power cut; empty without one.
    case lastSave
    case nothing
  }

  let maximumPayload: Int
  private let reconnectDelays: ClosedRange<Duration>
  private let network: Mutex<Network>

  /// - Parameters:
  ///   - behavior: The broker product to imitate.
  ///   - queueLimit: Maximum number of messages of a session, in addition to those in flight; the
  ///     newest is dropped.
  ///   - maximumPayload: Maximum size of a published payload in bytes. The default is the maximum
  ///     packet length (MQTT 2.1.4).
  ///   - reconnectDelays: The longest delay of its clients before the second attempt to connect,
  ///     and before the last ones.
  package init(
    behavior: Behavior = .mosquitto, queueLimit: Int = 1_000, maximumPayload: Int = 268_435_455,
    reconnectDelays: ClosedRange<Duration> = Session.reconnectDelays
  ) {
    self.maximumPayload = maximumPayload
    self.reconnectDelays = reconnectDelays
    network = Mutex(Network(server: ServerState(behavior: behavior, queueLimit: queueLimit)))
  }

  /// Creates a client that is not connected.
  ///
  /// - Parameters:
  ///   - executor: The executor of the client; by default its own.
  ///   - batchLimit: Maximum number of deliveries in a batch, at least 1; by default the receive
  ///     maximum of the session.
  package func client(
    on executor: (any SerialExecutor)? = nil, batchLimit: Int? = nil
  ) -> MemoryClient {
    let number = update { [reconnectDelays] network in
      network.add(ClientState(reconnectDelays: reconnectDelays, batchLimit: batchLimit))
    }
    return MemoryClient(number, of: self, on: executor)
  }

  /// Changes the network, then resumes each call of `nextEvent` that has an event to return.
  func update<Result: Sendable>(_ change: (inout Network) -> Result) -> Result {
    let (result, wakeups) = network.withLock { network in
      (change(&network), network.takeWakeups())
    }
    for wakeup in wakeups { wakeup.continuation.resume(returning: wakeup.event) }
    return result
  }

  /// Reads the network without resuming calls.
  func read<Result: Sendable>(_ look: (borrowing Network) -> Result) -> Result {
    network.withLock { look($0) }
  }

  /// Changes the network, and also resumes the calls that the change has ended.
  private func wake(_ change: (inout Network) -> [Network.Wakeup]) {
    for wakeup in update(change) { wakeup.continuation.resume(returning: wakeup.event) }
  }

  func wait(
    _ client: Int, _ number: Int, timeout: Duration?,
    _ continuation: CheckedContinuation<BrokerEvent?, Never>
  ) {
    wake { network in
      let deadline = timeout.map { network.now + $0 }
      return network.wait(
        client, .init(number: number, deadline: deadline, continuation: continuation))
    }
  }

  func cancelWait(_ client: Int, _ number: Int) {
    wake { $0.cancelWait(client, number: number) }
  }
}

/// The clock.
extension MemoryBroker {
  /// The time since the broker was created.
  package var now: Duration { read { $0.now } }

  /// The time of the next timer: a timeout of `nextEvent` or an attempt to reconnect.
  package var nextDeadline: Duration? { read { $0.nextDeadline } }

  /// Advances the time of the broker and its clients.
  ///
  /// Timers fire in the order of their times, but the clients that they resume run only afterwards.
  /// A simulation that needs the clients to run in between repeats: advance to `nextDeadline`, run
  /// the executor.
  package func advance(by duration: Duration) {
    wake { network in network.advance(to: network.now + duration) }
  }
}
