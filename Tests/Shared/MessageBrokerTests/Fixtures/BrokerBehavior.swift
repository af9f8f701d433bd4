/// Differences between brokers, within the standard or beyond it; documented for users in
/// `deploy/docs/brokers.md`.
struct BrokerBehavior: Sendable {
  /// Whether a redelivery has the packet id of the first delivery (MQTT 4.4); otherwise packet ids
  /// count from 1 on every connection.
  var keepsPacketIDs = true
  /// Whether the first message queued for a disconnected client counts as sent: DUP is set on its
  /// first delivery (against 3.3.1.1), and it does not expire.
  var takesFirstQueuedForSent = false
  /// The broker's maximum number of messages in flight, whatever the client allows.
  var inFlight = Int.max
  /// Whether a filter with a wildcard matches retained messages (3.3.1.3).
  var retainedMatchWildcards = true
  /// Whether QoS 0 messages are queued for a disconnected client, which is allowed (3.1.2.4).
  var queuesQoS0 = false
  /// Whether UNSUBSCRIBE also removes subscriptions of an earlier connection of the session
  /// (3.10.4).
  var endsEarlierSubscriptions = true
  /// Whether sessions and their queues survive a restart.
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
