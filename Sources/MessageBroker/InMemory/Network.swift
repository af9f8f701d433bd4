/// A broker, its clients, the connections between them, and the time.
///
/// Nothing takes time here: what one side writes, the other has at once. Time passes only in
/// `advance(to:)`. Clients are known by their index.
struct Network {
  /// A call of `nextEvent` that is to return.
  typealias Wakeup = (continuation: CheckedContinuation<BrokerEvent?, Never>, event: BrokerEvent?)

  private(set) var now = Duration.zero
  var server: ServerState
  var faults: [InMemoryBroker.Fault] = []
  private(set) var clients: [ClientState] = []
  private var isRunning = true
  private var saved: ServerState?

  init(server: ServerState) { self.server = server }

  mutating func addClient(batchLimit: Int?) -> Int {
    clients.append(ClientState(batchLimit: batchLimit))
    return clients.count - 1
  }

  // MARK: What a client does

  mutating func connect(_ client: Int, _ options: SessionOptions) {
    guard case .idle = clients[client].phase else { return }
    clients[client].options = options
    clients[client].lastServed = now - options.absence
    attempt(client)
  }

  mutating func update(_ client: Int, _ options: SessionOptions) {
    guard let before = clients[client].options else { return }
    clients[client].adopt(options)
    guard let clientID = connectedID(of: client) else { return clients[client].updated() }
    let change = SubscriptionChange(from: before.subscriptions, to: options.subscriptions)
    if let filter = change.added.first(where: server.refuses) {
      clients[client].options = before
      let refusal = BrokerError.subscriptionRefused(filter: filter.text)
      return clients[client].receive(.updated(refusal: refusal), at: now)
    }
    server.unsubscribe(clientID, from: change.droppedFirst + change.droppedLast)
    clients[client].receive(.updated(refusal: nil), at: now)
    // None is refused.
    try? server.subscribe(clientID, to: change.added, options, at: now)
  }

  mutating func publish(_ messages: [Message], by client: Int) -> UInt64 {
    let (last, numbered) = clients[client].number(messages)
    guard clients[client].canPublish else { return last }
    if clients[client].hasBatchInHand {
      clients[client].heldBack += numbered
    } else {
      write(numbered, from: client)
    }
    return last
  }

  /// The acknowledgements leave before what was held back, as they do with libmosquitto: an answer
  /// can be lost though its order never comes again.
  ///
  /// - Returns: whether the acknowledgements have left.
  mutating func settle(_ client: Int) -> Bool {
    guard clients[client].hasBatchInHand else { return false }
    strike(.before, .settle, client)
    let batch = clients[client].takeBatch()
    for packetID in batch.packetIDs {
      if strike(.before, .acknowledgement, client) { return false }
      guard let clientID = connectedID(of: client) else { return false }
      server.acknowledge(packetID, by: clientID)
      if strike(.after, .acknowledgement, client) { return false }
    }
    let heldBack = clients[client].heldBack
    clients[client].heldBack = []
    write(heldBack, from: client)
    strike(.after, .settle, client)
    return !batch.isLost
  }

  mutating func abandon(_ client: Int) {
    lose(client, .connectionLost("the batch in hand was abandoned"))
    clients[client].abandoned()
  }

  mutating func disconnect(_ client: Int) {
    if let clientID = connectedID(of: client) {
      // What was held back for a batch that is not settled is not written.
      server.close(clientID, farewell: clients[client].heldBack.isEmpty, at: now)
    }
    clients[client].end()
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

  // MARK: What happens to it

  /// Ends the connection as a failing network does.
  mutating func cut(_ clientID: String) {
    guard let client = server.sessions[clientID]?.connection else { return }
    lose(client, .connectionLost("the connection was cut"))
  }

  mutating func kill(_ client: Int) {
    if let clientID = connectedID(of: client) { server.close(clientID, farewell: false, at: now) }
    clients[client].end()
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

  mutating func start(remembering memory: InMemoryBroker.Memory) {
    switch memory {
    case .everything: break
    case .lastSave: server.restore(saved, at: now)
    case .nothing: server.restore(nil, at: now)
    }
    isRunning = true
  }

  // MARK: Time

  /// When the next thing happens by itself: a timeout or an attempt to reconnect.
  var nextDeadline: Duration? {
    clients.lazy.flatMap { [$0.waiter?.deadline, $0.retryTime] }.compactMap(\.self).min()
  }

  /// Lets time pass, from deadline to deadline.
  mutating func advance(to end: Duration) -> [Wakeup] {
    var wakeups: [Wakeup] = []
    while let due = nextDeadline, due <= end {
      now = max(now, due)
      for client in clients.indices where clients[client].retryTime.map({ $0 <= now }) ?? false {
        attempt(client)
      }
      wakeups += takeWakeups()
    }
    now = max(now, end)
    return wakeups
  }

  /// Delivers what can be delivered, and takes the calls of `nextEvent` that can return now, in the
  /// order of the clients.
  mutating func takeWakeups() -> [Wakeup] {
    var wakeups: [Wakeup] = []
    var woken = 0
    repeat {
      woken = wakeups.count
      deliver()
      for client in clients.indices {
        guard let waiter = clients[client].waiter else { continue }
        let event = nextEvent(of: client)
        let isOver = clients[client].hasEnded || waiter.deadline.map { $0 <= now } ?? false
        guard event != nil || isOver else { continue }
        clients[client].waiter = nil
        wakeups.append((waiter.continuation, event))
      }
    } while wakeups.count > woken
    return wakeups
  }

  // MARK: Within

  private mutating func nextEvent(of client: Int) -> BrokerEvent? {
    if let since = clients[client].staleSince(at: now) {
      lose(client, .connectionLost("what arrived has waited longer than the session may live"))
      clients[client].lastServed = since
    }
    if clients[client].hasDeliveryToRead { strike(.before, .delivery, client) }
    let event = clients[client].nextEvent()
    if case .deliveries = event {
      clients[client].lastRead = now
      strike(.after, .delivery, client)
    }
    return event
  }

  private mutating func attempt(_ client: Int) {
    guard let options = clients[client].options else { return }
    guard isRunning else {
      return clients[client].disconnected(.unreachable("nothing listens"), at: now)
    }
    guard !server.refusesLogins else {
      return clients[client].disconnected(.loginRefused("not authorized"), at: now)
    }
    if strike(.before, .connect, client) { return }
    if let older = server.sessions[options.clientID]?.connection {
      lose(older, .sessionTakenOver)
    }
    let resumed = server.connect(
      options, cleanStart: clients[client].startsClean(at: now), client: client, at: now)
    clients[client].connected(resumed: resumed, at: now)
    if strike(.after, .connect, client) { return }
    deliver()
    do {
      server.unsubscribe(options.clientID, from: clients[client].former)
      try server.subscribe(options.clientID, to: options.subscriptions, options, at: now)
      clients[client].receive(.subscriptionsGranted, at: now)
    } catch {
      server.close(options.clientID, farewell: true, at: now)
      clients[client].disconnected(error, at: now)
    }
  }

  private mutating func write(_ messages: [ClientState.Numbered], from client: Int) {
    for (message, number) in messages {
      if strike(.before, .publish, client) || connectedID(of: client) == nil { return }
      if server.fatalPublishes.contains(where: { $0.matches(message.topic) }) {
        return lose(client, .connectionLost("the broker does not bear what was published"))
      }
      server.publish(message, at: now)
      deliver()
      if strike(.after, .publish, client) { return }
      if let number { clients[client].receive(.publishAcknowledged(number), at: now) }
    }
  }

  /// Moves what the broker may send into the inboxes.
  private mutating func deliver() {
    for client in clients.indices {
      guard let clientID = connectedID(of: client) else { continue }
      while let delivery = server.nextDelivery(to: clientID, at: now) {
        clients[client].receive(.publish(delivery), at: now)
      }
    }
  }

  /// Ends a connection without a farewell; without a connection it does nothing.
  private mutating func lose(_ client: Int, _ reason: BrokerError) {
    if connectedID(of: client) != nil { breakOff(client, reason) }
  }

  private mutating func breakOff(_ client: Int, _ reason: BrokerError) {
    if let clientID = connectedID(of: client) { server.close(clientID, farewell: false, at: now) }
    clients[client].disconnected(reason, at: now)
  }

  private func connectedID(of client: Int) -> String? {
    guard case .connected = clients[client].phase else { return nil }
    return clients[client].options?.clientID
  }

  /// Lets a fault happen if one was injected for this step of this client. Only a CONNECT can break
  /// where there is no connection.
  @discardableResult
  private mutating func strike(
    _ moment: InMemoryBroker.Fault.Moment, _ step: InMemoryBroker.Fault.Step, _ client: Int
  ) -> Bool {
    guard step == .connect || connectedID(of: client) != nil,
      let index = faults.firstIndex(where: {
        $0.moment == moment && $0.step == step && $0.clientID == clients[client].options?.clientID
      })
    else { return false }
    guard faults[index].skipping == 0 else {
      faults[index].skipping -= 1
      return false
    }
    faults.remove(at: index)
    breakOff(client, .connectionLost("the connection broke"))
    return true
  }
}
