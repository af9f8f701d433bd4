import MessageBroker

/// The state that a broker stores for a client id (MQTT 4.1): subscriptions, and undelivered
/// messages.
struct ServerSession: Sendable {
  /// A message to deliver.
  private struct Outgoing {
    let stored: StoredMessage
    let retain: Bool
    var packetID: UInt16?
    var isDuplicate: Bool
  }

  /// The connected client, or `nil` if the session has no connection.
  private(set) var connection: Int?
  /// The filters, each with its option Retain As Published.
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

  /// The number of stored messages: in flight, to be redelivered, and queued.
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

  /// Closes the connection. The next connection first redelivers the unacknowledged messages (4.4).
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

  /// Removes a subscription. Messages that are already queued are delivered (MQTT 5, 3.10.4).
  mutating func unsubscribe(from filter: TopicFilter) { subscriptions[filter] = nil }

  /// Queues a message once if any subscription matches. Its RETAIN flag is cleared unless the
  /// subscription has Retain As Published (3.3.1.3).
  mutating func receive(
    _ message: StoredMessage, limit: Int, behavior: MemoryBroker.Behavior
  ) {
    let matches = subscriptions.filter { $0.key.matches(message.topic) }
    guard !matches.isEmpty else { return }
    let retain = message.isRetained && matches.values.contains(true)
    enqueue(message, retain: retain, limit: limit, behavior: behavior)
  }

  /// Queues a message. Drops QoS 0 messages for a disconnected client, and the newest message if
  /// the queue is full, as mosquitto does (`max_queued_messages`).
  mutating func enqueue(
    _ message: StoredMessage, retain: Bool = false, limit: Int, behavior: MemoryBroker.Behavior
  ) {
    let isAway = connection == nil
    guard queue.count < limit, !(isAway && message.qos == .atMostOnce) else { return }
    queue.append(
      Outgoing(
        stored: message, retain: retain, isDuplicate: isAway && behavior.marksQueuedAsDuplicate))
  }

  /// Returns the next message to send, or `nil` if there is none, or if the client's receive
  /// maximum (3.1.2.11.3) is reached.
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

  /// Whether the message has expired, or exceeds the client's maximum packet size (3.1.2.11.4).
  private func isLost(_ message: Outgoing, at now: Duration) -> Bool {
    message.stored.isExpired(at: now) || message.stored.sizes.packet > limits.packet
  }

  mutating func acknowledge(_ packetID: UInt16) {
    if let index = unacknowledged.firstIndex(where: { $0.packetID == packetID }) {
      unacknowledged.remove(at: index)
    }
  }

  /// Returns the next unused packet id, from 1 to 65,535 in a cycle (2.2.1).
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
