import MessageBroker

/// What a broker keeps for one client id (MQTT 4.1): subscriptions, and what is still to deliver.
struct ServerSession: Sendable {
  /// A message on its way to the client.
  private struct Outgoing {
    let stored: StoredMessage
    let retain: Bool
    var packetID: UInt16?
    var isDuplicate: Bool
  }

  /// Which client is connected; `nil` while the session waits for it.
  private(set) var connection: Int?
  /// Each with whether it wants the retain flag as it was published.
  private(set) var subscriptions: [TopicFilter: Bool] = [:]
  private(set) var will: Message?
  private var expiresAt: Duration?
  private var expiry: Duration = .zero
  private var window = 1
  private var limits = MessageLimits.reports
  private var isResumed = false
  private var lastPacketID: UInt16 = 0
  private var unacknowledged: [Outgoing] = []
  private var repeats: [Outgoing] = []
  private var queue: [Outgoing] = []

  /// How many messages it holds: in flight, to be redelivered, and queued.
  var depth: Int { unacknowledged.count + repeats.count + queue.count }

  func isExpired(at now: Duration) -> Bool { expiresAt.map { $0 <= now } ?? false }

  mutating func open(
    _ options: SessionOptions, by client: Int, resumed: Bool, behavior: MemoryBroker.Behavior
  ) {
    connection = client
    will = options.will
    expiry = options.sessionExpiry
    expiresAt = nil
    window = min(max(1, Int(options.receiveMaximum)), behavior.inFlightLimit)
    limits = options.limits
    isResumed = resumed
    guard behavior.packetIDsRestart else { return }
    lastPacketID = 0
    for index in repeats.indices { repeats[index].packetID = nil }
  }

  /// What was sent and not acknowledged is sent again on the next connection, before all else (4.4).
  mutating func close(at now: Duration) {
    connection = nil
    will = nil
    expiresAt = now + expiry
    for index in unacknowledged.indices { unacknowledged[index].isDuplicate = true }
    repeats = unacknowledged + repeats
    unacknowledged = []
    queue.removeAll { $0.stored.qos == .atMostOnce }
  }

  mutating func subscribe(to filter: TopicFilter, retainAsPublished: Bool) {
    subscriptions[filter] = retainAsPublished
  }

  /// What is queued already is delivered all the same (MQTT 5, 3.10.4).
  mutating func unsubscribe(from filter: TopicFilter) { subscriptions[filter] = nil }

  /// Queues a message that the session subscribes to, once. It is news, and so not marked as retained
  /// unless that was asked for (3.3.1.3).
  mutating func receive(
    _ message: StoredMessage, limit: Int, behavior: MemoryBroker.Behavior
  ) {
    let matches = subscriptions.filter { $0.key.matches(message.topic) }
    guard !matches.isEmpty else { return }
    let retain = message.isRetained && matches.values.contains(true)
    enqueue(message, retain: retain, limit: limit, behavior: behavior)
  }

  /// Takes a message in for delivery. QoS 0 is not kept for an absent client, and a full queue
  /// drops the newest message, as mosquitto does (`max_queued_messages`).
  mutating func enqueue(
    _ message: StoredMessage, retain: Bool = false, limit: Int, behavior: MemoryBroker.Behavior
  ) {
    let isAway = connection == nil
    guard queue.count < limit, !(isAway && message.qos == .atMostOnce) else { return }
    queue.append(
      Outgoing(
        stored: message, retain: retain, isDuplicate: isAway && behavior.marksQueuedAsDuplicate))
  }

  /// The next message that may be sent, in order; `nil` when there is none, or when as many as the
  /// client takes (receive maximum, 3.1.2.11.3) are unacknowledged.
  mutating func nextDelivery(at now: Duration) -> Delivery? {
    guard connection != nil else { return nil }
    while let first = repeats.first, isLost(first, at: now) { repeats.removeFirst() }
    while let first = queue.first, isLost(first, at: now) { queue.removeFirst() }
    guard var next = repeats.first ?? queue.first else { return nil }
    if next.stored.qos == .atLeastOnce {
      guard unacknowledged.count < window else { return nil }
      next.packetID = next.packetID ?? freePacketID()
      unacknowledged.append(next)
    }
    if repeats.isEmpty { queue.removeFirst() } else { repeats.removeFirst() }
    let message = next.stored.message(retain: next.retain, at: now)
    let excess = limits.excess(of: next.stored.sizes)
    return Delivery(
      message: excess == nil ? message : limits.truncated(message), packetID: next.packetID ?? 0,
      isRedelivery: next.isDuplicate && isResumed, excess: excess)
  }

  /// Nobody waits for it any more, or the client takes no packet of its size (3.1.2.11.4).
  private func isLost(_ message: Outgoing, at now: Duration) -> Bool {
    message.stored.isExpired(at: now) || message.stored.sizes.packet > limits.packet
  }

  mutating func acknowledge(_ packetID: UInt16) {
    if let index = unacknowledged.firstIndex(where: { $0.packetID == packetID }) {
      unacknowledged.remove(at: index)
    }
  }

  /// Packet ids run from 1 to 65,535 and round again; one in use is passed over (2.2.1).
  private mutating func freePacketID() -> UInt16 {
    repeat {
      lastPacketID = lastPacketID == .max ? 1 : lastPacketID + 1
    } while isInUse(lastPacketID)
    return lastPacketID
  }

  private func isInUse(_ packetID: UInt16) -> Bool {
    unacknowledged.contains { $0.packetID == packetID }
      || repeats.contains { $0.packetID == packetID }
  }
}
