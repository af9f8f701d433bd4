package import JuiceDomain
package import KioskProtocol

/// An open charge at a payment device: its money may still move.
package struct Charge: Hashable, Sendable {
  /// The number that identifies the charge at the device.
  package let number: Int
  package let device: PaymentDeviceID
  /// The order, or `nil` if the kiosk had closed the charge before, or its ledger lacks the charge (restored backup).
  package let sale: Sale?
  /// The amount that the customer was asked for; without an order, the amount that the device reported.
  package let amount: Money
  /// The time and the day of the order; without an order, of the device's answer.
  package let at: Timestamp
  package let day: Int
  package var state: ChargeState
  /// The state to reach from `undecided`, or from `captured` if a requested refund may still have
  /// happened; otherwise equal to `state`. After a refund of another amount, or before the order has
  /// ended, the goal is `undecided`, because the device does not refund again.
  package var goal: ChargeState
  /// The amount that the device holds, or held before the capture, as far as the ledger has recorded it.
  package var held: Money?
  /// The amount that the device has captured and not refunded, as far as the ledger has recorded
  /// it.
  package var captured: Money?
  /// The amount to capture, or `nil` before the kiosk has determined it, or if no glass was made.
  package var wanted: Money?
  /// The reason why a person must decide.
  package var reason: String?

  /// The order of a charge.
  package struct Sale: Hashable, Sendable {
    /// The number of the order's entry.
    package let seq: Int
    package let order: Order
    package let ticket: Ticket
    package let used: FruitAmounts
    package let source: Source
    package let id: Request.ID?
    package let reply: Reply?
    /// The terms of the order, which later settings do not change: the name of the juice, and the
    /// time to pay.
    package let juiceName: String
    package let payLimit: Duration
    /// Whether a machine made the juice when the kiosk took the order. Then the order needs one, also
    /// if the settings have no machine for the juice any more.
    package let needsMachine: Bool

    package init(
      seq: Int, order: Order, ticket: Ticket, used: FruitAmounts, source: Source, id: Request.ID?,
      reply: Reply?, juiceName: String, payLimit: Duration, needsMachine: Bool = false
    ) {
      self.seq = seq
      self.order = order
      self.ticket = ticket
      self.used = used
      self.source = source
      self.id = id
      self.reply = reply
      self.juiceName = juiceName
      self.payLimit = payLimit
      self.needsMachine = needsMachine
    }

    /// The fruit of one glass.
    var recipe: FruitAmounts { used.divided(by: order.quantity) }
  }

  package init(
    number: Int, device: PaymentDeviceID, sale: Sale?, amount: Money, at: Timestamp, day: Int,
    state: ChargeState, goal: ChargeState? = nil, held: Money? = nil, captured: Money? = nil,
    wanted: Money? = nil, reason: String? = nil
  ) {
    self.number = number
    self.device = device
    self.sale = sale
    self.amount = amount
    self.at = at
    self.day = day
    self.state = state
    self.goal = goal ?? state
    self.held = held
    self.captured = captured
    self.wanted = wanted
    self.reason = reason
  }

  /// Whether the device has refunded the whole amount before the order has ended.
  var isRefunded: Bool { goal == .undecided && captured == nil }

  /// Returns the charge in another state, which is also its goal, and without a reason.
  func with(_ state: ChargeState) -> Charge {
    var charge = self
    (charge.state, charge.goal, charge.reason) = (state, state, nil)
    return charge
  }

  /// Returns the charge in the state `undecided`, so that a person decides.
  func undecided(_ goal: ChargeState, _ reason: String) -> Charge {
    var charge = self
    (charge.state, charge.goal, charge.reason) = (.undecided, goal, reason)
    return charge
  }

  /// Returns the price of some of the glasses, or `nil` for 0 glasses or without an order.
  func price(of glasses: Int) -> Money? {
    sale.flatMap { amount.part(glasses, of: $0.order.quantity) }
  }

  /// Returns what happens with the money of an order of which not every glass was made; see `settle`.
  ///
  /// - Parameter price: The price of the glasses that were made, or `nil` if none was made.
  func moneyEnd(for price: Money?) -> MoneyEnd {
    switch (price, captured, state) {
    case (let price?, let captured?, _): price == captured ? .pays(price) : .undecided
    case (nil, _?, _), (_?, nil, .gone): .undecided
    case (let price?, nil, _): .pays(price)
    case (nil, nil, .gone): .nothing
    case (nil, nil, _): .releasing
    }
  }

  /// The data of the order's end, or `nil` without an order.
  var end: JobEnd? {
    sale.map { JobEnd(job: $0.seq, machine: nil, order: $0.order, ticket: $0.ticket) }
  }
}

extension Charge: OpenRecord {
  package static let kind = StateKey.Kind.charge
  package var key: Int { number }

  package init(_ members: inout Members<Self>) throws(JSONError) {
    number = try members.required("charge", \.number)
    device = try members.required("device", \.device)
    state = try members.required("state", \.state)
    goal = try members.required("goal", \.goal)
    amount = try members.members(\.amount)
    at = try members.required("at", \.at)
    day = try members.required("day", \.day)
    held = try members.optional("held", \.held)
    captured = try members.optional("captured", \.captured)
    wanted = try members.optional("wanted", \.wanted)
    reason = members.optional("reason", \.reason)
    sale = try members.optional("sale", \.sale)
  }
}

extension Charge.Sale: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    seq = try members.required("seq", \.seq)
    let ticket = members.ticket(\.ticket)
    members.writes("day", \.ticket.day)
    guard let order = members.order(\.order), let ticket else {
      throw JSONError("'juice' or 'ticket' is missing or invalid")
    }
    (self.order, self.ticket) = (order, ticket)
    used = try members.required("used", \.used)
    source = try members.required("source", \.source)
    id = members.optional("id", \.id)
    reply = try members.optional("reply", \.reply)
    juiceName = try members.required("name", \.juiceName)
    payLimit = try members.required("pay_ms", \.payLimit)
    needsMachine = members.flag("needs_machine", \.needsMachine)
  }
}

extension Money: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    self.init(
      units: try members.required("units", \.units),
      try members.required("currency", \.currency))
  }
}

extension ChargeState: MemberValue {}

/// The progress of a charge.
package enum ChargeState: String, CaseIterable, Hashable, Sendable {
  /// The kiosk has not sent the charge yet, because the device is asking another customer or is unavailable.
  case queued
  /// The kiosk has sent the charge, and the device has not answered.
  case sent
  /// The device prompts the customer to pay.
  case waiting
  /// The money is held, and the juice is being made.
  case held
  /// The device holds no amount, although the juice is being made. It has captured none, or has refunded
  /// it, at least in part.
  case gone
  /// The device must capture the amount, release the hold, or refund the captured amount.
  case capturing, releasing, refunding
  /// The device has captured the amount, and can refund it until the end of the day.
  case captured
  /// A person must decide.
  case undecided

  /// Whether the customer has not paid yet.
  package var isUnpaid: Bool { self == .queued || self == .sent || self == .waiting }
}

/// The state of a payment device as recorded in the ledger.
package struct PaymentDeviceRecord: Hashable, Sendable {
  /// The last status that the device published.
  package var status: MachineStatus
  /// The currency, and the sums of captures and refunds since the device's last total, in smallest
  /// units of that currency.
  package var currency: Currency?
  package var captured = 0
  package var refunded = 0
  /// The number and the time of the last total, or `nil` before the first.
  package var total: Int?
  package var totalAt: Timestamp?
  /// The sum by which the device's totals have exceeded the ledger's, in smallest units of the
  /// currency; may be negative. Does not include totals for which `close` returned `nil`.
  package var difference = 0
  /// The epoch of the ledger for which the device has published all that it holds; 0 if there is none.
  package var epoch = 0

  package init(status: MachineStatus) { self.status = status }

  mutating func count(_ kind: PaymentStep.Kind, _ amount: Money?) {
    guard let amount, kind == .captured || kind == .refunded else { return }
    if currency != amount.currency { (captured, refunded) = (0, 0) }
    currency = amount.currency
    if kind == .captured { captured &+= amount.units } else { refunded &+= amount.units }
  }

  /// Returns whether a total differs from the last total in its number or time.
  func isNew(_ total: PaymentTotal) -> Bool {
    total.total != self.total || total.at != totalAt
  }

  /// Compares a total with the sums of the ledger, and sets these sums to zero. If the total has a
  /// sum of the terminal, this sum has precedence over that of the device.
  ///
  /// - Returns: The sum by which the total exceeds the ledger's, in smallest units of the currency; `nil`
  ///   if the kiosk has missed a total since the last one, because the sums then cover different days.
  mutating func close(_ total: PaymentTotal) -> Int? {
    let isSame = currency == nil || currency == total.captured.currency
    let own = isSame ? captured - refunded : 0
    let hasMissed = self.total.map { total.total > $0 + 1 } ?? false
    let excess = hasMissed ? nil : total.net &- own
    difference = difference &+ (excess ?? 0)
    (self.total, totalAt) = (total.total, total.at)
    (currency, captured, refunded) = (total.captured.currency, 0, 0)
    return excess
  }
}

extension PaymentDeviceRecord: StateRecord {
  package static let kind = StateKey.Kind.paymentDevice

  package init(_ members: inout Members<Self>) throws(JSONError) {
    status = try members.required("status", \.status)
    currency = members.optional("currency", \.currency)
    captured = try members.required("captured", \.captured)
    refunded = try members.required("refunded", \.refunded)
    total = members.optional("total", \.total)
    totalAt = members.optional("total_at", \.totalAt)
    difference = try members.required("difference", \.difference)
    epoch = try members.required("epoch", \.epoch)
  }
}
