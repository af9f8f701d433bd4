package import MessageBroker

/// How far deliveries have come, what of them the broker has been told, and which may come again.
///
/// The life of a delivery has four steps:
///
/// 1. It is *read*. `match` tells whether it has come before.
/// 2. It is *committed*: the ledger has its entry. If the sender gave no id, the ledger also keeps
///    its fingerprint (packet id, topic, payload) in the table `delivery`.
/// 3. It is *acknowledged*: the network has taken its PUBACK, and the lock file says so. The PUBACK
///    may still be lost with the connection. It has arrived once the broker confirms an answer that
///    was written behind it.
/// 4. It is *confirmed*: the broker has its answer and its event.
///
/// What comes again: a broker that resumes a session sends first what it does not know to be
/// acknowledged, in the old order and with DUP set (MQTT 4.4). DUP alone proves nothing, for some
/// brokers set it on all that had to wait. So a delivery repeats another one if DUP is set and the
/// ledger keeps its fingerprint.
///
/// Numbering anew: RabbitMQ counts packet ids from 1 on each connection, and an old one means nothing.
/// There the order decides: a redelivery repeats the next kept delivery with its topic and payload.
/// Fingerprints of what is known to be acknowledged are forgotten then: they could only mislead. The
/// same goes for all of them once the broker has begun a new session.
///
/// What is told again: answers and events that were not confirmed when a connection ended are
/// published on the next one, so that each arrives at least once. One message may end every
/// connection that it is published on (mosquitto does that to a topic of more than 200 levels). So
/// what was on its way when two connections in a row ended is under suspicion: one entry at a time
/// is published, until all of it is confirmed.
package struct DeliveryTracker: Sendable {
  /// The broker has the answers and events of the entries up to this one.
  package private(set) var confirmed: Int
  /// The broker has our acknowledgements of the deliveries up to this entry's.
  package private(set) var acknowledged: Int
  /// What the ledger knows of `confirmed`.
  private var saved: Int
  /// The ledger should forget the deliveries up to this entry's; `nil`: none.
  package private(set) var deletableThrough: Int?
  package private(set) var stage = Stage.initial

  /// What the ledger keeps and may still come again on this connection, in that order.
  private var expected: ArraySlice<Fingerprint> = []
  /// Whether this connection numbers anew; `nil` until the first packet id has come.
  private var packetIDsRestart: Bool?
  /// New deliveries follow all that comes again.
  private var hasNewDeliveries = false

  private var inFlight: [Publication] = []
  /// The number that the broker's client gave the last message it took.
  package private(set) var lastSerial: UInt64 = 0
  private var confirmedSerial: UInt64 = 0
  /// So many connections in a row ended while the first unconfirmed entry was on its way.
  private var failedConnections = 0
  /// The last entry that was on its way on one of them.
  private var lastPoisonCandidate = 0

  /// How far a new connection has come.
  package enum Stage: Sendable {
    /// There is none, or the ledger has not been asked yet what may come again on it.
    case initial
    /// The ledger has been asked, and unconfirmed entries are being published again.
    case ledgerRead
    /// All unconfirmed entries are on their way: new ones may follow.
    case caughtUp
  }

  private struct Publication {
    let serial: UInt64
    let seq: Int
    let acknowledges: Bool
  }

  /// - Parameters:
  ///   - state: what the ledger holds.
  ///   - lastAcknowledged: the entry up to which the last process noted that it had acknowledged, if it did.
  package init(_ state: LedgerState = LedgerState(), lastAcknowledged: Int? = nil) {
    confirmed = state.confirmed
    saved = state.confirmed
    // The note may be about another ledger that lay in the place of this one.
    acknowledged = min(lastAcknowledged ?? state.confirmed, state.seq)
  }

  // MARK: The connection

  /// The session is a new one: what earlier ones delivered will not come again.
  package mutating func sessionBegan() { deletableThrough = .max }

  /// The ledger has done as `deletableThrough` says.
  package mutating func deliveriesDeleted() { deletableThrough = nil }

  /// - Parameter deliveries: those after `acknowledged`, as the ledger keeps them.
  package mutating func ledgerRead(unacknowledged deliveries: [Fingerprint]) {
    (expected, packetIDsRestart, hasNewDeliveries) = (deliveries[...], nil, false)
    stage = .ledgerRead
  }

  /// All unconfirmed entries have been published on this connection.
  package mutating func caughtUp() { stage = .caughtUp }

  package var isCaughtUp: Bool { stage == .caughtUp }

  /// The connection will not be used any more, and what the ledger holds has to be looked up again.
  package mutating func ledgerFailed() { stage = .initial }

  /// What is on its way will not be confirmed any more.
  ///
  /// - Parameter isOurs: the kiosk itself has ended the connection, whatever was on its way.
  package mutating func connectionLost(isOurs: Bool = false) {
    if !isOurs, let last = inFlight.last {
      failedConnections += 1
      lastPoisonCandidate = max(lastPoisonCandidate, last.seq)
    }
    inFlight = []
    confirmedSerial = lastSerial
    stage = .initial
  }

  // MARK: What comes again

  /// What is known about a delivery when it is read.
  package struct Match: Sendable {
    /// The fingerprint under which the ledger keeps it, if it has come before.
    package var original: Fingerprint?
    /// Kept deliveries that come again behind this one, which the ledger does not know: it was
    /// turned away when it first came, and they were not.
    package var skipped: ArraySlice<Fingerprint> = []
  }

  /// Whether the delivery has come before. Each is asked about once, in the order in which they come.
  package mutating func match(_ delivery: Delivery) -> Match {
    guard delivery.packetID > 0 else { return Match() }
    let restarts = packetIDsRestart ?? restartsPacketIDs(with: delivery.packetID)
    if restarts, packetIDsRestart == nil {
      deletableThrough = max(deletableThrough ?? 0, acknowledged)
    }
    packetIDsRestart = restarts
    // guard: a fingerprint counts only where the broker says DUP
    guard delivery.isRedelivery else {
      // Retained messages come with the subscription, at any time.
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

  /// Whether all that can come again has: then to acknowledge what has come acknowledges everything.
  package var allRedeliveriesReceived: Bool { hasNewDeliveries || expected.isEmpty }

  /// A broker that counts on sends packet id 1 first in two cases: with the first message of the
  /// session, which the ledger may keep under that id, and after 65,535. In the first case the order
  /// decides as well as the number.
  private func restartsPacketIDs(with packetID: UInt16) -> Bool {
    let nearlyRound = UInt16.max - UInt16(clamping: Fingerprint.kept)
    // guard: on a connection that numbers anew the order decides
    return packetID == 1 && expected.first.map { $0.packetID < nearlyRound } ?? true
  }

  // MARK: What the broker has

  /// QoS 1 messages of whatever kind that the broker has not confirmed.
  package var depth: Int { Int(clamping: lastSerial - min(confirmedSerial, lastSerial)) }

  /// Whether an entry is on its way.
  package var hasEntriesInFlight: Bool { !inFlight.isEmpty }

  /// What the ledger should know of `confirmed`; `nil` if it does.
  package var unsaved: Int? { saved == confirmed ? nil : confirmed }

  /// The ledger knows `confirmed`.
  package mutating func hasSaved() { saved = confirmed }

  /// Messages are on their way, behind the acknowledgements of what has come so far.
  ///
  /// - Parameters:
  ///   - seq: all entries up to this one are on their way; 0: the messages are about none.
  ///   - serial: of the last message.
  package mutating func published(through seq: Int = 0, serial: UInt64) {
    lastSerial = serial
    guard seq > inFlight.last?.seq ?? confirmed else { return }
    // What is published again may be ahead of the delivery that it answers.
    inFlight.append(
      Publication(serial: serial, seq: seq, acknowledges: isCaughtUp && allRedeliveriesReceived))
  }

  /// - Parameter serial: up to which the broker has confirmed what was published.
  package mutating func confirm(through serial: UInt64) {
    confirmedSerial = serial
    let count = inFlight.prefix { $0.serial <= serial }.count
    guard count > 0 else { return }
    confirmed = inFlight[count - 1].seq
    if let last = inFlight[..<count].last(where: \.acknowledges) { acknowledged = last.seq }
    inFlight.removeFirst(count)
    failedConnections = failedConnections >= 2 && confirmed < lastPoisonCandidate ? 2 : 0
  }

  // MARK: Suspicion

  /// How an entry under suspicion is published.
  package enum PoisonMessageStep: Equatable, Sendable {
    /// The answer goes where its sender has asked for it.
    case asRequested
    /// The answer goes to the sender's usual topic.
    case onDefaultTopic
    /// The event alone, which has nothing that a sender could choose.
    case withoutAnswer(isFirst: Bool)
  }

  /// How the first unconfirmed entry is to be published, and nothing else until it is confirmed;
  /// `nil`: no entry is under suspicion.
  ///
  /// A bad network ends connections, too, but hardly eight in a row with the same entry on its way.
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
