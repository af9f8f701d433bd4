import MessageBroker

/// The transport of a client's session: the packets that have arrived, and those that are queued.
final class ClientState {
  /// A packet that has arrived and is unread.
  enum Incoming {
    case connectAck(resumed: Bool)
    case granted(Int, levels: [Int32])
    case publish(Delivery)
    case publishAcknowledged(packetID: Int32)
  }

  /// A packet that is queued and unwritten.
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
  /// The client identifier of the connection, or `nil` if there is none.
  var clientID: String?
  var inbox: [Incoming] = []
  var outbox: [Outgoing] = []
  var waiter: Waiter?
  /// Whether the client's process has ended.
  var isKilled = false
  private let batchLimit: Int?
  private var lastPacketID: Int32 = 0

  init(reconnectDelays: ClosedRange<Duration>, batchLimit: Int?) {
    // No operation takes time here, so no timeout expires.
    session = Session(
      broker: "the broker", connectTimeout: .seconds(1_000_000_000), delays: reconnectDelays,
      random: { 1 })
    self.batchLimit = batchLimit
  }

  /// Maximum number of deliveries per read.
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
