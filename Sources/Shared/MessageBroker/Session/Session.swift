/// The rules of a client's session with its broker, as a value: no I/O, and no clock.
///
/// The transport (`MosquittoClient`, or the in-memory broker of the tests) reports what happens. It
/// executes the returned actions in order, and passes the events on to the client:
///
/// ```swift
/// var actions = session.connect(options, at: now)  // [.connect(.resume)]
/// actions = session.connected(at: now)
/// actions = session.connectAckReceived(resumed: true, refusal: nil, at: now)  // [.subscribe]
/// actions = session.granted(1, [1], at: now)
/// session.takeEvent()  // .online
/// session.received(deliveries)
/// session.takeEvent()  // .deliveries; `mayRead` and `mayWrite` are false until:
/// session.acknowledge()
/// ```
///
/// Call `tick` at `deadline` at the latest. Times count from an arbitrary origin and include the
/// time during which the computer sleeps.
package struct Session: ~Copyable, Sendable {
  package typealias Instant = Duration

  /// The state of the connection to the broker.
  enum LinkState: Sendable, Equatable {
    /// The client has not called `connect`, or its `disconnect` has completed.
    case idle
    case waiting(until: Instant)
    case connecting(until: Instant)
    /// The CONNECT is queued; no CONNACK has arrived.
    case opening(until: Instant)
    /// A SUBSCRIBE sent after the CONNACK is not answered yet.
    case subscribing
    case online(since: Instant)
    /// The DISCONNECT has been sent.
    case disconnecting
  }

  /// The state of the last deliveries that were read.
  enum Batch: Sendable {
    case none
    /// Deliveries that were read, and that the client has not taken yet.
    case queued
    /// Deliveries that the client has taken, and not acknowledged yet.
    case delivered
  }

  /// An `update` in progress.
  struct Update: Sendable {
    let before: SessionOptions
    let change: SubscriptionChange
  }

  private let broker: String
  /// The text at the end of the error message about a broker that does not answer the CONNECT.
  package var handshakeHint = ""
  private let connectTimeout: Duration
  package private(set) var options = SessionOptions(clientID: "")
  private var lifetime: SessionLifetime?
  private var link = LinkState.idle
  /// The kind of session of the connection, or of the current attempt.
  package private(set) var start = Start.clean
  /// The number of attempts to connect.
  private var connection = 0
  private var backoff: Backoff

  /// Filters of earlier and of the current options, which a resumed session may still contain.
  private var former: Set<TopicFilter> = []
  /// Filters of the SUBSCRIBEs that are not answered yet, by number.
  private var pending: [Int: [TopicFilter]] = [:]
  private var subscribes = 0
  /// The time from which the SUBACKs are overdue.
  private var responseDeadline = Instant.zero
  /// The first filter that the broker refused, of the SUBSCRIBEs sent together.
  private var refusedFilter: TopicFilter?
  private var update: Update?

  private var events: [BrokerEvent] = []
  /// Whether the client has received the event `sessionBegan` and has not requested the next event
  /// yet.
  private var isBeginning = false
  /// Whether the client abandoned the event `sessionBegan`, so that it is reported again on the
  /// next connection.
  private var mustRepeatSessionBegan = false
  private var batch = Batch.none
  /// The number of the connection that delivered the batch; no other connection can acknowledge it.
  private var batchConnection = 0
  /// Whether published messages wait until the client processes a batch or the new session.
  private var hasDeferredPublishes = false
  private var confirmations = Confirmations()
  private var reportedConfirmed: UInt64 = 0
  /// The reasons reported during this outage.
  private var reportedReasons: Set<BrokerError> = []
  /// Reasons why the broker refused messages on this connection, by topic; not yet reported.
  private var refusals: [String: String] = [:]
  /// The end of the grace period of `disconnect`.
  private var disconnectDeadline: Instant?
  /// The number of consecutive MQTT 5 connections that a malformed packet ended.
  private var malformedPackets = 0
  /// The end of the time on MQTT 3.1.1 after malformed packets, or `nil` if there is none.
  private var plainUntil: Instant?

  /// Maximum number of consecutive MQTT 5 connections that malformed packets may end.
  private static let maximumMalformedPackets = 2
  /// The time for which connections use MQTT 3.1.1 after `maximumMalformedPackets`, because a
  /// retained malformed message would end each later connection on MQTT 5.
  private static let plainDuration = Duration.seconds(3600)

  /// The longest delay before the second attempt to connect (lower bound), and the limit up to
  /// which it doubles with each further attempt (upper bound).
  package static let reconnectDelays = Duration.seconds(1) ... .seconds(30)

  /// Creates a session that is not connected.
  ///
  /// - Parameters:
  ///   - broker: The broker's name in error messages, such as `127.0.0.1`.
  ///   - connectTimeout: The maximum duration of a connect. The MQTT handshake may take longer.
  ///   - delays: The longest delay before the second attempt to connect, and the limit up to which
  ///     it doubles with each further attempt.
  ///   - random: Returns the fraction of the longest delay to use, from 0 to 1; called for each
  ///     delay.
  package init(
    broker: String, connectTimeout: Duration, delays: ClosedRange<Duration>,
    random: @escaping @Sendable () -> Double
  ) {
    self.broker = broker
    self.connectTimeout = connectTimeout
    backoff = Backoff(delays, random: random)
  }
}

// MARK: Calls of the client

extension Session {
  package mutating func connect(_ options: SessionOptions, at now: Instant) -> [Action] {
    guard link == .idle, lifetime == nil, disconnectDeadline == nil else { return [] }
    self.options = options
    // guard: a resumed session loses the filters of an earlier process
    former = options.formerSubscriptions
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
    // Deferred until the SUBSCRIBE in progress is answered.
    case .subscribing where disconnectDeadline == nil: return []
    case .idle, .waiting, .connecting, .opening, .subscribing, .online, .disconnecting:
      updated(refusal: nil)
      return []
    }
  }

  /// Returns the next event, or `nil` if there is none or `disconnect` was called. A returned batch
  /// becomes the current batch.
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

  /// Maximum number of topics with refused messages that one event reports.
  package static let maximumRefusals = 100

  /// Returns the result for a waiting call of `nextEvent`: an event, `.some(nil)` if the call must
  /// return without one, or `nil` if it must continue to wait.
  ///
  /// A cancelled call also receives a batch that was read. Otherwise that batch could not be
  /// acknowledged, which would block all further publishing.
  package mutating func eventForWaiter(isCancelled: Bool, isDue: Bool) -> BrokerEvent?? {
    if isDisconnectRequested { return .some(nil) }
    if let event = takeEvent() { return event }
    return isCancelled || isDue ? .some(nil) : nil
  }

  /// Prepares a publish; afterwards `mayPublish` is valid.
  package mutating func willPublish(at now: Instant) -> [Action] {
    lifetime?.processed()
    // The client can publish the lost messages again on the next connection.
    return confirmations.isFull ? lost(.confirmsNothing, at: now) : []
  }

  /// Whether a message can be published now. Call `dropped` for a QoS 1 message that cannot.
  package var mayPublish: Bool {
    hasConnectAck && disconnectDeadline == nil && !confirmations.isFull
  }

  /// Records a message that was queued.
  ///
  /// - Parameter packetID: The packet id of a QoS 1 message; `nil` for QoS 0.
  package mutating func published(packetID: Int32?, on topic: String, at now: Instant) {
    if isWaitingForClient { hasDeferredPublishes = true }
    if let packetID { confirmations.published(packetID: packetID, on: topic, at: now) }
  }

  /// Counts a dropped QoS 1 message, so that its sequence number is above `confirmed`.
  package mutating func dropped() { confirmations.dropped() }

  /// The sequence number of the last QoS 1 message, published or dropped.
  package var lastPublished: UInt64 { confirmations.last }

  /// The sequence number up to which the broker has acknowledged published messages.
  package var confirmed: UInt64 { confirmations.confirmed }

  /// Acknowledges the current batch.
  ///
  /// - Returns: Whether the transport must write the queue now: there was a batch, and there is a
  ///   connection that is not ending.
  package mutating func acknowledge() -> Bool {
    guard batch == .delivered else { return false }
    batch = .none
    hasDeferredPublishes = false
    lifetime?.processed()
    return disconnectDeadline == nil && hasConnection
  }

  /// Whether the current connection delivered the batch that was acknowledged last.
  package var acknowledges: Bool { hasConnection && batchConnection == connection }

  package mutating func abandon(at now: Instant) -> [Action] {
    if batch != .none { lifetime?.abandoned() }
    // guard: a client that failed to handle a new session is notified again
    if isBeginning { mustRepeatSessionBegan = true }
    batch = .none
    hasDeferredPublishes = false
    events.removeAll { if case .deliveries = $0 { true } else { false } }
    return hasConnection ? lost(.connectionLost("the client closed it"), at: now) : []
  }

  /// Starts the disconnect.
  ///
  /// - Parameter isWritten: Whether all queued packets have been written.
  package mutating func disconnect(
    grace: Duration, isWritten: Bool, at now: Instant
  ) -> [Action] {
    if disconnectDeadline == nil { disconnectDeadline = now + grace }
    return disconnectIfReady(isWritten: isWritten, at: now)
  }
}

// MARK: Queries of the transport

extension Session {
  /// Whether the transport may read: not between a batch and its acknowledgement, except during
  /// `disconnect`, when PUBACKs are still needed.
  package var mayRead: Bool { hasConnection && (batch == .none || disconnectDeadline != nil) }

  /// Whether queued packets may be sent: there is a connection that is not ending, no batch waits
  /// for its acknowledgement, and the client has processed the beginning of a new session.
  package var mayWrite: Bool { hasConnection && link != .disconnecting && !isWaitingForClient }

  /// Whether writing has to wait for the client, which has to acknowledge a batch or to discard the
  /// state of an earlier session.
  private var isWaitingForClient: Bool {
    // A batch holds back its own PUBACKs, which the library has already queued.
    // guard: nothing is subscribed to in a new session before the client has handled it
    batch != .none || isBeginning || events.contains(.sessionBegan)
  }

  package var isDisconnecting: Bool { link == .disconnecting }

  /// Whether `disconnect` was called.
  package var isDisconnectRequested: Bool { disconnectDeadline != nil }

  /// Whether the broker has accepted the connection, and no DISCONNECT was sent.
  package var hasConnectAck: Bool {
    switch link {
    case .subscribing, .online: true
    case .idle, .waiting, .connecting, .opening, .disconnecting: false
    }
  }

  /// The latest time for the next call of `tick`, or `nil` if no timer runs.
  package var deadline: Instant? {
    let own: Instant? =
      switch link {
      case .idle, .disconnecting: nil
      case .waiting(let until), .connecting(let until): until
      case .opening(let until): isWaitingForClient ? nil : until
      case .subscribing, .online:
        isWaitingForClient
          ? nil : [pending.isEmpty ? nil : responseDeadline, plainUntil].compactMap(\.self).min()
      }
    return [own, link == .idle ? nil : disconnectDeadline].compactMap(\.self).min()
  }

  /// Whether the connection has to use MQTT 3.1.1, because malformed packets have ended connections
  /// over MQTT 5. Over MQTT 3.1.1, the broker delivers messages without properties.
  package var isPlain: Bool { plainUntil != nil }

  /// The time of the next attempt to connect, or `nil` if none is scheduled.
  package var retryTime: Instant? { if case .waiting(let until) = link { until } else { nil } }

  /// Maximum duration of a wait for the socket. It is shorter than the session expiry, so a longer
  /// time between two calls means that the process was suspended or blocked.
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

// MARK: Reports of the transport

extension Session {
  /// Fires expired timers.
  ///
  /// - Parameter isWritten: Whether all queued packets have been written.
  package mutating func tick(isWritten: Bool, at now: Instant) -> [Action] {
    switch link {
    case .waiting(let until) where now >= until: return startConnecting(at: now)
    case .connecting(let until) where now >= until:
      return lost(.unreachable("\(broker) does not answer"), at: now)
    case .opening(let until) where now >= until && !isWaitingForClient:
      return lost(
        .unreachable("\(broker) does not finish the MQTT handshake\(handshakeHint)"), at: now)
    case .subscribing, .online:
      guard !isWaitingForClient else { break }
      if !pending.isEmpty, now >= responseDeadline {
        return lost(.unreachable("\(broker) does not finish the MQTT handshake"), at: now)
      }
      if let plainUntil, now >= plainUntil {
        return lost(.connectionLost("the time on MQTT 3.1.1 is over"), at: now)
      }
    case .idle, .waiting, .connecting, .opening, .disconnecting: break
    }
    return disconnectIfReady(isWritten: isWritten, at: now)
  }

  /// Reports that the attempt has made a connection and the CONNECT is queued.
  package mutating func connected(at now: Instant) -> [Action] {
    // Connecting took time: the session may have expired meanwhile.
    if start == .resume, lifetime?.mayResume(at: now) == false { return startConnecting(at: now) }
    link = .opening(until: now + responseTimeout)
    lifetime?.checkedSocket(at: now)
    return []
  }

  /// Reports a CONNACK.
  ///
  /// - Parameters:
  ///   - resumed: Whether the broker has resumed a session.
  ///   - refusal: The reason if the broker refused the connection, otherwise `nil`.
  package mutating func connectAckReceived(
    resumed: Bool, refusal: BrokerError?, at now: Instant
  ) -> [Action] {
    if let refusal { return lost(refusal, at: now) }
    if !resumed { lifetime?.startedClean(at: now) }
    // guard: the client is notified of a new session
    if !resumed || mustRepeatSessionBegan { events.append(.sessionBegan) }
    mustRepeatSessionBegan = false
    if start == .wipe { return [.disconnect(acknowledging: true)] + startConnecting(at: now) }
    link = .subscribing
    let outdated = former.subtracting(options.subscriptions)
    let drop: [Action] = outdated.isEmpty ? [] : [.unsubscribe(Array(outdated))]
    guard !options.subscriptions.isEmpty else { return drop + online(at: now) }
    return drop + subscribe(to: options.subscriptions, at: now)
  }

  /// Reports a SUBACK.
  ///
  /// - Parameter levels: The granted QoS of each filter. A lower QoS than requested counts as a
  ///   refusal, because deliveries could be lost.
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

  /// Prepares a read: data older than the session expiry must not be read.
  package mutating func willRead(at now: Instant) -> [Action] {
    let isTooOld: Bool
    if case .opening = link, start == .resume {
      isTooOld = lifetime?.mayHaveExpired(at: now) == true || lifetime?.mayResume(at: now) == false
    } else {
      isTooOld = lifetime?.mayHaveExpired(at: now) == true
    }
    guard isTooOld else { return [] }
    return lost(.connectionLost("nothing was read for longer than the session expiry"), at: now)
  }

  /// Reports a completed read.
  ///
  /// - Parameters:
  ///   - now: The start of the read.
  ///   - end: The end of the read.
  package mutating func didRead(at now: Instant, until end: Instant) {
    lifetime?.received(at: now)
    lifetime?.checkedSocket(at: end)
  }

  /// Reports that the socket was empty.
  package mutating func checkedSocket(at now: Instant) { lifetime?.checkedSocket(at: now) }

  /// Reports one or more deliveries. They follow the events reported before.
  package mutating func received(_ deliveries: [Delivery]) {
    // A delivery ends the outage, even before `online`.
    reportedReasons = []
    events.append(.deliveries(deliveries))
    batch = .queued
    batchConnection = connection
  }

  /// Reports the PUBACK of a message. Ignores an unknown packet id: libmosquitto also reports QoS 0
  /// messages once they are written.
  ///
  /// - Parameter refusal: The reason if the broker refused the message, otherwise `nil`.
  package mutating func acknowledged(packetID: Int32, refusal: String? = nil, at now: Instant) {
    let topic = confirmations.acknowledged(packetID: packetID, at: now)
    guard let topic, let refusal, refusals.count < Self.maximumRefusals else { return }
    refusals[topic] = refusal
  }

  /// Reports that the keep-alive was checked. Drops the connection if messages are unconfirmed and
  /// the broker, which answers PINGREQs, has confirmed none for two keep-alive intervals.
  package mutating func keepAliveChecked(at now: Instant) -> [Action] {
    let limit = Duration.seconds(2 * Int(max(options.keepAlive, 5)))
    guard confirmations.isStalled(at: now, for: limit) else { return [] }
    return lost(.confirmsNothing, at: now)
  }

  /// Reports that the connection is lost or could not be made. Deliveries read on it can no longer
  /// be acknowledged.
  package mutating func lost(_ reason: BrokerError, at now: Instant) -> [Action] {
    if case .online(let since) = link {
      backoff.connectionEnded(after: now - since)
      // Some brokers do not refuse a filter but end the connection, and would end the next one.
      if let update {
        adopt(update.before)
        updated(refusal: reason)
      }
    }
    confirmations.connectionLost()
    refusals = [:]
    pending = [:]
    lifetime?.connectionLost()
    // The next connection subscribes with the new options.
    if update != nil { updated(refusal: nil) }
    if reportedReasons.insert(reason).inserted { events.append(.offline(reason)) }
    guard disconnectDeadline == nil else { return end() }
    link = .waiting(until: now + (isMalformed(reason, at: now) ? .zero : delay()))
    return [.drop]
  }

  /// Reports that the connection is closed after the DISCONNECT.
  package mutating func closed() -> [Action] { link == .disconnecting ? end() : [] }
}

// MARK: Implementation

extension Session {
  /// Records the reason of a lost connection.
  ///
  /// - Returns: Whether the next connection is needed at once, because a malformed message delays
  ///   all others.
  private mutating func isMalformed(_ reason: BrokerError, at now: Instant) -> Bool {
    guard case .malformedPacket = reason, !isPlain else {
      malformedPackets = 0
      return false
    }
    malformedPackets += 1
    // guard: a message with malformed properties does not end each connection
    if malformedPackets >= Self.maximumMalformedPackets { plainUntil = now + Self.plainDuration }
    return true
  }

  private mutating func startConnecting(at now: Instant) -> [Action] {
    if let plainUntil, now >= plainUntil { (self.plainUntil, malformedPackets) = (nil, 0) }
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

  /// Returns the delay before the next attempt: short enough for several attempts before the
  /// session expires.
  private mutating func delay() -> Duration { limited(backoff.next()) }

  private func limited(_ delay: Duration) -> Duration {
    options.sessionExpiry > .zero ? min(delay, options.sessionExpiry / 4) : delay
  }

  /// Maximum time for the broker's answers: three times `connectTimeout` or twice the longest next
  /// delay, whichever is longer; but at most a quarter of the session expiry, and at least
  /// `connectTimeout`.
  ///
  /// A broker to which a thousand clients reconnect simultaneously answers all of them, but late,
  /// and each client that gives up and reconnects adds to that load.
  private var responseTimeout: Duration {
    max(connectTimeout, limited(max(connectTimeout * 3, backoff.ceiling * 2)))
  }

  private mutating func adopt(_ options: SessionOptions) {
    self.options = options
    lifetime?.expiry = options.sessionExpiry
  }

  private mutating func subscribe(to filters: [TopicFilter], at now: Instant) -> [Action] {
    refusedFilter = nil
    // An invalid filter is reported instead of being left out silently.
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

  /// Subscribes and unsubscribes as the update requires. Removed filters that overlap with added
  /// ones are unsubscribed in the same write, so that the broker serves no other client in between.
  private mutating func changeSubscriptions(at now: Instant) -> [Action] {
    guard let change = update?.change else { return [] }
    let first: [Action] = change.droppedFirst.isEmpty ? [] : [.unsubscribe(change.droppedFirst)]
    if !change.added.isEmpty { return first + subscribe(to: change.added, at: now) }
    updated(refusal: nil)
    return first + (change.droppedLast.isEmpty ? [] : [.unsubscribe(change.droppedLast)])
  }

  /// Restores the options and subscriptions before an update.
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

  /// Sends the DISCONNECT when all messages are confirmed. Ends the connection after the grace
  /// period; at once without a CONNACK, or if unconfirmed messages are held back.
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
    // A DISCONNECT suppresses the will (3.14.4). If the final messages are unconfirmed, or held
    // back with an unacknowledged batch, the connection is dropped so that the broker publishes the
    // will.
    return isOver || hasDeferredPublishes ? end() : []
  }

  private mutating func end() -> [Action] {
    link = .idle
    return [.drop, .end]
  }
}

extension BrokerError {
  static let confirmsNothing = BrokerError.connectionLost(
    "the broker does not acknowledge messages")
}
