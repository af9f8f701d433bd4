/// Which of the messages published with QoS 1 the broker has acknowledged.
///
/// Packet ids begin anew with each connection and are used again; running numbers are not.
struct Confirmations: Sendable {
  typealias Instant = Session.Instant

  /// Half of the packet ids that there are (2.2.1): libmosquitto looks through all that wait for each
  /// one more.
  static let limit = 32_768

  /// The running number of the last message.
  private(set) var last: UInt64 = 0
  /// The running number up to which all of this connection's are acknowledged.
  private(set) var confirmed: UInt64 = 0
  private var pending: [Int32: (number: UInt64, topic: String)] = [:]
  /// Since when nothing is confirmed, though something waits for it.
  private var waitingSince = Instant.zero
  /// The numbers that wait, in order, from `head` on.
  private var waiting: [UInt64] = []
  private var head = 0
  /// Acknowledged before one that came earlier.
  private var early: Set<UInt64> = []

  var isComplete: Bool { pending.isEmpty }
  var isFull: Bool { pending.count >= Self.limit }

  /// Counts a message that is dropped, so that it is never taken for a confirmed one.
  mutating func dropped() { last += 1 }

  /// Whether something waits, and nothing has been confirmed for so long.
  func isStalled(at now: Instant, for limit: Duration) -> Bool {
    !isComplete && now - waitingSince > limit
  }

  mutating func published(packetID: Int32, on topic: String, at now: Instant) {
    last += 1
    if isComplete { waitingSince = now }
    pending[packetID] = (last, topic)
    waiting.append(last)
  }

  /// An unknown packet id is a QoS 0 message's, which libmosquitto reports too once it is written.
  ///
  /// - Returns: where the message was published.
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
