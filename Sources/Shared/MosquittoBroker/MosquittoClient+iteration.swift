import MessageBroker
import Synchronization

/// The event loop's side: what happens between two waits.
extension MosquittoClient {
  func runIteration(_ ready: EventLoop.Readiness) -> EventLoop.Interest {
    let now = Instant.now
    advance(ready, now)
    perform(session.tick(isWritten: isWritten, at: time(now)))
    resumeWaiter(at: now, isSocketRead: !mayHaveUnread(ready))
    return interest
  }

  /// Whether there may be something on the socket that has come before now and was not read.
  private func mayHaveUnread(_ ready: EventLoop.Readiness) -> Bool {
    guard case .open(let connection) = link, session.mayWrite, !session.isDisconnectRequested else {
      return false
    }
    return !ready.isWatched || ready.canRead || connection.hasMore
  }

  private func advance(_ ready: EventLoop.Readiness, _ now: Instant) {
    switch link {
    case .none: break
    case .connecting(let connector):
      switch connector.take() {
      case .connected(let connection):
        link = .open(connection)
        perform(session.connected(at: time(now)))
        // The first write is not waited for: TLS has nothing to read before it.
        if case .open = link { serve(connection, EventLoop.Readiness(), now) }
      case .failed(let error): perform(session.lost(error, at: time(now)))
      case .pending, .abandoned: break
      }
    case .open where session.isDisconnecting: if ready.isHungUp { perform(session.closed()) }
    case .open(let connection): serve(connection, ready, now)
    }
  }

  private func serve(
    _ connection: Connection, _ ready: EventLoop.Readiness, _ now: Instant
  ) {
    do throws(BrokerError) {
      try exchange(connection, ready, now)
    } catch {
      // What was read before may have ended it for another reason.
      if isCurrentlyOpen(connection) { perform(session.lost(error, at: time(now))) }
    }
  }

  private func exchange(
    _ connection: Connection, _ ready: EventLoop.Readiness, _ now: Instant
  ) throws(BrokerError) {
    if session.mayWrite {
      // While something is unread it might be the answer to the last PINGREQ. In the midst of a
      // flood the socket is never empty, but what came within the last second is a sign of life.
      let justNow = now - .seconds(1)
      let isCurrent =
        (ready.isWatched && !ready.canRead && ready.at >= justNow)
        || session.hasReceived(since: time(justNow))
      if now >= connection.nextMisc, isCurrent {
        try connection.misc(at: now)
        perform(session.keepAliveChecked(at: time(now)))
        guard isCurrentlyOpen(connection) else { return }
      }
      if connection.wantsWrite { try connection.write() }
    }
    // On the way out acknowledgements are still read; what else comes is never handed over.
    guard session.mayRead else {
      if ready.isHungUp { try readReason(connection) }
      return
    }
    if ready.canRead || connection.hasMore {
      perform(session.willRead(at: time(now)))
      guard isCurrentlyOpen(connection) else { return }
      let result = Result { () throws(BrokerError) in
        try connection.read(upTo: Int(session.options.receiveMaximum))
      }
      processReceived(connection, at: time(now))
      try result.get()
      session.didRead(at: time(now), until: time())
    } else if ready.isWatched {
      session.checkedSocket(at: time(ready.at))
    }
    // Reading may have ended the connection, or put a batch in hand.
    if isCurrentlyOpen(connection), session.mayWrite, connection.wantsWrite {
      try connection.write()
    }
  }

  private func isCurrentlyOpen(_ connection: Connection) -> Bool {
    if case .open(let current) = link { current === connection } else { false }
  }

  /// With a batch in hand nothing is read; but when the broker has ended the connection, its reason
  /// is, and what it delivered before, which can be acknowledged no more, comes again.
  private func readReason(_ connection: Connection) throws(BrokerError) {
    repeat {
      try connection.read(upTo: .max)
      takeAcknowledgements(connection.inbox, at: time())
    } while connection.hasMore
    throw .closedByBroker
  }

  private func takeAcknowledgements(_ inbox: Inbox, at now: Session.Instant) {
    for packetID in inbox.published {
      let refusal = inbox.refusals.removeValue(forKey: packetID)
      session.acknowledged(
        packetID: packetID, refusal: refusal.map(BrokerError.text(for:)), at: now)
    }
    inbox.published.removeAll(keepingCapacity: true)
  }

  /// Tells the session what has been read.
  private func processReceived(_ connection: Connection, at now: Session.Instant) {
    let inbox = connection.inbox
    takeAcknowledgements(inbox, at: now)
    let deliveries = inbox.takeDeliveries()
    if let connectAck = inbox.takeConnectAck() {
      let version = configuration.protocolVersion
      perform(
        session.connectAckReceived(
          resumed: connectAck.resumesSession,
          refusal: connectAck.code == 0 ? nil : BrokerError(refusal: connectAck, version), at: now))
    }
    for (packetID, levels) in inbox.takeGranted() {
      guard let number = connection.subscriptions.removeValue(forKey: packetID) else { continue }
      perform(session.granted(number, levels, at: now))
    }
    // Behind `online`, which is no less true for it.
    if !deliveries.isEmpty, isCurrentlyOpen(connection) { session.received(deliveries) }
  }

  /// Lets the waiting call of `nextEvent` return, if there is something to return.
  ///
  /// - Parameter isSocketRead: what has come in time has been read. A timeout does not pass it over.
  private func resumeWaiter(at now: Instant, isSocketRead: Bool) {
    guard let (wait, continuation) = waiter else { return }
    let isDue = isSocketRead && wait.deadline.map { now >= $0 } ?? false
    let isCancelled = wait.isCancelled.load(ordering: .relaxed)
    guard let event = session.eventForWaiter(isCancelled: isCancelled, isDue: isDue) else { return }
    waiter = nil
    continuation.resume(returning: event)
  }

  private var interest: EventLoop.Interest {
    var interest = EventLoop.Interest()
    var instants = [waiter?.wait.deadline, session.deadline.map(instant)]
    if case .open(let connection) = link {
      interest.socket = connection.socket
      if session.mayRead, !session.isDisconnecting {
        interest.read = true
        interest.write = session.mayWrite && connection.waitsForSocketSpace
        instants += [
          connection.hasMore ? .now : connection.nextMisc, .now + session.longestWait,
        ]
      }
    }
    interest.until = instants.compactMap(\.self).min()
    return interest
  }
}
