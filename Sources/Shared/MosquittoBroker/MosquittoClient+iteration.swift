import MessageBroker
import Synchronization

/// One iteration of the event loop: the work between two waits.
extension MosquittoClient {
  func runIteration(_ ready: EventLoop.Readiness) -> EventLoop.Interest {
    let now = Instant.now
    advance(ready, now)
    perform(session.tick(isWritten: isWritten, at: time(now)))
    resumeWaiter(at: now, isSocketRead: !mayHaveUnread(ready))
    return interest
  }

  /// Returns whether the socket may contain unread data that arrived before now and may be read.
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
        // Writes without waiting for the socket: TLS has nothing to read before the first write.
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
      // Data read before the error may already have closed the connection for another reason.
      if isCurrentlyOpen(connection) { perform(session.lost(error, at: time(now))) }
    }
  }

  private func exchange(
    _ connection: Connection, _ ready: EventLoop.Readiness, _ now: Instant
  ) throws(BrokerError) {
    if session.mayWrite {
      // Unread data might contain the PINGRESP, so the keep-alive is checked only when the socket
      // is empty. Under continuous load it is never empty; then data received within the last
      // second proves that the connection works.
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
    // During `disconnect` PUBACKs are still read; deliveries are discarded.
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
    // The read may have ended the connection or started a batch.
    if isCurrentlyOpen(connection), session.mayWrite, connection.wantsWrite {
      try connection.write()
    }
  }

  private func isCurrentlyOpen(_ connection: Connection) -> Bool {
    if case .open(let current) = link { current === connection } else { false }
  }

  /// Reads the reason why the broker closed the connection while a batch is being processed, when
  /// nothing else is read.
  ///
  /// Deliveries read here are discarded: they can no longer be acknowledged, and the broker
  /// redelivers them.
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

  /// Passes the data that was read to the session.
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
    // Deliveries read together with the CONNACK or a SUBACK are reported after `online`.
    if !deliveries.isEmpty, isCurrentlyOpen(connection) { session.received(deliveries) }
  }

  /// Resumes the waiting call of `nextEvent` if there is an event to return, at its deadline, after
  /// a cancellation, and after `disconnect`.
  ///
  /// - Parameter isSocketRead: Whether no data that arrived before now is left to read. Otherwise
  ///   a deadline is ignored, so that no event is missed.
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
