import MessageBroker
import Synchronization

/// An MQTT 5 broker in memory, for tests and simulations: several clients, a clock that moves only
/// when told to, and faults on demand. The same calls always have the same effects.
///
/// Nothing takes time: what a client writes has reached the others when the call returns.
/// Keep-alive, will delay and QoS 2 are left out.
package final class MemoryBroker: Sendable {
  /// What a broker that starts again still knows.
  package enum Persistence: Sendable {
    /// Sessions, their queues, and retained messages.
    case everything
    /// What it knew at the last `save()`, as after a power cut; nothing if there was none.
    case lastSave
    case nothing
  }

  let maximumPayload: Int
  private let reconnectDelays: ClosedRange<Duration>
  private let network: Mutex<Network>

  /// - Parameters:
  ///   - behavior: whose peculiarities it has.
  ///   - queueLimit: how many messages a session holds beyond those in flight, before it drops the
  ///     newest.
  ///   - maximumPayload: in bytes; a longer one cannot be published. By default what the length of a
  ///     packet can tell (MQTT 2.1.4).
  ///   - reconnectDelays: how long its clients wait before the second attempt to connect, and before the
  ///     last ones.
  package init(
    behavior: Behavior = .mosquitto, queueLimit: Int = 1_000, maximumPayload: Int = 268_435_455,
    reconnectDelays: ClosedRange<Duration> = Session.reconnectDelays
  ) {
    self.maximumPayload = maximumPayload
    self.reconnectDelays = reconnectDelays
    network = Mutex(Network(server: ServerState(behavior: behavior, queueLimit: queueLimit)))
  }

  /// Makes a client, not connected yet.
  ///
  /// - Parameters:
  ///   - executor: where the client runs; by default on one of its own.
  ///   - batchLimit: how many deliveries make a batch at most, from 1; the session's receive maximum
  ///     by default.
  package func client(
    on executor: (any SerialExecutor)? = nil, batchLimit: Int? = nil
  ) -> MemoryClient {
    let number = update { [reconnectDelays] network in
      network.add(ClientState(reconnectDelays: reconnectDelays, batchLimit: batchLimit))
    }
    return MemoryClient(number, of: self, on: executor)
  }

  /// Changes the network, then lets each call of `nextEvent` return that has something to return.
  func update<Result: Sendable>(_ change: (inout Network) -> Result) -> Result {
    let (result, wakeups) = network.withLock { network in
      (change(&network), network.takeWakeups())
    }
    for wakeup in wakeups { wakeup.continuation.resume(returning: wakeup.event) }
    return result
  }

  /// Looks at the network: nobody waits for what does not change.
  func read<Result: Sendable>(_ look: (borrowing Network) -> Result) -> Result {
    network.withLock { look($0) }
  }

  /// Changes the network, and lets those calls return, too, that the change has ended.
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
  /// The time since the broker was made.
  package var now: Duration { read { $0.now } }

  /// When the next thing happens by itself: a timeout of `nextEvent` or an attempt to reconnect.
  package var nextDeadline: Duration? { read { $0.nextDeadline } }

  /// Lets time pass for the broker and its clients.
  ///
  /// What is due happens in the order of its time, but clients that it wakes run only afterwards. A
  /// simulation in which they act in between advances to `nextDeadline`, runs its executor, and so
  /// on.
  package func advance(by duration: Duration) {
    wake { network in network.advance(to: network.now + duration) }
  }
}
