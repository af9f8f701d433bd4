package import MessageBroker

/// Tracks which deliveries are committed, acknowledged and confirmed, and which ones the broker may
/// redeliver.
///
/// A delivery passes through four steps:
///
/// | step | when |
/// |---|---|
/// | read | `match` has looked up the delivery |
/// | committed | the ledger has its entry and, without an id of the sender, its fingerprint |
/// | acknowledged | the network has accepted its PUBACK, and the lock file has recorded that |
/// | confirmed | the broker has sent the PUBACK for its answer and its event |
///
/// A PUBACK that the network has accepted may still be lost with the connection. The broker has
/// received the PUBACK if it confirms a message that the kiosk sent after the PUBACK.
///
/// The calls have this order:
///
/// ```text
///   initial ◄──────────────────────────────────────────┐
///     │  sessionBegan()         for a new session      │
///     │  deliveriesDeleted()    if deletableThrough    │
///     │  ledgerRead(…)                                 │
///     ▼                                                │  connectionLost(…)
///   ledgerRead ───────────────────────────────────────►┤  ledgerFailed()
///     │  published(…)           unconfirmed entries    │    at any time
///     │  caughtUp()                                    │
///     ▼                                                │
///   caughtUp ─────────────────────────────────────────►┘
///        for each batch:
///           match(_:)           each delivery in order
///           deliveriesDeleted() if deletableThrough
///           hasSaved()          committed with `unsaved`
///           published(…)        answers, then events
///        at any time:
///           confirm(…)          PUBACKs of the broker
/// ```
///
/// **Redeliveries.** A broker that resumes a session first sends the deliveries whose
/// acknowledgement it has not received, in the original order and with DUP set (MQTT 4.4). DUP
/// alone proves nothing, because some brokers set it on all queued messages. So a delivery is a
/// repeat if DUP is set and the ledger has its fingerprint (table `delivery`).
///
/// **Restarted packet ids.** RabbitMQ numbers packets from 1 on each connection, so earlier packet
/// ids mean nothing. On such a connection the tracker compares the order instead: a redelivery
/// repeats the next recorded delivery with the same topic and payload. The fingerprints of
/// deliveries that are known to be acknowledged could match a new message, so the ledger deletes
/// them. It deletes all fingerprints if the broker has begun a new session.
///
/// **Poison messages.** When a connection has ended, the kiosk publishes its unconfirmed answers
/// and events again on the next one, so that each arrives at least once. A message may end each
/// connection that it is published on (mosquitto disconnects on a topic of more than 200 levels).
/// So if two connections in a row end with entries in flight, and the broker confirms none of them,
/// the kiosk publishes these entries one at a time until all are confirmed.
package struct DeliveryTracker: Sendable {
  /// The entry up to which the broker has confirmed all answers and events.
  package private(set) var confirmed: Int
  /// The entry up to which the broker has received the acknowledgements of all deliveries;
  /// initial value: see `init`.
  package private(set) var acknowledged: Int
  /// The value of `confirmed` that is stored in the ledger.
  private var saved: Int
  /// The last entry whose delivery the ledger should delete, with all earlier ones; or `nil` if
  /// there is nothing to delete.
  package private(set) var deletableThrough: Int?
  package private(set) var stage = Stage.initial

  /// The recorded deliveries that the broker may still redeliver on this connection, in order.
  private var expected: ArraySlice<Fingerprint> = []
  /// Whether the broker restarts packet ids on this connection, or `nil` before the first packet
  /// id.
  private var packetIDsRestart: Bool?
  /// Whether a new, not retained delivery has arrived on this connection. New deliveries follow all redeliveries.
  private var hasNewDeliveries = false

  private var inFlight: [Publication] = []
  /// The serial number that the last successful call of `publish` returned: that of the last QoS 1
  /// message, published or dropped.
  package private(set) var lastSerial: UInt64 = 0
  private var confirmedSerial: UInt64 = 0
  /// The number of consecutive connections that ended with entries in flight. A confirmation sets the
  /// number to 0; or to 2 if it was at least 2 and an entry up to `lastPoisonCandidate` is unconfirmed.
  private var failedConnections = 0
  /// The last entry that was in flight at the end of one of the `failedConnections`.
  private var lastPoisonCandidate = 0

  /// The progress of a new connection.
  package enum Stage: Sendable {
    /// The ledger has not been read since the last connection ended.
    case initial
    /// The ledger has been read, and unconfirmed entries are being published again.
    case ledgerRead
    /// All unconfirmed entries have been published. New ones may follow.
    case caughtUp
  }

  private struct Publication {
    let serial: UInt64
    let seq: Int
    let acknowledges: Bool
  }

  /// Creates a tracker from the content of the ledger.
  ///
  /// - Parameters:
  ///   - state: The content of the ledger.
  ///   - lastAcknowledged: The entry up to which the previous process recorded its
  ///     acknowledgements, or `nil` if it recorded none.
  package init(_ state: LedgerState = LedgerState(), lastAcknowledged: Int? = nil) {
    confirmed = state.confirmed
    saved = state.confirmed
    // The previous process may have used another ledger.
    acknowledged = min(lastAcknowledged ?? state.confirmed, state.seq)
  }

  // MARK: The connection

  /// Records that the broker has begun a new session, in which it redelivers no earlier delivery.
  package mutating func sessionBegan() { deletableThrough = .max }

  /// Records that the ledger has deleted the deliveries up to `deletableThrough`.
  package mutating func deliveriesDeleted() { deletableThrough = nil }

  /// Starts matching redeliveries on a new connection.
  ///
  /// - Parameter deliveries: The deliveries after `acknowledged` that the ledger has recorded.
  package mutating func ledgerRead(unacknowledged deliveries: [Fingerprint]) {
    (expected, packetIDsRestart, hasNewDeliveries) = (deliveries[...], nil, false)
    stage = .ledgerRead
  }

  /// Records that all unconfirmed entries have been published on this connection.
  package mutating func caughtUp() { stage = .caughtUp }

  package var isCaughtUp: Bool { stage == .caughtUp }

  /// Records that the kiosk must not use the connection further, and must read the ledger again.
  package mutating func ledgerFailed() { stage = .initial }

  /// Records that the messages in flight will not be confirmed.
  ///
  /// - Parameter isOurs: Whether the kiosk has ended the connection, for a reason other than the
  ///   messages in flight.
  package mutating func connectionLost(isOurs: Bool = false) {
    if !isOurs, let last = inFlight.last {
      failedConnections += 1
      lastPoisonCandidate = max(lastPoisonCandidate, last.seq)
    }
    inFlight = []
    confirmedSerial = lastSerial
    stage = .initial
  }

  // MARK: Redeliveries

  /// The result of looking up a delivery.
  package struct Match: Sendable {
    /// The fingerprint under which the ledger may have recorded the delivery, or `nil` if the
    /// ledger cannot have recorded it.
    package var original: Fingerprint?
    /// The recorded deliveries that a broker with restarted packet ids redelivers after this one, if the ledger
    /// has no fingerprint of this one: for example because the kiosk rejected it when it first arrived.
    package var skipped: ArraySlice<Fingerprint> = []
  }

  /// Looks up a delivery. Must be called once for each delivery, in the order of arrival.
  package mutating func match(_ delivery: Delivery) -> Match {
    guard delivery.packetID > 0 else { return Match() }
    let restarts = packetIDsRestart ?? restartsPacketIDs(with: delivery.packetID)
    if restarts, packetIDsRestart == nil {
      deletableThrough = max(deletableThrough ?? 0, acknowledged)
    }
    packetIDsRestart = restarts
    // guard: a fingerprint counts only if the broker sets DUP
    guard delivery.isRedelivery else {
      // A retained message follows a subscription and may arrive at any time.
      if !delivery.message.retain { hasNewDeliveries = true }
      return Match()
    }
    let own = Fingerprint(delivery)
    let match = expected.firstIndex { restarts ? $0.digest == own.digest : $0 == own }
    if let match {
      defer { expected = expected[(match + 1)...] }
      return Match(original: expected[match])
    }
    guard restarts else { return Match(original: own) }
    return Match(skipped: hasNewDeliveries ? [] : expected)
  }

  /// Whether all expected redeliveries have arrived. If so, acknowledging the batch acknowledges
  /// all earlier deliveries as well.
  package var allRedeliveriesReceived: Bool { hasNewDeliveries || expected.isEmpty }

  /// Returns whether the first packet id of a connection shows that the broker restarts its
  /// numbering.
  ///
  /// A broker that continues its numbering can also send packet id 1 first: at the beginning of a
  /// session, where the order identifies a redelivery as reliably as the packet id; or after packet id
  /// 65,535. In the second case the oldest expected packet id is near 65,535, and the result is `false`.
  private func restartsPacketIDs(with packetID: UInt16) -> Bool {
    let nearlyRound = UInt16.max - UInt16(clamping: Fingerprint.kept)
    // guard: on a connection that numbers anew the order decides
    return packetID == 1 && expected.first.map { $0.packetID < nearlyRound } ?? true
  }

  // MARK: Publications

  /// The number of unconfirmed QoS 1 messages, about entries or not, since the last lost connection.
  package var depth: Int { Int(clamping: lastSerial - min(confirmedSerial, lastSerial)) }

  /// Whether messages about an entry are in flight.
  package var hasEntriesInFlight: Bool { !inFlight.isEmpty }

  /// The value of `confirmed` that the ledger should store, or `nil` if it is stored.
  package var unsaved: Int? { saved == confirmed ? nil : confirmed }

  /// Records that the ledger has stored `confirmed`.
  package mutating func hasSaved() { saved = confirmed }

  /// Records messages as in flight. Once `isCaughtUp`, pass a `seq` only for messages that were
  /// sent after the acknowledgements of all deliveries until now.
  ///
  /// - Parameters:
  ///   - seq: The entry up to which these messages complete the answers and events; 0 if they
  ///     complete no entry.
  ///   - serial: The serial number of the last message.
  package mutating func published(through seq: Int = 0, serial: UInt64) {
    lastSerial = serial
    guard seq > inFlight.last?.seq ?? confirmed else { return }
    // An entry that is published again may precede the redelivery that it answers.
    inFlight.append(
      Publication(serial: serial, seq: seq, acknowledges: isCaughtUp && allRedeliveriesReceived))
  }

  /// Records which messages the broker has confirmed.
  ///
  /// - Parameter serial: The serial number of the last confirmed message.
  package mutating func confirm(through serial: UInt64) {
    confirmedSerial = serial
    let count = inFlight.prefix { $0.serial <= serial }.count
    guard count > 0 else { return }
    confirmed = inFlight[count - 1].seq
    if let last = inFlight[..<count].last(where: \.acknowledges) { acknowledged = last.seq }
    inFlight.removeFirst(count)
    failedConnections = failedConnections >= 2 && confirmed < lastPoisonCandidate ? 2 : 0
  }

  // MARK: Poison messages

  /// The way to publish an entry that may be a poison message.
  package enum PoisonMessageStep: Equatable, Sendable {
    /// The answer goes to the response topic that the sender requested.
    case asRequested
    /// The answer goes to the sender's default result topic.
    case onDefaultTopic
    /// The kiosk publishes only the event, whose topic and properties do not depend on the sender.
    /// `isFirst` is true for the first connection on which it does so.
    case withoutAnswer(isFirst: Bool)
  }

  /// The way to publish the first unconfirmed entry alone until the broker confirms it, or `nil` if
  /// no poison message is suspected.
  ///
  /// A bad network also ends connections, but rarely eight in a row with the same entry in flight.
  package var poisonMessageStep: PoisonMessageStep? {
    // guard: what ends each connection is tried alone
    switch failedConnections {
    case ..<2: nil
    case 2..<4: .asRequested
    case 4..<8: .onDefaultTopic
    default: .withoutAnswer(isFirst: failedConnections == 8)
    }
  }
}
