import KioskMessages
import MessageBroker

/// Results and events on their way: up to which ledger entry the broker has them.
///
/// What was published is confirmed by the broker's PUBACKs. What was not when a connection or the
/// process ended is published again on the next one: at least once, and without a gap.
///
/// Answers follow the acknowledgements of their orders. So the PUBACK for an answer proves that the
/// broker has the acknowledgement, too, unless the answer was only published again.
///
/// One message can end each connection that it is published on (mosquitto does that to a topic of
/// more than 200 levels). So what was on its way when two connections in a row ended is under
/// suspicion: from then on one entry is published at a time, until all of it is confirmed.
struct ResultFeed: Sendable {
  /// The broker has everything up to this entry.
  private(set) var confirmed: Int
  /// The broker has our acknowledgements of all orders up to this entry.
  private(set) var acknowledged: Int
  /// The entry up to which the ledger knows of `confirmed`.
  private(set) var saved: Int
  private var inFlight: [Publication] = []
  private(set) var publishedSerial: UInt64 = 0
  private var confirmedSerial: UInt64 = 0
  /// So many connections in a row have ended with the first unconfirmed entry on its way.
  private var losses = 0
  /// The last entry that was on its way on one of them.
  private var lastSuspect = 0

  private struct Publication {
    let serial: UInt64
    let seq: Int
    let acknowledges: Bool
  }

  init(confirmed: Int, acknowledged: Int) {
    self.confirmed = confirmed
    self.acknowledged = acknowledged
    saved = confirmed
  }

  /// QoS 1 messages of whatever kind that the broker has not confirmed.
  var depth: Int { Int(clamping: publishedSerial - min(confirmedSerial, publishedSerial)) }

  /// How often the first unconfirmed entry was published alone, and the connection ended; `nil` as
  /// long as no entry is under suspicion.
  var trial: Int? { losses >= 2 ? losses - 2 : nil }

  /// Whether an entry is on its way.
  var isWaiting: Bool { !inFlight.isEmpty }

  /// - Parameters:
  ///   - seq: everything up to this entry is on its way.
  ///   - serial: of the last message.
  ///   - acknowledging: whether the acknowledgements of all these entries leave before.
  mutating func published(through seq: Int, serial: UInt64, acknowledging: Bool = false) {
    publishedSerial = serial
    guard seq > inFlight.last?.seq ?? confirmed else { return }
    inFlight.append(Publication(serial: serial, seq: seq, acknowledges: acknowledging))
  }

  /// - Parameter serial: up to which the broker has confirmed what was published.
  mutating func confirm(through serial: UInt64) {
    confirmedSerial = serial
    let count = inFlight.prefix { $0.serial <= serial }.count
    guard count > 0 else { return }
    confirmed = inFlight[count - 1].seq
    if let last = inFlight[..<count].last(where: \.acknowledges) { acknowledged = last.seq }
    inFlight.removeFirst(count)
    losses = losses >= 2 && confirmed < lastSuspect ? 2 : 0
  }

  /// What is on its way will not be confirmed any more.
  ///
  /// - Parameter isOurs: the kiosk itself has ended the connection, whatever was on its way.
  mutating func connectionLost(isOurs: Bool = false) {
    if !isOurs, let last = inFlight.last {
      losses += 1
      lastSuspect = max(lastSuspect, last.seq)
    }
    inFlight = []
    confirmedSerial = publishedSerial
  }

  /// The ledger knows now.
  mutating func markSaved() { saved = confirmed }
}
