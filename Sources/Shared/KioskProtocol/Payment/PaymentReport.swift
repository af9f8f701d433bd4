package import JuiceDomain

/// The state of a payment device for displays: the retained payload of `payment/<device>`.
package struct PaymentReport: Hashable, Sendable {
  package var state: State
  /// The device's reason if the state is `off`.
  package var reason: String?
  /// The ticket of the order that must be paid now, or whose payment was declined.
  package var ticket: Int?
  /// The amount to pay now.
  package var amount: Money?
  /// The time to present a card from the prompt on, in seconds, or `nil` if no payment is due.
  package var paySeconds: Int?
  /// The reason why the last payment was declined, for 60 seconds or until the next charge.
  package var declined: String?
  /// The number of charges that the kiosk has not sent to the device yet.
  package var queue: Int
  /// The charges about which a person must decide, at most `limit`.
  package var charges: [Charge]
  /// The sum by which the device's totals exceed the ledger's, in smallest units; may be negative.
  package var difference: Int
  /// Whether the kiosk has requested all that the device holds, because its ledger is new or restored, and
  /// the device has not answered.
  package var needsInventory = false
  /// The sums of the captures and of the refunds since the device's last end of day, or `nil`
  /// before the first capture, refund or end of day.
  package var captured, refunded: Money?

  package static let limit = 20

  package enum State: String, Hashable, Sendable {
    case idle
    /// A customer must pay now.
    case waiting
    /// The device has not yet answered a request of the kiosk.
    case busy
    /// The device takes no charges.
    case off
  }

  package struct Charge: Hashable, Sendable {
    package var charge: Int
    /// The number of the order's entry, or `nil` if the kiosk has no order for the charge.
    package var job: Int?
    package var ticket: Int?
    package var amount: Money
    /// The reason why a person must decide.
    package var reason: String
    /// The request that would complete the charge: `capture`, `release` or `refund`; or `nil` if there is none.
    package var request: ChargeRequest.Action?
    /// The decisions that are possible.
    package var decisions: [ChargeDecision.Choice]
    package var at: Timestamp

    package init(
      charge: Int, job: Int?, ticket: Int?, amount: Money, reason: String,
      request: ChargeRequest.Action? = nil, decisions: [ChargeDecision.Choice], at: Timestamp
    ) {
      self.charge = charge
      self.job = job
      self.ticket = ticket
      self.amount = amount
      self.reason = reason
      self.request = request
      self.decisions = decisions
      self.at = at
    }
  }

  package init(
    state: State, reason: String? = nil, ticket: Int? = nil, amount: Money? = nil,
    paySeconds: Int? = nil, declined: String? = nil, queue: Int = 0, charges: [Charge] = [],
    difference: Int = 0,
    captured: Money? = nil, refunded: Money? = nil
  ) {
    self.state = state
    self.reason = reason
    self.ticket = ticket
    self.amount = amount
    self.paySeconds = paySeconds
    self.declined = declined
    self.queue = queue
    self.charges = charges
    self.difference = difference
    self.captured = captured
    self.refunded = refunded
  }
}

extension PaymentReport: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    state = try members.required("state", \.state)
    reason = members.text("reason", \.reason)
    ticket = members.optional("ticket", \.ticket)
    amount = members.units(\.amount)
    paySeconds = members.optional("pay_seconds", \.paySeconds)
    declined = members.text("declined", \.declined)
    queue = try members.required("queue", \.queue, or: 0)
    charges = members.list("charges", \.charges, upTo: Self.limit)
    difference = try members.required("difference", \.difference, or: 0)
    needsInventory = members.flag("needs_inventory", \.needsInventory)
    // If there is an amount, `units` has already written the currency.
    let currency = members.optional("currency") { $0.amount == nil ? $0.captured?.currency : nil }
    let sum = { (units: Int) in currency.map { Money(units: units, $0) } }
    captured = members.optional("captured") { $0.captured?.units }.flatMap(sum)
    refunded = members.optional("refunded") { $0.refunded?.units }.flatMap(sum)
  }
}

extension PaymentReport.Charge: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    charge = try members.charge(\.charge)
    job = members.optional("job", \.job)
    ticket = members.optional("ticket", \.ticket)
    amount = try members.requiredUnits(\.amount)
    reason = members.text("reason", \.reason) ?? ""
    request = members.optional("request", \.request)
    decisions = members.names("decisions", \.decisions)
    at = try members.required("at", \.at)
  }
}

extension PaymentReport.State: MemberValue {}
extension ChargeRequest.Action: MemberValue {}
