import MessageBroker

/// A broker, its clients, their connections, and the time.
///
/// Transmission is instantaneous. Time passes only in `advance(to:)`. Clients are identified by
/// index.
struct Network {
  /// A call of `nextEvent` to resume, with its result.
  typealias Wakeup = (continuation: CheckedContinuation<BrokerEvent?, Never>, event: BrokerEvent?)

  private(set) var now = Duration.zero
  var server: ServerState
  var faults: [MemoryBroker.Fault] = []
  private(set) var clients: [ClientState] = []
  /// The number of connections of each client id that ended without a DISCONNECT.
  private(set) var losses: [String: Int] = [:]
  private var isRunning = true
  private var saved: ServerState?

  init(server: ServerState) { self.server = server }

  mutating func add(_ client: ClientState) -> Int {
    clients.append(client)
    return clients.count - 1
  }

  // MARK: Calls of a client

  mutating func connect(_ client: Int, _ options: SessionOptions) {
    perform(client, clients[client].session.connect(options, at: now))
  }

  mutating func update(_ client: Int, _ options: SessionOptions) {
    perform(client, clients[client].session.update(options, at: now))
  }

  mutating func publish(_ messages: [Message], by client: Int) -> UInt64 {
    let state = clients[client]
    for message in messages {
      perform(client, clients[client].session.willPublish(at: now))
      let isCounted = message.qos == .atLeastOnce
      if state.session.mayPublish, !state.isKilled {
        let packetID = state.nextPacketID()
        state.outbox.append(.publish(message, packetID: packetID))
        state.session.published(packetID: isCounted ? packetID : nil, on: message.topic, at: now)
      } else if isCounted {
        state.session.dropped()
      }
    }
    return state.session.lastPublished
  }

  /// Sends the acknowledgements before the deferred messages, as libmosquitto does: an answer can
  /// be lost although its order is not redelivered.
  ///
  /// - Returns: Whether the acknowledgements were written.
  mutating func acknowledge(_ client: Int) -> Bool {
    let state = clients[client]
    guard !state.isKilled, state.session.acknowledge() else { return false }
    applyFault(.before, .acknowledge, client)
    write(client)
    let isAcknowledged = state.session.acknowledges && state.outbox.isEmpty
    applyFault(.after, .acknowledge, client)
    return isAcknowledged
  }

  mutating func abandon(_ client: Int) {
    receivePingResponse(client)
    perform(client, clients[client].session.abandon(at: now))
  }

  mutating func disconnect(_ client: Int) {
    let (state, grace) = (clients[client], Duration.seconds(1))
    perform(
      client,
      clients[client].session.disconnect(grace: grace, isWritten: state.outbox.isEmpty, at: now))
    write(client)
    while read(client) {}
    // Transmission is instantaneous, so the grace period elapses immediately.
    for instant in [now, now + grace] {
      perform(client, clients[client].session.tick(isWritten: state.outbox.isEmpty, at: instant))
    }
  }

  mutating func wait(_ client: Int, _ waiter: ClientState.Waiter) -> [Wakeup] {
    let superseded = clients[client].waiter
    clients[client].waiter = waiter
    return superseded.map { [($0.continuation, nil)] } ?? []
  }

  mutating func cancelWait(_ client: Int, number: Int) -> [Wakeup] {
    guard let waiter = clients[client].waiter, waiter.number == number else { return [] }
    clients[client].waiter = nil
    return [(waiter.continuation, nil)]
  }

  // MARK: Failures

  /// Breaks the connection of a client, as a failing network does.
  mutating func cut(_ clientID: String) {
    guard let client = server.sessions[clientID]?.connection else { return }
    lose(client, .connectionLost("the connection was cut"))
  }

  mutating func kill(_ client: Int) {
    closeConnection(client, isOrderly: false)
    clients[client].isKilled = true
  }

  mutating func dropSession(of clientID: String) {
    cut(clientID)
    server.dropSession(of: clientID)
  }

  mutating func stop() {
    isRunning = false
    for (_, client) in server.connections {
      lose(client, .connectionLost("the broker was stopped"))
    }
  }

  mutating func save() { saved = server }

  mutating func start(restoring memory: MemoryBroker.Persistence) {
    switch memory {
    case .everything: break
    case .lastSave: server.restore(saved, at: now)
    case .nothing: server.restore(nil, at: now)
    }
    isRunning = true
  }

  // MARK: Time

  /// The time of the next timer: a timeout or an attempt to reconnect.
  var nextDeadline: Duration? {
    clients.lazy.flatMap { [$0.waiter?.deadline, $0.isKilled ? nil : $0.session.retryTime] }
      .compactMap(\.self).min()
  }

  private func isDue(_ client: Int) -> Bool {
    let state = clients[client]
    return !state.isKilled && state.session.retryTime.map { $0 <= now } ?? false
  }

  /// Advances the time from deadline to deadline.
  mutating func advance(to end: Duration) -> [Wakeup] {
    var wakeups: [Wakeup] = []
    while let due = nextDeadline, due <= end {
      now = max(now, due)
      for client in clients.indices where isDue(client) {
        perform(client, clients[client].session.tick(isWritten: true, at: now))
      }
      wakeups += takeWakeups()
    }
    now = max(now, end)
    return wakeups
  }

  /// Lets all clients write and read, and returns the calls of `nextEvent` that can return now, in
  /// the order of the clients.
  mutating func takeWakeups() -> [Wakeup] {
    var wakeups: [Wakeup] = []
    var isBusy = true
    while isBusy {
      isBusy = false
      deliver()
      for client in clients.indices {
        if write(client) {
          isBusy = true
          deliver()
        }
        guard let waiter = clients[client].waiter else { continue }
        if let event = eventForWaiter(client, waiter) {
          clients[client].waiter = nil
          wakeups.append((waiter.continuation, event))
          isBusy = true
        } else if write(client) || read(client) {
          isBusy = true
        }
      }
    }
    return wakeups
  }

  // MARK: Implementation

  /// Returns the result of a waiting call, or `nil` if it has to wait.
  private mutating func eventForWaiter(_ client: Int, _ waiter: ClientState.Waiter) -> BrokerEvent??
  {
    let state = clients[client]
    if state.isKilled { return .some(nil) }
    let isDue = (waiter.deadline.map { $0 <= now } ?? false) && !mayRead(client)
    let event = state.session.eventForWaiter(isCancelled: false, isDue: isDue)
    if case .some(.deliveries) = event { applyFault(.after, .delivery, client) }
    return event
  }

  /// Executes the actions of a client's session.
  private mutating func perform(_ client: Int, _ actions: [Session.Action]) {
    for action in actions where !clients[client].isKilled { perform(client, action) }
  }

  private mutating func perform(_ client: Int, _ action: Session.Action) {
    let state = clients[client]
    switch action {
    case .connect(let start):
      closeConnection(client, isOrderly: false)
      attempt(client, start)
    case .subscribe(let number, let filters, let retainAsPublished):
      state.outbox.append(.subscribe(number, filters, retainAsPublished: retainAsPublished))
    case .unsubscribe(let filters): state.outbox.append(.unsubscribe(filters))
    case .disconnect:
      closeConnection(client, isOrderly: true)
      perform(client, clients[client].session.closed())
    case .drop: closeConnection(client, isOrderly: false)
    case .end: break
    }
  }

  private mutating func attempt(_ client: Int, _ start: Session.Start) {
    let state = clients[client]
    guard isRunning else {
      return perform(client, clients[client].session.lost(.unreachable("nothing listens"), at: now))
    }
    guard !server.refusesLogins else {
      return perform(client, clients[client].session.lost(.loginRefused("not authorized"), at: now))
    }
    if applyFault(.before, .connect, client) { return }
    var options = state.session.options
    if let older = server.sessions[options.clientID]?.connection {
      lose(older, .sessionTakenOver)
    }
    if start == .wipe { (options.will, options.sessionExpiry) = (nil, .zero) }
    let resumed = server.connect(
      options, cleanStart: start != .resume, client: client, at: now)
    state.clientID = options.clientID
    perform(client, clients[client].session.connected(at: now))
    if applyFault(.after, .connect, client) { return }
    state.receive(.connectAck(resumed: resumed), at: now)
  }

  /// Whether a client may read: only while a call of `nextEvent` waits.
  private func mayRead(_ client: Int) -> Bool {
    let state = clients[client]
    return !state.isKilled && !state.inbox.isEmpty && state.session.mayRead
  }

  /// Reads a batch, or one step of the handshake, which is answered before more is read.
  ///
  /// - Returns: Whether anything was read.
  private mutating func read(_ client: Int) -> Bool {
    let state = clients[client]
    guard mayRead(client) else { return false }
    if case .publish = state.inbox.first, applyFault(.before, .delivery, client) { return true }
    perform(client, clients[client].session.willRead(at: now))
    guard state.clientID != nil else { return true }
    var deliveries: [Delivery] = []
    var count = 0
    defer { state.session.didRead(at: now, until: now) }
    reading: for packet in state.inbox where deliveries.count < state.readLimit {
      switch packet {
      case .publish(let delivery):
        deliveries.append(delivery)
        if delivery.packetID > 0 {
          state.outbox.append(.acknowledge(packetID: delivery.packetID))
        }
      case .publishAcknowledged(let packetID):
        state.session.acknowledged(packetID: packetID, at: now)
      case .connectAck, .granted:
        // Earlier packets form their own batch.
        if count > 0 { break reading }
        state.inbox.removeFirst()
        takeStep(packet, client)
        return true
      }
      count += 1
    }
    state.inbox.removeFirst(count)
    if !deliveries.isEmpty { state.session.received(deliveries) }
    return true
  }

  private mutating func takeStep(_ packet: ClientState.Incoming, _ client: Int) {
    switch packet {
    case .connectAck(let resumed):
      perform(
        client, clients[client].session.connectAckReceived(resumed: resumed, refusal: nil, at: now))
    case .granted(let number, let levels):
      perform(client, clients[client].session.granted(number, levels, at: now))
    case .publish, .publishAcknowledged: break
    }
  }

  /// Writes the queued packets.
  ///
  /// - Returns: Whether anything was written.
  @discardableResult
  private mutating func write(_ client: Int) -> Bool {
    let state = clients[client]
    guard !state.isKilled, state.session.mayWrite, !state.outbox.isEmpty else { return false }
    while !state.outbox.isEmpty, let clientID = state.clientID {
      write(state.outbox.removeFirst(), client, clientID)
    }
    return true
  }

  private mutating func write(
    _ packet: ClientState.Outgoing, _ client: Int, _ clientID: String
  ) {
    let state = clients[client]
    switch packet {
    case .acknowledge(let packetID):
      if applyFault(.before, .puback, client) { return }
      server.acknowledge(packetID, by: clientID)
      applyFault(.after, .puback, client)
    case .publish(let message, let packetID):
      if applyFault(.before, .publish, client) { return }
      if server.fatalPublishes.contains(where: { $0.matches(message.topic) }) {
        return lose(client, .connectionLost("the broker does not bear what was published"))
      }
      server.publish(message, at: now)
      deliver()
      if applyFault(.after, .publish, client) || message.qos == .atMostOnce { return }
      state.receive(.publishAcknowledged(packetID: packetID), at: now)
    case .subscribe(let number, let filters, let retainAsPublished):
      deliver()
      let levels = server.subscribe(
        clientID, to: filters, retainAsPublished: retainAsPublished, at: now)
      state.receive(.granted(number, levels: levels), at: now)
    case .unsubscribe(let filters): server.unsubscribe(clientID, from: filters)
    }
  }

  /// Moves the messages that the broker may send to the clients.
  private mutating func deliver() {
    for state in clients {
      guard let clientID = state.clientID else { continue }
      while let delivery = server.nextDelivery(to: clientID, at: now) {
        state.receive(.publish(delivery), at: now)
      }
    }
  }

  /// Breaks a connection without a DISCONNECT; does nothing without a connection.
  private mutating func lose(_ client: Int, _ reason: BrokerError) {
    guard clients[client].clientID != nil else { return }
    receivePingResponse(client)
    breakConnection(client, reason)
  }

  /// Reports to the session that the broker has answered each PINGREQ until now.
  private func receivePingResponse(_ client: Int) {
    let state = clients[client]
    if state.clientID != nil, state.session.mayRead { state.session.didRead(at: now, until: now) }
  }

  private mutating func breakConnection(_ client: Int, _ reason: BrokerError) {
    losses[clients[client].session.options.clientID, default: 0] += 1
    closeConnection(client, isOrderly: false)
    perform(client, clients[client].session.lost(reason, at: now))
  }

  private mutating func closeConnection(_ client: Int, isOrderly: Bool) {
    if let clientID = clients[client].clientID {
      clients[client].closeConnection()
      server.close(clientID, isOrderly: isOrderly, at: now)
    }
  }

  /// Triggers a fault if one is injected for this step of this client. Without a connection only a
  /// CONNECT can fail.
  @discardableResult
  private mutating func applyFault(
    _ moment: MemoryBroker.Fault.Moment, _ step: MemoryBroker.Fault.Step, _ client: Int
  ) -> Bool {
    let state = clients[client]
    guard !state.isKilled, step == .connect || state.clientID != nil,
      let index = faults.firstIndex(where: {
        $0.moment == moment && $0.step == step && $0.clientID == state.session.options.clientID
      })
    else { return false }
    guard faults[index].skipping == 0 else {
      faults[index].skipping -= 1
      return false
    }
    faults.remove(at: index)
    receivePingResponse(client)
    breakConnection(client, .connectionLost("the connection broke"))
    return true
  }
}
