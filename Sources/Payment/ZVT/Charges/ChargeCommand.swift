package import JuiceDomain
package import KioskProtocol

/// A message of the kiosk to a payment device: the contract of deploy/docs/payment.md.
package enum ChargeCommand: Hashable, Sendable {
  /// Hold this amount.
  case charge(ChargeRequest)
  /// Book this amount, and release the rest.
  case capture(charge: Int, amount: Int)
  /// Give back all of the hold.
  case release(charge: Int)
  /// Cancel a captured charge.
  case refund(charge: Int)
  /// Publish what is known.
  case state(charge: Int)

  package var charge: Int {
    switch self {
    case .charge(let request): request.charge
    case .capture(let charge, _), .release(let charge), .refund(let charge), .state(let charge):
      charge
    }
  }

  /// The topic levels after `charge/<device>`; empty for a new charge.
  package enum Kind: String, CaseIterable, Sendable {
    case charge = ""
    case capture, release, refund, state
  }

  /// Numbers of charges, below 2^53.
  private static let numbers = 1..<(1 << 53)
  /// Amounts that fit into the twelve digits of field 04.
  private static let amounts = 1...999_999_999_999

  /// - Throws: `JSONError` if a member is missing or out of range.
  package init(_ kind: Kind, payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let charge = json.integer("charge"), Self.numbers.contains(charge) else {
      throw JSONError(offset: 0, problem: "'charge' is missing or no number from 1 below 2^53")
    }
    let amount = json.integer("amount")
    let isAmount = amount.map(Self.amounts.contains) ?? false
    switch kind {
    case .capture, .charge:
      guard let amount, isAmount else {
        throw JSONError(
          offset: 0, problem: "'amount' is missing or no whole number from 1 to 999999999999")
      }
      guard kind == .charge else {
        self = .capture(charge: charge, amount: amount)
        return
      }
      guard let currency = json.text("currency").flatMap({ Currency($0) }) else {
        throw JSONError(offset: 0, problem: "'currency' is missing or no code like EUR")
      }
      self = .charge(
        ChargeRequest(
          charge: charge, ticket: json.integer("ticket") ?? 0,
          quantity: json.integer("quantity") ?? 1,
          price: Money(units: amount, currency),
          text: json.visibleText("text", upTo: 64) ?? json.visibleText("juice", upTo: 64) ?? "",
          juice: json.visibleText("juice", upTo: 64) ?? "",
          paySeconds: min(max(json.integer("pay_seconds") ?? 45, 5), 300),
          readySeconds: max(json.integer("ready_seconds") ?? 0, 0)))
    case .release: self = .release(charge: charge)
    case .refund: self = .refund(charge: charge)
    case .state: self = .state(charge: charge)
    }
  }
}

/// The payload of `charge/<device>`.
package struct ChargeRequest: Hashable, Sendable {
  package var charge: Int
  package var ticket: Int
  package var quantity: Int
  package var price: Money
  /// The juice in the customer's language.
  package var text: String
  /// The id of the juice.
  package var juice: String
  /// Time for the customer to present a card.
  package var paySeconds: Int
  /// Expected time until the juice is made.
  package var readySeconds: Int

  package init(
    charge: Int, ticket: Int = 0, quantity: Int = 1, price: Money, text: String = "",
    juice: String = "", paySeconds: Int = 45, readySeconds: Int = 0
  ) {
    self.charge = charge
    self.ticket = ticket
    self.quantity = quantity
    self.price = price
    self.text = text
    self.juice = juice
    self.paySeconds = paySeconds
    self.readySeconds = readySeconds
  }
}

/// A payment device's report on a charge: the payload of `paid/<device>`.
package struct ChargeAnswer: Hashable, Sendable {
  package enum Status: String, Sendable {
    case waiting, held, declined, captured, released, refunded, unknown
  }

  package var charge: Int
  package var status: Status
  /// The amount held, captured or refunded.
  package var amount: Money?
  /// The reason, for people; at most 64 characters.
  package var reason: String?
  package var receipt: Int?
  package var trace: Int?
  package var terminal: String?
  package var card: String?
  package var last4: String?
  /// Whether a card is in the reader.
  package var isPresented = false

  package init(charge: Int, status: Status) {
    self.charge = charge
    self.status = status
  }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("charge", charge)
      json.member("status", status.rawValue)
      if let amount {
        json.member("amount", amount.units)
        json.member("currency", amount.currency.code)
      }
      if let reason { json.member("reason", reason.visible(upTo: 64)) }
      if let receipt { json.member("receipt", receipt) }
      if let trace { json.member("trace", trace) }
      if let terminal { json.member("terminal", terminal) }
      if let card { json.member("card", card) }
      if let last4 { json.member("last4", last4) }
      if isPresented { json.member("presented", true) }
    }
  }
}
