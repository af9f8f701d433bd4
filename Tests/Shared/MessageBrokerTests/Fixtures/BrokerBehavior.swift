/// Where brokers differ, within the standard or beside it; `deploy/docs/brokers.md` tells users.
struct BrokerBehavior: Sendable {
  /// A redelivery has the packet id of the first delivery (MQTT 4.4); else they count from 1 on
  /// every connection.
  var keepsPacketIDs = true
  /// The first message that queues while the client is away counts as sent: DUP is set when it is
  /// sent indeed (against 3.3.1.1), and it does not expire.
  var takesFirstQueuedForSent = false
  /// So many messages are in flight at most, whatever the client allows.
  var inFlight = Int.max
  /// A filter with a wildcard brings retained messages, too (3.3.1.3).
  var retainedMatchWildcards = true
  /// QoS 0 messages queue for a client that is away, too, which is its right (3.1.2.4).
  var queuesQoS0 = false
  /// UNSUBSCRIBE ends also what an earlier connection of the session has subscribed to (3.10.4).
  var endsEarlierSubscriptions = true
  /// Sessions and their queues outlive a restart.
  var savesSessions = true

  static let rabbitMQ = Self(
    keepsPacketIDs: false, retainedMatchWildcards: false, queuesQoS0: true,
    endsEarlierSubscriptions: false)
  static let ejabberd = Self(takesFirstQueuedForSent: true, inFlight: 1, savesSessions: false)
}

extension BrokerKind {
  var behavior: BrokerBehavior {
    switch self {
    case .inMemory, .mosquittoV311, .mosquittoV5: BrokerBehavior()
    case .rabbitMQ: .rabbitMQ
    case .ejabberdV311, .ejabberdV5: .ejabberd
    }
  }
}
