/// Tracks which messages published with QoS 1 the broker has acknowledged.
///
/// Packet ids restart with each connection and are reused; sequence numbers are not.
struct Confirmations: Sendable {
  typealias Instant = Session.Instant

  /// Maximum number of unconfirmed messages: half of all packet ids (2.2.1). libmosquitto searches
  /// all unconfirmed messages for each new one.
  static let limit = 32_768

  /// The sequence number of the last message, published or dropped.
  private(set) var last: UInt64 = 0
  /// The sequence number up to which all messages of this connection are acknowledged.
  private(set) var confirmed: UInt64 = 0
  private var pending: [Int32: (number: UInt64, topic: String)] = [:]
  /// The time of the last confirmation or of the first unconfirmed message, whichever is later.
  private var waitingSince = Instant.zero
  /// Sequence numbers of unconfirmed messages in order, from `head` on.
  private var waiting: [UInt64] = []
  private var head = 0
  /// Sequence numbers that the broker has acknowledged before an earlier one.
  private var early: Set<UInt64> = []

  var isComplete: Bool { pending.isEmpty }
  var isFull: Bool { pending.count >= Self.limit }

  /// Counts a dropped message, so that its sequence number is above `confirmed`.
  mutating func dropped() { last += 1 }

  /// Returns whether messages have been unconfirmed for longer than `limit`, and the broker has
  /// confirmed none of them in that time.
  func isStalled(at now: Instant, for limit: Duration) -> Bool {
    !isComplete && now - waitingSince > limit
  }

  mutating func published(packetID: Int32, on topic: String, at now: Instant) {
    last += 1
    if isComplete { waitingSince = now }
    pending[packetID] = (last, topic)
    waiting.append(last)
  }

  /// Records the acknowledgement of a message. Ignores an unknown packet id: libmosquitto also
  /// reports QoS 0 messages once they are written.
  ///
  /// - Returns: The topic of the message, or `nil` for an unknown packet id.
  mutating func acknowledged(packetID: Int32, at now: Instant) -> String? {
    guard let (number, topic) = pending.removeValue(forKey: packetID) else { return nil }
    waitingSince = now
    if number == waiting[head] { confirmNext() } else { early.insert(number) }
    while !early.isEmpty, early.remove(waiting[head]) != nil { confirmNext() }
    if head > 1024 || head == waiting.count {
      waiting.removeFirst(head)
      head = 0
    }
    return topic
  }

  private mutating func confirmNext() {
    confirmed = waiting[head]
    head += 1
  }

  mutating func connectionLost() {
    pending.removeAll()
    waiting.removeAll()
    early.removeAll()
    head = 0
  }
}
