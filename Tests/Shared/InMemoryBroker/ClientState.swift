import MessageBroker

/// The hands of a client's session: what has arrived and is not read yet, and what is queued to leave.
final class ClientState {
  /// A packet that has arrived and was not read yet.
  enum Incoming {
    case connectAck(resumed: Bool)
    case granted(Int, levels: [Int32])
    case publish(Delivery)
    case publishAcknowledged(packetID: Int32)
  }

  /// A packet that was not written yet.
  enum Outgoing {
    case subscribe(Int, [TopicFilter], retainAsPublished: Bool)
    case unsubscribe([TopicFilter])
    case publish(Message, packetID: Int32)
    case acknowledge(packetID: UInt16)
  }

  /// A call of `nextEvent` that has not returned yet.
  struct Waiter {
    let number: Int
    let deadline: Duration?
    let continuation: CheckedContinuation<BrokerEvent?, Never>
  }

  var session: Session
  /// As whom it is connected.
  var clientID: String?
  var inbox: [Incoming] = []
  var outbox: [Outgoing] = []
  var waiter: Waiter?
  /// Its process has ended.
  var isKilled = false
  private let batchLimit: Int?
  private var lastPacketID: Int32 = 0

  init(reconnectDelays: ClosedRange<Duration>, batchLimit: Int?) {
    // Nothing takes time here, so nothing is overdue.
    session = Session(
      broker: "the broker", connectTimeout: .seconds(1_000_000_000), delays: reconnectDelays,
      random: { 1 })
    self.batchLimit = batchLimit
  }

  /// How many deliveries are read at most.
  var readLimit: Int { max(1, batchLimit ?? Int(session.options.receiveMaximum)) }

  func nextPacketID() -> Int32 {
    lastPacketID = lastPacketID % 65_535 + 1
    return lastPacketID
  }

  func receive(_ packet: Incoming, at now: Duration) {
    if inbox.isEmpty { session.checkedSocket(at: now) }
    inbox.append(packet)
  }

  func closeConnection() {
    clientID = nil
    inbox = []
    outbox = []
  }
}
