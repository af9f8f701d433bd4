/// A client's half: what has arrived and is not read yet, the batch in hand, and what is held back.
final class ClientState {
  /// Where a client stands with its broker.
  enum Phase {
    case idle
    case waiting(until: Duration)
    case connected
    case ended
  }

  /// A packet that has arrived and was not read yet.
  enum Packet {
    case publish(Delivery)
    case publishAcknowledged(UInt64)
    case subscriptionsGranted
    case updated(refusal: BrokerError?)
  }

  /// The batch in hand.
  struct Batch {
    var packetIDs: [UInt16]
    /// Its connection is gone: nothing of it can be acknowledged any more.
    var isLost = false
  }

  /// A call of `nextEvent` that has not returned yet.
  struct Waiter {
    let number: Int
    let deadline: Duration?
    let continuation: CheckedContinuation<BrokerEvent?, Never>
  }

  /// A message to be written, with its running number if it has one.
  typealias Numbered = (message: Message, number: UInt64?)

  static let firstDelay = Duration.seconds(1)
  static let longestDelay = Duration.seconds(60)

  let batchLimit: Int?
  var phase = Phase.idle
  var options: SessionOptions?
  /// What was subscribed to once, and may be in a session that is resumed.
  private(set) var former: Set<TopicFilter> = []
  var waiter: Waiter?
  /// Since when something may be waiting in the session.
  var lastServed = Duration.zero
  /// When the client was given a batch last.
  var lastRead = Duration.zero
  /// What came last was given up, and comes again: to hear of it once more serves nobody.
  private var hasAbandoned = false
  /// What waits in the session reaches the client on this connection.
  private var isServing = false
  /// What leaves with the next settlement.
  var heldBack: [Numbered] = []
  private(set) var confirmed: UInt64 = 0
  private var published: UInt64 = 0
  private var inbox: [(packet: Packet, arrival: Duration)] = []
  private var inHand: Batch?
  /// Something was read from this connection. Before that, the client does not know that it is
  /// there, and cannot publish.
  private var isOpen = false
  private var hasConnected = false
  /// A session has begun since the client was last told that it is online.
  private var isSessionNew = false
  private var delay = ClientState.firstDelay
  private var outage: BrokerError?
  private var unreported: [BrokerEvent] = []

  init(batchLimit: Int?) { self.batchLimit = batchLimit }

  var hasEnded: Bool { if case .ended = phase { true } else { false } }
  var hasBatchInHand: Bool { inHand != nil }
  var canPublish: Bool { isOpen }

  /// When the next attempt to connect is due.
  var retryTime: Duration? { if case .waiting(let until) = phase { until } else { nil } }

  var hasDeliveryToRead: Bool {
    guard inHand == nil, unreported.isEmpty, case .publish = inbox.first?.packet else {
      return false
    }
    return true
  }

  /// Whether the next connection must not resume the session (`SessionOptions.sessionExpiry`).
  func startsClean(at now: Duration) -> Bool {
    guard let options else { return true }
    return (!hasConnected && options.cleanStart) || now - lastServed > options.sessionExpiry
  }

  /// Since when the oldest unread packet waits, if that is longer ago than the session may live.
  func staleSince(at now: Duration) -> Duration? {
    guard inHand == nil, let options, options.sessionExpiry > .zero,
      let oldest = inbox.first?.arrival, now - oldest > options.sessionExpiry
    else { return nil }
    return oldest
  }

  /// Takes other options for the ones to go by.
  func adopt(_ options: SessionOptions) {
    former.formUnion(self.options?.subscriptions ?? [])
    former.subtract(options.subscriptions)
    let before = self.options
    self.options = options
    // What became of the session before this process was told at `connect`.
    self.options?.cleanStart = before?.cleanStart ?? options.cleanStart
  }

  /// Nobody had to be asked.
  func updated() { unreported.append(.updated(refusal: nil)) }

  func connected(resumed: Bool, at now: Duration) {
    phase = .connected
    hasConnected = true
    if !resumed { (isSessionNew, lastServed, hasAbandoned) = (true, now, false) }
  }

  /// Forgets the batch in hand.
  func abandoned() {
    hasAbandoned = hasAbandoned || inHand != nil
    inHand = nil
  }

  /// The connection is gone, or did not come about. What arrived on it and was not read is lost; the
  /// batch in hand can be settled no more, though the client still has it in hand.
  func disconnected(_ reason: BrokerError, at now: Duration) {
    if isServing, !hasAbandoned { lastServed = now }
    isServing = false
    phase = .waiting(until: now + delay)
    delay = min(delay * 2, Self.longestDelay)
    for case (.updated(let refusal), _) in inbox {
      unreported.append(.updated(refusal: refusal))
    }
    inbox = []
    heldBack = []
    inHand = inHand.map { _ in Batch(packetIDs: [], isLost: true) }
    isOpen = false
    guard outage != reason else { return }
    outage = reason
    unreported.append(.offline(reason))
  }

  func end() {
    for case (.publishAcknowledged(let number), _) in inbox { confirmed = number }
    phase = .ended
    inbox = []
    heldBack = []
    isOpen = false
  }

  func receive(_ packet: Packet, at now: Duration) { inbox.append((packet, now)) }

  /// Takes the batch out of the client's hand, to be acknowledged.
  func takeBatch() -> Batch {
    defer { inHand = nil }
    served()
    return inHand ?? Batch(packetIDs: [], isLost: true)
  }

  private func served() {
    (isServing, hasAbandoned) = (isOpen, false)
    lastServed = max(lastServed, lastRead)
  }

  /// Gives a running number to each QoS 1 message; dropped ones take one too, so that none is ever
  /// mistaken for confirmed.
  func number(_ messages: [Message]) -> (last: UInt64, numbered: [Numbered]) {
    served()
    let numbered = messages.map { message -> Numbered in
      guard message.qos == .atLeastOnce else { return (message, nil) }
      published += 1
      return (message, published)
    }
    return (published, numbered)
  }

  /// Reads what has arrived, up to a batch; nothing is read while a batch is in hand.
  func nextEvent() -> BrokerEvent? {
    if !unreported.isEmpty { return unreported.removeFirst() }
    guard inHand == nil, !inbox.isEmpty else { return nil }
    isOpen = true
    outage = nil
    let limit = max(1, batchLimit ?? Int(options?.receiveMaximum ?? 1))
    let confirmedBefore = confirmed
    var deliveries: [Delivery] = []
    var read = 0
    defer { inbox.removeFirst(read) }
    for (packet, _) in inbox where deliveries.count < limit {
      switch packet {
      case .publish(let delivery): deliveries.append(delivery)
      case .publishAcknowledged(let number): confirmed = number
      case .subscriptionsGranted:
        // What the resumed session delivered before it makes a batch of its own.
        if !deliveries.isEmpty { return take(deliveries) }
        read += 1
        delay = Self.firstDelay
        isServing = true
        defer { isSessionNew = false }
        return .online(resumed: !isSessionNew)
      case .updated(let refusal):
        if !deliveries.isEmpty { return take(deliveries) }
        read += 1
        return .updated(refusal: refusal)
      }
      read += 1
    }
    if deliveries.isEmpty { return confirmed > confirmedBefore ? .confirmed : nil }
    return take(deliveries)
  }

  private func take(_ deliveries: [Delivery]) -> BrokerEvent {
    inHand = Batch(packetIDs: deliveries.map(\.packetID).filter { $0 > 0 })
    return .deliveries(deliveries)
  }
}
