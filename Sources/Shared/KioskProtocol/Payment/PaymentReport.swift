package import JuiceDomain

/// The state of a payment device for displays: the retained payload of `payment/<device>`.
package struct PaymentReport: Hashable, Sendable {
  package var state: State
  /// The device's reason if the state is `off`.
  package var reason: String?
  /// The order that must be paid now, or that was declined.
  package var ticket: Int?
  /// The amount to pay now.
  package var amount: Money?
  /// The reason why the last payment was declined, until the next charge.
  package var declined: String?
  /// The number of charges that wait for the device to be free.
  package var queue: Int
  /// The charges that need a person, at most `limit`.
  package var charges: [Charge]
  /// The sum by which the device's totals exceed the ledger's, in smallest units.
  package var difference: Int

  package static let limit = 20

  package enum State: String, Hashable, Sendable {
    case idle
    /// A customer must pay now.
    case waiting
    /// A request is on its way.
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
    package var at: Timestamp

    package init(
      charge: Int, job: Int?, ticket: Int?, amount: Money, reason: String, at: Timestamp
    ) {
      self.charge = charge
      self.job = job
      self.ticket = ticket
      self.amount = amount
      self.reason = reason
      self.at = at
    }
  }

  package init(
    state: State, reason: String? = nil, ticket: Int? = nil, amount: Money? = nil,
    declined: String? = nil, queue: Int = 0, charges: [Charge] = [], difference: Int = 0
  ) {
    self.state = state
    self.reason = reason
    self.ticket = ticket
    self.amount = amount
    self.declined = declined
    self.queue = queue
    self.charges = charges
    self.difference = difference
  }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("state", state.rawValue)
      if let reason { json.member("reason", reason) }
      if let ticket { json.member("ticket", ticket) }
      if let amount { json.member(units: amount) }
      if let declined { json.member("declined", declined) }
      json.member("queue", queue)
      json.member("charges", charges) { json, charge in
        json.member("charge", charge.charge)
        if let job = charge.job { json.member("job", job) }
        if let ticket = charge.ticket { json.member("ticket", ticket) }
        json.member(units: charge.amount)
        json.member("reason", charge.reason)
        json.member("at", charge.at.description)
      }
      json.member("difference", difference)
    }
  }

  /// - Throws: `JSONError` if the payload is not a report of a payment device.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let state = json.text("state").flatMap(State.init(rawValue:)) else {
      throw JSONError(offset: 0, problem: "state is missing or unknown")
    }
    self.init(
      state: state, reason: json.text("reason")?.asReason, ticket: json.integer("ticket"),
      amount: json.units(), declined: json.text("declined")?.asReason,
      queue: json.integer("queue") ?? 0,
      charges: (json.elements("charges") ?? []).prefix(Self.limit).compactMap(Charge.init),
      difference: json.integer("difference") ?? 0)
  }
}

extension PaymentReport.Charge {
  fileprivate init?(_ json: JSON) {
    guard let charge = json.chargeNumber("charge"), let amount = json.units(),
      let reason = json.text("reason")?.asReason,
      let at = json.text("at").flatMap(Timestamp.init)
    else { return nil }
    self.init(
      charge: charge, job: json.integer("job"), ticket: json.integer("ticket"), amount: amount,
      reason: reason, at: at)
  }
}
