package import MessageBroker
import Synchronization

/// A connection to a real broker, over libmosquitto.
///
/// It is its own event loop: one thread that reads the socket, hands over a batch, runs the jobs of
/// the actors that adopt `unownedExecutor`, and writes only when no batch is in hand. The thread
/// lives as long as this object, since it is the executor of all calls to it; after `disconnect` it
/// waits for those only. A batch held for longer than the keep-alive time costs the connection: what
/// would keep it alive cannot be written.
package actor MosquittoClient: BrokerClient {
  typealias Instant = ContinuousClock.Instant

  /// Where it stands with its broker.
  enum Link {
    /// Not asked to connect, or at the end.
    case idle
    case waiting(until: Instant)
    case connecting(Connector, until: Instant)
    case open(Connection)
  }

  /// The deliveries read last.
  enum Batch {
    case none
    /// Read, and an event that nobody has taken yet.
    case queued
    /// The client's, until it settles.
    case inHand
  }

  /// A call of `nextEvent` that has not returned yet.
  final class Wait: Sendable {
    let deadline: Instant?
    let isCancelled = Atomic(false)

    init(until deadline: Instant?) { self.deadline = deadline }
  }

  /// A `disconnect` under way.
  struct Farewell {
    let deadline: Instant
    /// The DISCONNECT is out, and the broker's end of the connection is waited for.
    var hasLeft = false
    var callers: [CheckedContinuation<Void, Never>]
  }

  /// An `update` under way.
  struct Update {
    let before: SessionOptions
    let change: SubscriptionChange
  }

  let configuration: Configuration
  nonisolated let loop = EventLoop()
  var options = SessionOptions(clientID: "")
  /// What was subscribed to once, and may be in a session that is resumed.
  var former: Set<TopicFilter> = []
  /// An `update` under way.
  var update: Update?
  var life: SessionLife?
  /// A session has begun since the client was last told that it is online.
  var isSessionNew = false
  var link = Link.idle
  var batch = Batch.none
  /// Something was published that leaves with the settlement of the batch.
  var isHoldingBack = false
  /// Which read the batch, and alone can acknowledge it.
  weak var batchConnection: Connection?
  var events: [BrokerEvent] = []
  var waiter: (wait: Wait, continuation: CheckedContinuation<BrokerEvent?, Never>)?
  var confirmations = Confirmations()
  var farewell: Farewell?
  var backoff: Backoff
  /// The reasons of this outage that have been told.
  var reportedReasons: Set<BrokerError> = []
  /// The reasons for which this connection's broker did not take something, and that have been told.
  var reportedRefusals: Set<Int32> = []
  private var toldConfirmed: UInt64 = 0

  package init(_ configuration: Configuration) {
    self.configuration = configuration
    backoff = Backoff(configuration.reconnectDelays)
    // Weak, so that the thread ends with the last reference to the broker.
    loop.start { [weak self] ready in
      guard let self else { return nil }
      return self.assumeIsolated { $0.turn(ready) }
    }
  }

  deinit { loop.wake() }

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  package func connect(_ options: SessionOptions) {
    guard case .idle = link, life == nil, farewell == nil else { return }
    self.options = options
    life = SessionLife(options, at: .now)
    link = .waiting(until: .now)
  }

  package func nextEvent(timeout: Duration?) async -> BrokerEvent? {
    if farewell != nil { return nil }
    if let event = takeEvent() { return event }
    if Task.isCancelled { return nil }
    // A turn sees the waiter, its cancellation and its deadline: none needs a task of its own.
    let wait = Wait(until: timeout.map { .now + $0 })
    return await withTaskCancellationHandler {
      // A task that is resumed goes to its own executor first and to the actor's from there. Its own
      // would be the global one: two changes of threads for each event.
      await withTaskExecutorPreference(loop) { await resumption(of: wait) }
    } onCancel: {
      wait.isCancelled.store(true, ordering: .relaxed)
      loop.wake()
    }
  }

  private func resumption(of wait: Wait) async -> BrokerEvent? {
    await withCheckedContinuation { continuation in
      waiter?.continuation.resume(returning: nil)
      waiter = (wait, continuation)
    }
  }

  @discardableResult
  package func publish(_ messages: [Message]) throws(BrokerError) -> UInt64 {
    life?.served()
    var refused: [String] = []
    var reason = ""
    for message in messages {
      do throws(PublishError) {
        try publish(message)
      } catch {
        refused.append(message.topic)
        reason = error.reason
      }
    }
    guard refused.isEmpty else { throw .cannotPublish(topics: refused, reason: reason) }
    return confirmations.last
  }

  package var confirmed: UInt64 { confirmations.confirmed }

  @discardableResult
  package func settle() -> Bool {
    guard batch == .inHand else { return false }
    batch = .none
    isHoldingBack = false
    life?.served()
    guard farewell == nil, case .open(let connection) = link else { return false }
    do throws(BrokerError) {
      if connection.wantsWrite { try connection.write() }
      return connection === batchConnection && !connection.wantsWrite
    } catch {
      lose(error, at: .now)
      return false
    }
  }

  package func abandon() {
    if batch != .none { life?.abandoned() }
    batch = .none
    events.removeAll { if case .deliveries = $0 { true } else { false } }
    guard case .open = link else { return }
    lose(.connectionLost("the client has given it up"), at: .now)
  }

  package func disconnect(grace: Duration) async {
    if farewell != nil, case .idle = link { return }
    await withCheckedContinuation { caller in
      if farewell == nil { farewell = Farewell(deadline: .now + grace, callers: []) }
      farewell?.callers.append(caller)
    }
  }

  private func publish(_ message: Message) throws(PublishError) {
    let version = configuration.protocolVersion
    try PublishError.check(message, version)
    let isCounted = message.qos == .atLeastOnce
    guard case .open(let connection) = link, connection.isGreeted, farewell == nil else {
      if isCounted { confirmations.dropped() }
      return
    }
    // What is published again on the next connection has another chance.
    if confirmations.isFull {
      lose(.confirmsNothing, at: .now)
      confirmations.dropped()
      return
    }
    if batch != .none { isHoldingBack = true }
    let packetID = try connection.publish(message, version)
    if isCounted { confirmations.published(packetID: packetID) }
  }

  /// The next event, and in hand if it is a batch.
  private func takeEvent() -> BrokerEvent? {
    if !events.isEmpty {
      toldConfirmed = confirmed
      let event = events.removeFirst()
      if case .deliveries = event { batch = .inHand }
      return event
    }
    guard confirmed > toldConfirmed else { return nil }
    toldConfirmed = confirmed
    return .confirmed
  }

  /// Lets the waiting call of `nextEvent` return, if there is something to return.
  ///
  /// - Parameter hasLooked: what has come in time has been read. A timeout does not pass it over.
  func answer(at now: Instant, hasLooked: Bool) {
    guard let (wait, continuation) = waiter else { return }
    if farewell != nil {
      continuation.resume(returning: nil)
    } else if let event = takeEvent() {
      continuation.resume(returning: event)
    } else if wait.isCancelled.load(ordering: .relaxed) {
      continuation.resume(returning: nil)
    } else if let deadline = wait.deadline, now >= deadline, hasLooked {
      continuation.resume(returning: nil)
    } else {
      return
    }
    waiter = nil
  }
}
