package import MessageBroker

/// Tells which deliveries on one connection repeat earlier ones that the ledger has.
///
/// A redelivery has DUP set in a resumed session. So may a press that was sent on the last
/// connection and never read, and a broker that marks all that has queued: DUP alone proves nothing.
/// Most brokers redeliver under the same packet id (MQTT 4.4), and the fingerprint decides. RabbitMQ
/// numbers from 1 on every connection: there the order decides, since what was not acknowledged
/// comes again in its order, and only that.
package struct Redeliveries: Sendable {
  /// Committed before this connection, and perhaps not acknowledged; what has not come again yet.
  private var open: ArraySlice<Fingerprint>
  /// Whether packet ids do not mean on this connection what they meant before; `nil` until the first
  /// one has come.
  private var numbersAnew: Bool?
  private var isPast = false
  private var hasToldNumbering = false

  /// - Parameter unacknowledged: the deliveries whose acknowledgement may not have arrived, in
  ///   order.
  package init(unacknowledged: [Fingerprint] = []) {
    open = unacknowledged[...]
  }

  /// What an unknown redelivery has come before: in the session it has its place there. It had been
  /// turned away, or the ledger would know it.
  var overtaken: ArraySlice<Fingerprint> { open }

  /// Whether all that can come again has: then to acknowledge what has come acknowledges everything.
  package var areOver: Bool { isPast || open.isEmpty }

  /// Whether this connection has shown that packet ids mean something else than before, so that what
  /// was acknowledged is not to be recognised by them any more. Told once.
  package mutating func takeNewNumbering() -> Bool {
    guard numbersAnew == true, !hasToldNumbering else { return false }
    hasToldNumbering = true
    return true
  }

  /// Under which fingerprint the ledger knows the delivery, if it has been delivered before.
  package mutating func original(of delivery: Delivery) -> Fingerprint? {
    guard delivery.packetID > 0 else { return nil }
    let isAnew = numbersAnew ?? startsAnew(with: delivery.packetID)
    numbersAnew = isAnew
    // guard: a fingerprint counts only where the broker says DUP
    guard delivery.isRedelivery else {
      // New ones follow what comes again; retained ones come with the subscription.
      if !delivery.message.retain { isPast = true }
      return nil
    }
    let own = Fingerprint(delivery)
    guard
      let index = open.firstIndex(where: { isAnew ? $0.digest == own.digest : $0 == own })
    else { return isAnew ? nil : own }
    defer { open = open[(index + 1)...] }
    return open[index]
  }

  /// A broker that counts on begins a connection with 1 only where it takes up the first message of
  /// the session, and then the order decides as well as the number, or after 65,535.
  private func startsAnew(with packetID: UInt16) -> Bool {
    let nearlyRound = UInt16.max - UInt16(clamping: Fingerprint.kept)
    // guard: on a connection that numbers anew the order decides
    return packetID == 1 && open.first.map { $0.packetID < nearlyRound } ?? true
  }
}
