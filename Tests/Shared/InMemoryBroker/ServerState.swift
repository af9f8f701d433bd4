import MessageBroker

/// The state of the broker: sessions, retained messages and refusals. Clients are identified by
/// number; `nextDelivery(to:at:)` returns the messages to send.
struct ServerState: Sendable {
  let behavior: MemoryBroker.Behavior
  let queueLimit: Int
  var refusesLogins = false
  var refusedSubscriptions: Set<TopicFilter> = []
  var refusedPublishes: Set<TopicFilter> = []
  var fatalPublishes: Set<TopicFilter> = []
  private(set) var sessions: [String: ServerSession] = [:]
  private var retained: [String: StoredMessage] = [:]

  init(behavior: MemoryBroker.Behavior, queueLimit: Int) {
    self.behavior = behavior
    self.queueLimit = queueLimit
  }

  /// The connected clients, in the order of their client ids.
  var connections: [(clientID: String, client: Int)] {
    sessions.compactMap { id, session in session.connection.map { (id, $0) } }
      .sorted { $0.0 < $1.0 }
  }

  /// Opens the client's session, or resumes it unless it has expired or a clean start is requested.
  ///
  /// - Returns: Whether a session was resumed.
  mutating func connect(
    _ options: SessionOptions, cleanStart: Bool, client: Int, at now: Duration
  ) -> Bool {
    removeExpired(at: now)
    if cleanStart { sessions[options.clientID] = nil }
    let isResumed = sessions[options.clientID] != nil
    sessions[options.clientID, default: ServerSession()]
      .open(options, by: client, resumed: isResumed, behavior: behavior)
    return isResumed
  }

  /// Subscribes, and queues the retained messages that match each filter, also for an existing
  /// subscription (3.8.4).
  ///
  /// - Returns: The granted QoS of each filter, or 128 for a refusal (3.9.3).
  mutating func subscribe(
    _ clientID: String, to filters: [TopicFilter], retainAsPublished: Bool, at now: Duration
  ) -> [Int32] {
    filters.map { filter in
      if refusedSubscriptions.contains(filter) { return 128 }
      sessions[clientID]?.subscribe(to: filter, retainAsPublished: retainAsPublished)
      for topic in retainedTopics(at: now) where filter.matches(topic) {
        guard let message = retained[topic] else { continue }
        sessions[clientID]?.enqueue(message, retain: true, limit: queueLimit, behavior: behavior)
      }
      return 1
    }
  }

  mutating func unsubscribe(_ clientID: String, from filters: some Sequence<TopicFilter>) {
    for filter in filters { sessions[clientID]?.unsubscribe(from: filter) }
  }

  /// Stores the message if it is to be retained, and queues it for each session with a matching
  /// subscription.
  ///
  /// Like mosquitto, silently drops messages that the account may not publish.
  mutating func publish(_ message: Message, at now: Duration) {
    if refusedPublishes.contains(where: { $0.matches(message.topic) }) { return }
    let stored = StoredMessage(message, at: now)
    if message.retain { retained[message.topic] = message.payload.isEmpty ? nil : stored }
    for index in sessions.values.indices {
      sessions.values[index].receive(stored, limit: queueLimit, behavior: behavior)
    }
  }

  mutating func acknowledge(_ packetID: UInt16, by clientID: String) {
    sessions[clientID]?.acknowledge(packetID)
  }

  mutating func nextDelivery(to clientID: String, at now: Duration) -> Delivery? {
    // Accessed by index, because this is called after each step, and the value would be moved out
    // and back.
    guard let index = sessions.index(forKey: clientID) else { return nil }
    return sessions.values[index].nextDelivery(at: now)
  }

  /// Ends a client's connection. The session remains for its expiry interval; the will is published
  /// unless the client has sent a DISCONNECT (3.1.2.5).
  mutating func close(_ clientID: String, isOrderly: Bool, at now: Duration) {
    let will = sessions[clientID]?.will
    sessions[clientID]?.close(at: now)
    if let will, !isOrderly { publish(will, at: now) }
    removeExpired(at: now)
  }

  mutating func dropSession(of clientID: String) { sessions[clientID] = nil }

  /// Restores the saved state, or an empty one. Sessions that were connected are closed now.
  mutating func restore(_ saved: ServerState?, at now: Duration) {
    sessions = saved?.sessions ?? [:]
    retained = saved?.retained ?? [:]
    for id in sessions.keys where sessions[id]?.connection != nil {
      sessions[id]?.close(at: now)
    }
    removeExpired(at: now)
  }

  mutating func removeExpired(at now: Duration) {
    for (id, session) in sessions where session.isExpired(at: now) { sessions[id] = nil }
    for (topic, stored) in retained where stored.isExpired(at: now) { retained[topic] = nil }
  }

  func retainedTopics(at now: Duration) -> [String] {
    retained.filter { !$0.value.isExpired(at: now) }.keys.sorted()
  }

  func retained(_ topic: String, at now: Duration) -> Message? {
    guard let stored = retained[topic], !stored.isExpired(at: now) else { return nil }
    return stored.message(retain: true, at: now)
  }
}
