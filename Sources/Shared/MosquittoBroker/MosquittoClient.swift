package import MessageBroker
import Synchronization

/// A connection to an MQTT broker: executes the actions of its `Session` with libmosquitto.
///
/// ```swift
/// let broker = try MosquittoClient(.init(host: "127.0.0.1"))
/// await broker.connect(SessionOptions(clientID: "juice-kiosk-k1", subscriptions: filters))
/// while let event = await broker.nextEvent(timeout: nil) { ... }  // see `BrokerClient`
/// ```
///
/// | type | task |
/// |---|---|
/// | `Session` | all rules: when to connect, subscribe, read, write, acknowledge |
/// | `EventLoop` | one thread: waits for the socket, runs the jobs of the actors |
/// | `Connector` | connects on another thread, because connecting blocks |
/// | `Connection`, `Inbox` | the libmosquitto handle, and what its callbacks deliver |
///
/// The event loop's thread reads the socket, delivers a batch, runs the jobs of the actors that
/// adopt `unownedExecutor`, and writes only while no batch is being processed. It is the executor
/// of all calls to this actor, so it runs as long as the actor exists. A batch that takes longer
/// than the keep-alive time ends the connection, because no PINGREQ can be written meanwhile.
package actor MosquittoClient: BrokerClient {
  typealias Instant = ContinuousClock.Instant

  /// The state of the network connection.
  enum Link {
    case none
    case connecting(Connector)
    case open(Connection)
  }

  /// A call of `nextEvent` that has not returned yet.
  final class Wait: Sendable {
    let deadline: Instant?
    let isCancelled = Atomic(false)

    init(until deadline: Instant?) { self.deadline = deadline }
  }

  let configuration: Configuration
  private var addresses: AddressRing
  nonisolated let loop: EventLoop
  var session: Session
  var link = Link.none
  var waiter: (wait: Wait, continuation: CheckedContinuation<BrokerEvent?, Never>)?
  /// Continuations of the pending calls of `disconnect`.
  var disconnectContinuations: [CheckedContinuation<Void, Never>] = []
  /// The origin of the session's times. `ContinuousClock` is CLOCK_BOOTTIME on Linux.
  private var origin = Instant.now

  /// Starts the event loop, without connecting.
  ///
  /// - Throws: `BrokerError.unreachable` if the system has no thread or no descriptor left.
  package init(_ configuration: Configuration) throws(BrokerError) {
    loop = try EventLoop()
    self.configuration = configuration
    addresses = AddressRing(configuration.addresses)
    session = Session(
      broker: configuration.addresses.map(\.host).joined(separator: ", "),
      connectTimeout: configuration.connectTimeout,
      delays: configuration.reconnectDelays, random: { Double.random(in: 0...1) })
    session.handshakeHint = BrokerError.hint(configuration.protocolVersion)
    // Weak, so that the thread ends when the last reference to this actor is released.
    try loop.start { [weak self] ready in
      guard let self else { return nil }
      return self.assumeIsolated { $0.runIteration(ready) }
    }
  }

  deinit { loop.wake() }

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  /// Converts to the time scale of the session.
  func time(_ instant: Instant = .now) -> Session.Instant { origin.duration(to: instant) }

  func instant(_ time: Session.Instant) -> Instant { origin + time }

  /// Advances the session's clock, as suspending the computer does. For tests.
  package func advanceClock(by duration: Duration) {
    origin -= duration
    loop.wake()
  }

  package func connect(_ options: SessionOptions) {
    perform(session.connect(options, at: time()))
  }

  package func update(_ options: SessionOptions) {
    perform(session.update(options, at: time()))
  }

  package func nextEvent(timeout: Duration?) async -> BrokerEvent? {
    if let event = session.eventForWaiter(isCancelled: Task.isCancelled, isDue: false) {
      return event
    }
    // Each iteration checks the waiter, its cancellation and its deadline; no further task is
    // needed.
    let wait = Wait(until: timeout.map { .now + $0 })
    return await withTaskCancellationHandler {
      // A resumed task runs on its preferred executor first, then on the actor's. Without this
      // preference the first is the global executor, which costs two thread switches per event.
      await withTaskExecutorPreference(loop) { await event(for: wait) }
    } onCancel: {
      wait.isCancelled.store(true, ordering: .relaxed)
      loop.wake()
    }
  }

  private func event(for wait: Wait) async -> BrokerEvent? {
    await withCheckedContinuation { continuation in
      waiter?.continuation.resume(returning: nil)
      waiter = (wait, continuation)
    }
  }

  @discardableResult
  package func publish(_ messages: [Message]) throws(BrokerError) -> UInt64 {
    var refused: [String] = []
    var reason = ""
    let now = time()
    for message in messages {
      do throws(PublishError) {
        try publish(message, at: now)
      } catch {
        refused.append(message.topic)
        reason = error.reason
      }
    }
    guard refused.isEmpty else { throw .cannotPublish(topics: refused, reason: reason) }
    return session.lastPublished
  }

  private func publish(_ message: Message, at now: Session.Instant) throws(PublishError) {
    try PublishError.check(message, protocolVersion)
    perform(session.willPublish(at: now))
    let isCounted = message.qos == .atLeastOnce
    guard case .open(let connection) = link, session.mayPublish else {
      if isCounted { session.dropped() }
      return
    }
    let packetID = try connection.publish(message, protocolVersion)
    session.published(packetID: isCounted ? packetID : nil, on: message.topic, at: now)
  }

  package var confirmed: UInt64 { session.confirmed }

  @discardableResult
  package func acknowledge() -> Bool {
    guard session.acknowledge(), case .open(let connection) = link else { return false }
    do throws(BrokerError) {
      if connection.wantsWrite { try connection.write() }
      return session.acknowledges && !connection.wantsWrite
    } catch {
      perform(session.lost(error, at: time()))
      return false
    }
  }

  package func abandon() { perform(session.abandon(at: time())) }

  package func disconnect(grace: Duration) async {
    await withCheckedContinuation { caller in
      disconnectContinuations.append(caller)
      perform(session.disconnect(grace: grace, isWritten: isWritten, at: time()))
    }
  }

  /// Whether all queued packets have been written.
  var isWritten: Bool {
    if case .open(let connection) = link { !connection.wantsWrite } else { true }
  }
}

extension MosquittoClient {
  /// Executes the actions of the session.
  func perform(_ actions: [Session.Action]) {
    for action in actions { perform(action) }
  }

  private func perform(_ action: Session.Action) {
    switch (action, link) {
    case (.connect(let start), _):
      drop()
      link = .connecting(connector(start))
    case (.subscribe(let number, let filters, let retainAsPublished), .open(let connection)):
      connection.subscribe(
        to: filters, number: number, qos: session.options.subscriptionQoS,
        retainAsPublished: retainAsPublished && protocolVersion == .v5)
    case (.unsubscribe(let filters), .open(let connection)):
      connection.unsubscribe(from: filters)
    case (.disconnect(let acknowledging), .open(let connection)):
      if !connection.disconnect(acknowledging: acknowledging) { perform(session.closed()) }
    case (.drop, _): drop()
    case (.end, _):
      for caller in disconnectContinuations { caller.resume() }
      disconnectContinuations = []
    case (.subscribe, _), (.unsubscribe, _), (.disconnect, _): break
    }
  }

  private func drop() {
    if case .connecting(let connector) = link { connector.abandon() }
    link = .none
  }

  /// The protocol version of the current or the next connection.
  private var protocolVersion: Configuration.ProtocolVersion {
    session.isPlain ? .v311 : configuration.protocolVersion
  }

  private func connector(_ start: Session.Start) -> Connector {
    let options = session.options
    var configuration = configuration
    configuration.protocolVersion = protocolVersion
    return Connector(addresses.next()) {
      [configuration] (address) throws(BrokerError) -> Connection in
      try Connection(configuration, address, options, start)
    } done: { [loop] in
      loop.wake()
    }
  }
}
