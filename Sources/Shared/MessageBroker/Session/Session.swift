/// Every rule of a client's session with its broker, as a value: it does no I/O and reads no clock.
///
/// Its hands, whoever has the connection, tell it what happens. They do the actions that it returns,
/// in order, and hand over its events. Times count from any moment, and go on while the computer
/// sleeps.
package struct Session: ~Copyable, Sendable {
  package typealias Instant = Duration

  /// Where it stands with its broker.
  enum LinkState: Sendable, Equatable {
    /// Not asked to connect, or at the end.
    case idle
    case waiting(until: Instant)
    case connecting(until: Instant)
    /// The CONNECT is not answered yet.
    case opening(until: Instant)
    /// The first SUBSCRIBE is not answered yet.
    case subscribing
    case online(since: Instant)
    /// The DISCONNECT is out.
    case disconnecting
  }

  /// The deliveries read last.
  enum Batch: Sendable {
    case none
    /// An event that nobody has taken yet.
    case queued
    /// The client's, until it settles.
    case delivered
  }

  /// An `update` under way.
  struct Update: Sendable {
    let before: SessionOptions
    let change: SubscriptionChange
  }

  private let broker: String
  private let connectTimeout: Duration
  package private(set) var options = SessionOptions(clientID: "")
  private var lifetime: SessionLifetime?
  private var link = LinkState.idle
  /// Of the connection, or of the attempt to make one.
  package private(set) var start = Start.clean
  /// How many connections there were.
  private var connection = 0
  private var backoff: Backoff

  /// What was subscribed to once, and may be in a session that is resumed.
  private var former: Set<TopicFilter> = []
  /// The SUBSCRIBEs that are not answered yet, by number.
  private var pending: [Int: [TopicFilter]] = [:]
  private var subscribes = 0
  /// When their answers are overdue.
  private var responseDeadline = Instant.zero
  /// What the broker has refused of those that were sent together.
  private var refusedFilter: TopicFilter?
  private var update: Update?

  private var events: [BrokerEvent] = []
  /// The client has taken the event of a new session, and has not asked for another one yet.
  private var isBeginning = false
  /// It has given that event up, and is told again on the next connection.
  private var mustRepeatSessionBegan = false
  private var batch = Batch.none
  /// Which connection has brought the batch, and alone can acknowledge it.
  private var batchConnection = 0
  /// Something was published that leaves with the settlement of the batch.
  private var hasDeferredPublishes = false
  private var confirmations = Confirmations()
  private var reportedConfirmed: UInt64 = 0
  /// The reasons of this outage that have been told.
  private var reportedReasons: Set<BrokerError> = []
  /// By topic, why this connection's broker did not take something; still to be told.
  private var refusals: [String: String] = [:]
  /// Until when a `disconnect` may take.
  private var disconnectDeadline: Instant?

  /// The longest wait before the second attempt to connect, and before the last ones.
  package static let reconnectDelays = Duration.seconds(1) ... .seconds(30)

  /// - Parameters:
  ///   - broker: for people, as in `127.0.0.1`.
  ///   - connectTimeout: how long a connection may take. MQTT's handshake may take longer.
  ///   - delays: the longest wait before the second attempt to connect, and before the last ones.
  ///   - random: from 0 to 1, of which part of the longest wait is waited for; asked each time.
  package init(
    broker: String, connectTimeout: Duration, delays: ClosedRange<Duration>,
    random: @escaping @Sendable () -> Double
  ) {
    self.broker = broker
    self.connectTimeout = connectTimeout
    backoff = Backoff(delays, random: random)
  }
}

// MARK: What the client asks for

extension Session {
  package mutating func connect(_ options: SessionOptions, at now: Instant) -> [Action] {
    guard link == .idle, lifetime == nil, disconnectDeadline == nil else { return [] }
    self.options = options
    lifetime = SessionLifetime(options, at: now)
    return startConnecting(at: now)
  }

  package mutating func update(_ options: SessionOptions, at now: Instant) -> [Action] {
    let change = SubscriptionChange(from: self.options.subscriptions, to: options.subscriptions)
    update = Update(before: self.options, change: change)
    former.formUnion(self.options.subscriptions + options.subscriptions)
    adopt(options)
    switch link {
    case .online where disconnectDeadline == nil: return changeSubscriptions(at: now)
    // Not before it is known what comes of the subscriptions that were asked for last.
    case .subscribing where disconnectDeadline == nil: return []
    case .idle, .waiting, .connecting, .opening, .subscribing, .online, .disconnecting:
      updated(refusal: nil)
      return []
    }
  }

  /// The next event, and in hand if it is a batch.
  package mutating func takeEvent() -> BrokerEvent? {
    if isDisconnectRequested { return nil }
    if isBeginning { (isBeginning, hasDeferredPublishes) = (false, false) }
    if !events.isEmpty {
      reportedConfirmed = confirmed
      let event = events.removeFirst()
      if case .deliveries = event { batch = .delivered }
      isBeginning = event == .sessionBegan
      return event
    }
    guard refusals.isEmpty else {
      defer { (refusals, reportedConfirmed) = ([:], confirmed) }
      return .refused(refusals)
    }
    guard confirmed > reportedConfirmed else { return nil }
    reportedConfirmed = confirmed
    return .confirmed
  }

  /// More topics are not told at once.
  package static let maximumRefusals = 100

  /// What a call that waits for an event returns; `nil` if it is to go on waiting.
  ///
  /// What has been read is handed over to a call that is cancelled, too: it could not be settled
  /// otherwise, and nothing be said any more.
  package mutating func eventForWaiter(isCancelled: Bool, isDue: Bool) -> BrokerEvent?? {
    if isDisconnectRequested { return .some(nil) }
    if let event = takeEvent() { return event }
    return isCancelled || isDue ? .some(nil) : nil
  }

  /// Before a message is published; then `mayPublish` says whether it can be.
  package mutating func willPublish(at now: Instant) -> [Action] {
    lifetime?.processed()
    // What is published again on the next connection has another chance.
    return confirmations.isFull ? lost(.confirmsNothing, at: now) : []
  }

  /// Whether what is published now can go on its way. What cannot is to be told to `dropped`.
  package var mayPublish: Bool {
    hasConnectAck && disconnectDeadline == nil && !confirmations.isFull
  }

  /// - Parameter packetID: of a message with QoS 1.
  package mutating func published(packetID: Int32?, on topic: String, at now: Instant) {
    if isWaitingForClient { hasDeferredPublishes = true }
    if let packetID { confirmations.published(packetID: packetID, on: topic, at: now) }
  }

  /// Counts a message with QoS 1 that is dropped, so that it is never taken for a confirmed one.
  package mutating func dropped() { confirmations.dropped() }

  /// The running number of the last message so far that was published with QoS 1.
  package var lastPublished: UInt64 { confirmations.last }

  /// The running number up to which the broker has acknowledged what was published.
  package var confirmed: UInt64 { confirmations.confirmed }

  /// - Returns: whether there was a batch in hand, so that what is queued is to be written now.
  package mutating func acknowledge() -> Bool {
    guard batch == .delivered else { return false }
    batch = .none
    hasDeferredPublishes = false
    lifetime?.processed()
    return disconnectDeadline == nil && hasConnection
  }

  /// Whether the connection is the one that has brought the batch settled last.
  package var acknowledges: Bool { hasConnection && batchConnection == connection }

  package mutating func abandon(at now: Instant) -> [Action] {
    if batch != .none { lifetime?.abandoned() }
    // guard: a client that could not take in a new session is told again
    if isBeginning { mustRepeatSessionBegan = true }
    batch = .none
    hasDeferredPublishes = false
    events.removeAll { if case .deliveries = $0 { true } else { false } }
    return hasConnection ? lost(.connectionLost("the client has given it up"), at: now) : []
  }

  /// - Parameter isWritten: all that was queued has left.
  package mutating func disconnect(
    grace: Duration, isWritten: Bool, at now: Instant
  ) -> [Action] {
    if disconnectDeadline == nil { disconnectDeadline = now + grace }
    return disconnectIfReady(isWritten: isWritten, at: now)
  }
}

// MARK: What the hands ask

extension Session {
  /// Nothing is read while a batch is in hand. On the way out acknowledgements still are.
  package var mayRead: Bool { hasConnection && (batch == .none || disconnectDeadline != nil) }

  /// What is queued may leave: no acknowledgement of a batch in hand is among it, and no SUBSCRIBE in a new
  /// session that the client does not know of.
  package var mayWrite: Bool { hasConnection && link != .disconnecting && !isWaitingForClient }

  /// The broker waits for the client, which is to settle a batch, or to forget an earlier session.
  private var isWaitingForClient: Bool {
    // guard: nothing is subscribed to in a new session before the client has taken that in
    batch != .none || isBeginning || events.contains(.sessionBegan)
  }

  package var isDisconnecting: Bool { link == .disconnecting }

  /// `disconnect` was called.
  package var isDisconnectRequested: Bool { disconnectDeadline != nil }

  /// The broker has let the client in.
  package var hasConnectAck: Bool {
    switch link {
    case .subscribing, .online: true
    case .idle, .waiting, .connecting, .opening, .disconnecting: false
    }
  }

  /// When `tick` is to be called at the latest.
  package var deadline: Instant? {
    let own: Instant? =
      switch link {
      case .idle, .disconnecting: nil
      case .waiting(let until), .connecting(let until): until
      case .opening(let until): isWaitingForClient ? nil : until
      case .subscribing, .online: isWaitingForClient || pending.isEmpty ? nil : responseDeadline
      }
    return [own, link == .idle ? nil : disconnectDeadline].compactMap(\.self).min()
  }

  /// When the next attempt to connect is due, if one is.
  package var retryTime: Instant? { if case .waiting(let until) = link { until } else { nil } }

  /// A wait for the socket is to be no longer, so that sleep can be told from waiting.
  package var longestWait: Duration { lifetime?.longestWait ?? .seconds(1) }

  private var hasConnection: Bool {
    switch link {
    case .opening, .subscribing, .online, .disconnecting: true
    case .idle, .waiting, .connecting: false
    }
  }

  package func hasReceived(since then: Instant) -> Bool {
    lifetime?.hasReceived(since: then) ?? false
  }
}

// MARK: What the hands tell

extension Session {
  /// Lets happen what is due.
  ///
  /// - Parameter isWritten: all that was queued has left.
  package mutating func tick(isWritten: Bool, at now: Instant) -> [Action] {
    switch link {
    case .waiting(let until) where now >= until: return startConnecting(at: now)
    case .connecting(let until) where now >= until:
      return lost(.unreachable("\(broker) does not answer"), at: now)
    case .opening(let until) where now >= until && !isWaitingForClient:
      return lost(.unreachable("\(broker) does not finish the MQTT handshake"), at: now)
    case .subscribing, .online:
      guard !pending.isEmpty, !isWaitingForClient, now >= responseDeadline else { break }
      return lost(.unreachable("\(broker) does not finish the MQTT handshake"), at: now)
    case .idle, .waiting, .connecting, .opening, .disconnecting: break
    }
    return disconnectIfReady(isWritten: isWritten, at: now)
  }

  /// The attempt has made a connection; the CONNECT is queued.
  package mutating func connected(at now: Instant) -> [Action] {
    // To connect has taken its time: what could be resumed then may be too old by now.
    if start == .resume, lifetime?.mayResume(at: now) == false { return startConnecting(at: now) }
    link = .opening(until: now + responseTimeout)
    lifetime?.checkedSocket(at: now)
    return []
  }

  /// - Parameter refusal: why the broker does not let the client in.
  package mutating func connectAckReceived(
    resumed: Bool, refusal: BrokerError?, at now: Instant
  ) -> [Action] {
    if let refusal { return lost(refusal, at: now) }
    if !resumed { lifetime?.startedClean(at: now) }
    // guard: a new session is told of
    if !resumed || mustRepeatSessionBegan { events.append(.sessionBegan) }
    mustRepeatSessionBegan = false
    if start == .wipe { return [.disconnect(acknowledging: true)] + startConnecting(at: now) }
    link = .subscribing
    let outdated = former.subtracting(options.subscriptions)
    let drop: [Action] = outdated.isEmpty ? [] : [.unsubscribe(Array(outdated))]
    guard !options.subscriptions.isEmpty else { return drop + online(at: now) }
    return drop + subscribe(to: options.subscriptions, at: now)
  }

  /// A SUBSCRIBE is answered.
  ///
  /// - Parameter levels: of QoS, one for each filter. Less than was asked for is a refusal too:
  ///   deliveries could be lost.
  package mutating func granted(
    _ number: Int, _ levels: [Int32], at now: Instant
  ) -> [Action] {
    guard let filters = pending.removeValue(forKey: number) else { return [] }
    let granted = Int32(options.subscriptionQoS.rawValue)...1
    refusedFilter = refusedFilter ?? zip(filters, levels).first { !granted.contains($0.1) }?.0
    guard pending.isEmpty else { return [] }
    let refusal = refusedFilter.map { BrokerError.subscriptionRefused(filter: $0.text) }
    if case .subscribing = link {
      return refusal.map { lost($0, at: now) } ?? online(at: now)
    }
    guard let update else { return [] }
    if let refusal { return rollBack(update, refusal, at: now) }
    updated(refusal: nil)
    return update.change.droppedLast.isEmpty ? [] : [.unsubscribe(update.change.droppedLast)]
  }

  /// Before something is read: nothing that is older than the session may be.
  package mutating func willRead(at now: Instant) -> [Action] {
    let isTooOld: Bool
    if case .opening = link, start == .resume {
      isTooOld = lifetime?.mayHaveExpired(at: now) == true || lifetime?.mayResume(at: now) == false
    } else {
      isTooOld = lifetime?.mayHaveExpired(at: now) == true
    }
    guard isTooOld else { return [] }
    return lost(.connectionLost("nothing was read for longer than the session may live"), at: now)
  }

  /// After something was read.
  ///
  /// - Parameters:
  ///   - now: when it was begun.
  ///   - end: when it was done.
  package mutating func didRead(at now: Instant, until end: Instant) {
    lifetime?.received(at: now)
    lifetime?.checkedSocket(at: end)
  }

  /// The socket was empty.
  package mutating func checkedSocket(at now: Instant) { lifetime?.checkedSocket(at: now) }

  /// Deliveries have been read, at least one. They come behind what was told before.
  package mutating func received(_ deliveries: [Delivery]) {
    // The outage is over for a client that hears from its broker, online or not yet.
    reportedReasons = []
    events.append(.deliveries(deliveries))
    batch = .queued
    batchConnection = connection
  }

  /// The broker has answered for a message. An unknown packet id is that of a message with QoS 0, which
  /// libmosquitto reports too once it is written.
  ///
  /// - Parameter refusal: why it has not taken the message.
  package mutating func acknowledged(packetID: Int32, refusal: String? = nil, at now: Instant) {
    let topic = confirmations.acknowledged(packetID: packetID, at: now)
    guard let topic, let refusal, refusals.count < Self.maximumRefusals else { return }
    refusals[topic] = refusal
  }

  /// The broker answers to a PINGREQ; what is published may as well be lost.
  package mutating func keepAliveChecked(at now: Instant) -> [Action] {
    let limit = Duration.seconds(2 * Int(max(options.keepAlive, 5)))
    guard confirmations.isStalled(at: now, for: limit) else { return [] }
    return lost(.confirmsNothing, at: now)
  }

  /// The connection is gone, or none has come about. What it has read can be acknowledged no more.
  package mutating func lost(_ reason: BrokerError, at now: Instant) -> [Action] {
    if case .online(let since) = link { backoff.connectionEnded(after: now - since) }
    confirmations.connectionLost()
    refusals = [:]
    pending = [:]
    lifetime?.connectionLost()
    // The next connection subscribes to what was asked for.
    if update != nil { updated(refusal: nil) }
    if reportedReasons.insert(reason).inserted { events.append(.offline(reason)) }
    guard disconnectDeadline == nil else { return end() }
    link = .waiting(until: now + delay())
    return [.drop]
  }

  /// After the DISCONNECT the connection is closed.
  package mutating func closed() -> [Action] { link == .disconnecting ? end() : [] }
}

// MARK: Within

extension Session {
  private mutating func startConnecting(at now: Instant) -> [Action] {
    let mayResume = lifetime?.mayResume(at: now) ?? false
    start = options.sessionExpiry == .zero ? .clean : mayResume ? .resume : .wipe
    link = .connecting(until: now + connectTimeout)
    connection += 1
    pending = [:]
    return [.connect(start)]
  }

  private mutating func online(at now: Instant) -> [Action] {
    link = .online(since: now)
    lifetime?.online(at: now)
    reportedReasons = []
    events.append(.online)
    return update == nil ? [] : changeSubscriptions(at: now)
  }

  /// Until the next attempt: so short that a few come before what waits in the session is too old.
  private mutating func delay() -> Duration { limited(backoff.next()) }

  private func limited(_ delay: Duration) -> Duration {
    options.sessionExpiry > .zero ? min(delay, options.sessionExpiry / 4) : delay
  }

  /// With the broker's answers: three times that with a connection at first, and more with longer waits. A
  /// broker to which a thousand clients come back at once answers all of them, but late, and each that gives
  /// up and comes again makes it later.
  private var responseTimeout: Duration {
    max(connectTimeout, limited(max(connectTimeout * 3, backoff.ceiling * 2)))
  }

  private mutating func adopt(_ options: SessionOptions) {
    self.options = options
    lifetime?.expiry = options.sessionExpiry
  }

  private mutating func subscribe(to filters: [TopicFilter], at now: Instant) -> [Action] {
    refusedFilter = nil
    // Nothing is left out without a word.
    if let filter = filters.first(where: { !$0.isValid }) {
      let refusal = BrokerError.subscriptionRefused(filter: filter.text)
      return update.map { rollBack($0, refusal, at: now) } ?? lost(refusal, at: now)
    }
    responseDeadline = now + responseTimeout
    let isFlagged = { [options] in options.retainAsPublished.contains($0) }
    let groups = [(filters.filter { !isFlagged($0) }, false), (filters.filter(isFlagged), true)]
    return groups.filter { !$0.0.isEmpty }.map { filters, isFlagged in
      subscribes += 1
      pending[subscribes] = filters
      return .subscribe(subscribes, filters, retainAsPublished: isFlagged)
    }
  }

  /// What is dropped first leaves in one packet train with what is added: in between, nobody else is
  /// served.
  private mutating func changeSubscriptions(at now: Instant) -> [Action] {
    guard let change = update?.change else { return [] }
    let first: [Action] = change.droppedFirst.isEmpty ? [] : [.unsubscribe(change.droppedFirst)]
    if !change.added.isEmpty { return first + subscribe(to: change.added, at: now) }
    updated(refusal: nil)
    return first + (change.droppedLast.isEmpty ? [] : [.unsubscribe(change.droppedLast)])
  }

  /// Goes back to the options before an update.
  private mutating func rollBack(
    _ update: Update, _ refusal: BrokerError, at now: Instant
  ) -> [Action] {
    adopt(update.before)
    updated(refusal: refusal)
    let added = update.change.added.filter(\.isValid)
    let dropped = update.change.droppedFirst
    let back = dropped.isEmpty ? [] : subscribe(to: dropped, at: now)
    return (added.isEmpty ? [] : [.unsubscribe(added)]) + back
  }

  private mutating func updated(refusal: BrokerError?) {
    update = nil
    events.append(.updated(refusal: refusal))
  }

  /// Takes leave when all is confirmed, and ends when the broker has closed the connection or the grace
  /// is over.
  private mutating func disconnectIfReady(isWritten: Bool, at now: Instant) -> [Action] {
    guard let disconnectDeadline, link != .idle else {
      return disconnectDeadline == nil ? [] : [.end]
    }
    let isOver = now >= disconnectDeadline
    if link == .disconnecting { return isOver ? end() : [] }
    guard hasConnectAck else { return end() }
    if confirmations.isComplete, isWritten || isWaitingForClient || isOver {
      link = .disconnecting
      return [.disconnect(acknowledging: !isWaitingForClient)]
    }
    // A DISCONNECT keeps the will from being published (3.14.4). Where what was to be said instead has
    // not arrived, and what a batch holds back cannot, the will says it.
    return isOver || hasDeferredPublishes ? end() : []
  }

  private mutating func end() -> [Action] {
    link = .idle
    return [.drop, .end]
  }
}

extension BrokerError {
  static let confirmsNothing = BrokerError.connectionLost(
    "the broker confirms nothing of what is published")
}
