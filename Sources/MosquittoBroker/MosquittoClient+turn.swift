import MessageBroker

/// The event loop's side: what happens between two waits.
extension MosquittoClient {
  func turn(_ ready: EventLoop.Readiness) -> EventLoop.Interest {
    let now = Instant.now
    advance(ready, now)
    bidFarewell(at: now)
    answer(at: now, hasLooked: !mayHoldMore(ready))
    return interest
  }

  /// Whether there may be something on the socket that has come before now and was not read.
  private func mayHoldMore(_ ready: EventLoop.Readiness) -> Bool {
    guard case .open(let connection) = link, batch == .none, farewell == nil else { return false }
    return !ready.isWatched || ready.canRead || connection.hasMore
  }

  private func advance(_ ready: EventLoop.Readiness, _ now: Instant) {
    switch link {
    case .idle: break
    case .waiting(let until): if now >= until { startConnecting(at: now) }
    case .connecting(let connector, let until):
      switch connector.take() {
      case .connected(let connection): adopt(connection, at: now)
      case .failed(let error): lose(error, at: now)
      case .pending, .abandoned:
        guard now >= until else { break }
        lose(.unreachable("\(configuration.host) does not answer"), at: now)
      }
    case .open(let connection):
      if farewell?.hasLeft == true {
        if ready.isHungUp { link = .idle }
      } else {
        serve(connection, ready, now)
      }
    }
  }

  private func startConnecting(at now: Instant) {
    let mayResume = life?.mayResume(at: now) ?? false
    let isPersistent = options.sessionExpiry > .zero
    let start: Connection.Start = !isPersistent ? .clean : mayResume ? .resume : .wipe
    let connector = Connector { [configuration, options] () throws(BrokerError) -> Connection in
      try Connection(configuration, options, start)
    } done: { [loop] in
      loop.wake()
    }
    link = .connecting(connector, until: now + configuration.connectTimeout)
  }

  private func adopt(_ connection: Connection, at now: Instant) {
    // To connect has taken its time: what could be resumed then may be too old by now.
    if connection.start == .resume, life?.mayResume(at: now) == false {
      return startConnecting(at: now)
    }
    link = .open(connection)
    life?.looked(at: now)
    connection.deadline = now + configuration.connectTimeout
    // The first write is not waited for: TLS has nothing to read before it.
    serve(connection, EventLoop.Readiness(), now)
  }

  private func serve(
    _ connection: Connection, _ ready: EventLoop.Readiness, _ now: Instant
  ) {
    do throws(BrokerError) {
      try exchange(connection, ready, now)
    } catch {
      lose(error, at: now)
    }
  }

  private func exchange(
    _ connection: Connection, _ ready: EventLoop.Readiness, _ now: Instant
  ) throws(BrokerError) {
    if batch == .none {
      // While something is unread it might be the answer to the last PINGREQ. In the midst of a
      // flood the socket is never empty, but what came within the last second is a sign of life.
      let justNow = now - .seconds(1)
      let isCurrent =
        (ready.isWatched && !ready.canRead && ready.at >= justNow)
        || life?.hasReceived(since: justNow) == true
      if now >= connection.nextMisc, isCurrent {
        try connection.misc(at: now)
        // Its PINGRESPs come, but what is published may as well be lost.
        let limit = Duration.seconds(2 * Int(connection.keepAlive))
        if confirmations.isStalled(at: now, for: limit) { throw .confirmsNothing }
      }
      if connection.wantsWrite { try connection.write() }
    }
    // On the way out acknowledgements are still read; what else comes is never handed over.
    guard batch == .none || farewell != nil else {
      if ready.isHungUp { try readReason(connection) }
      return
    }
    if ready.canRead || connection.hasMore {
      try checkAge(connection, now)
      do throws(BrokerError) {
        try connection.read(upTo: Int(options.receiveMaximum))
      } catch {
        try digest(connection, now)
        throw error
      }
      try digest(connection, now)
      life?.received(at: now)
      life?.looked(at: .now)
    } else if ready.isWatched {
      life?.looked(at: ready.at)
    }
    // Reading may have ended the connection, or put a batch in hand.
    guard case .open(let current) = link, current === connection, batch == .none else { return }
    if connection.wantsWrite { try connection.write() }
    if connection.isAwaited, now >= connection.deadline {
      throw .unreachable("\(configuration.host) does not finish the MQTT handshake")
    }
  }

  /// With a batch in hand nothing is read; but when the broker has ended the connection, its reason
  /// is, and what it delivered before, which can be acknowledged no more, comes again.
  private func readReason(_ connection: Connection) throws(BrokerError) {
    repeat {
      try connection.read(upTo: .max)
      for packetID in connection.inbox.published {
        confirmations.acknowledged(packetID: packetID)
      }
    } while connection.hasMore
    throw .closedByBroker
  }

  /// Reads nothing that is older than the session may be.
  private func checkAge(_ connection: Connection, _ now: Instant) throws(BrokerError) {
    if life?.overslept(at: now) == true
      || (connection.start == .resume && !connection.isGreeted
        && life?.mayResume(at: now) == false)
    {
      throw .connectionLost("nothing was read for longer than the session may live")
    }
  }

  /// Makes events of what has been read.
  private func digest(_ connection: Connection, _ now: Instant) throws(BrokerError) {
    let inbox = connection.inbox
    for packetID in inbox.published { confirmations.acknowledged(packetID: packetID) }
    inbox.published.removeAll(keepingCapacity: true)
    for code in inbox.takeRefusals() where reportedRefusals.insert(code).inserted {
      events.append(.refused(BrokerError(publish: code)))
    }
    let deliveries = inbox.takeDeliveries()
    defer {
      // Behind `online`, which is no less true for it.
      if !deliveries.isEmpty {
        // The outage is over for a client that hears from its broker, online or not yet.
        reportedReasons = []
        events.append(.deliveries(deliveries))
        batch = .queued
        batchConnection = connection
      }
    }
    if let greeting = inbox.greeting {
      inbox.greeting = nil
      guard greeting.code == 0 else {
        throw BrokerError(refusal: greeting, configuration.protocolVersion)
      }
      if !greeting.resumesSession {
        isSessionNew = true
        life?.startedClean(at: now)
      }
      try greeted(connection, at: now)
    }
    defer { inbox.granted.removeAll() }
    for (packetID, levels) in inbox.granted {
      try subscriptionAnswered(connection, packetID, levels, now)
    }
  }

  private func greeted(_ connection: Connection, at now: Instant) throws(BrokerError) {
    if connection.start == .wipe {
      _ = connection.leave(acknowledging: true)
      startConnecting(at: now)
    } else if options.subscriptions.isEmpty {
      online(connection, at: now)
    } else {
      connection.unsubscribe(from: Array(former.subtracting(options.subscriptions)))
      try subscribe(connection, to: options.subscriptions, at: now)
    }
  }

  func online(_ connection: Connection, at now: Instant) {
    connection.onlineSince = now
    life?.online(at: now)
    reportedReasons = []
    events.append(.online(resumed: !isSessionNew))
    isSessionNew = false
    if update != nil { changeSubscriptions(connection, at: now) }
  }

  /// Drops the connection, or the attempt to make one, and tells why if that is news.
  func lose(_ reason: BrokerError, at now: Instant) {
    switch link {
    case .connecting(let connector, _): connector.abandon()
    case .open(let connection):
      if let since = connection.onlineSince { backoff.connectionEnded(after: now - since) }
    case .idle, .waiting: break
    }
    confirmations.connectionLost()
    reportedRefusals = []
    life?.connectionLost()
    // The next connection subscribes to what was asked for.
    if update != nil { updated(refusal: nil) }
    link = farewell == nil ? .waiting(until: now + backoff.next()) : .idle
    if reportedReasons.insert(reason).inserted { events.append(.offline(reason)) }
  }

  /// Takes leave when all is confirmed or the grace is over, and ends when the broker has closed the
  /// connection or the grace is over.
  private func bidFarewell(at now: Instant) {
    guard let farewell else { return }
    if case .open(let connection) = link, connection.isGreeted {
      let isOver = now >= farewell.deadline
      if !farewell.hasLeft {
        let isDone = confirmations.isComplete && (batch != .none || !connection.wantsWrite)
        guard isDone || isOver || isHoldingBack else { return }
        // A DISCONNECT keeps the will from being published (3.14.4). Where what was to be said instead
        // has not arrived, the will says it.
        if confirmations.isComplete {
          self.farewell?.hasLeft = connection.leave(acknowledging: batch == .none)
        }
      }
      if self.farewell?.hasLeft == true, !isOver { return }
    }
    if case .connecting(let connector, _) = link { connector.abandon() }
    link = .idle
    for caller in farewell.callers { caller.resume() }
    self.farewell?.callers = []
  }

  private var interest: EventLoop.Interest {
    var interest = EventLoop.Interest()
    var instants = [waiter?.wait.deadline]
    switch link {
    case .idle: break
    case .waiting(let until), .connecting(_, let until): instants.append(until)
    case .open(let connection) where farewell?.hasLeft == true:
      interest.socket = connection.socket
      instants.append(farewell?.deadline)
    case .open(let connection) where batch == .none || farewell != nil:
      interest.socket = connection.socket
      interest.read = true
      interest.write = batch == .none && connection.waitsForRoom
      instants += [connection.hasMore ? .now : connection.nextMisc, farewell?.deadline]
      if connection.isAwaited { instants.append(connection.deadline) }
      if let life { instants.append(.now + life.longestWait) }
    case .open(let connection): interest.socket = connection.socket
    }
    interest.until = instants.compactMap(\.self).min()
    return interest
  }
}
