package import JuiceDomain

/// A device's report on a charge: the payload of `paid/<device>`.
package struct PaymentAnswer: Hashable, Sendable {
  package let charge: Int
  package let status: Status
  package let receipt: Receipt
  /// The device's reason, for people.
  package let reason: String?

  package enum Status: Hashable, Sendable {
    /// The customer is asked to pay.
    ///
    /// - Parameter isPresented: Whether a card is in the reader.
    case waiting(isPresented: Bool)
    case held(Money)
    /// The customer does not pay, and nothing is held.
    case declined
    case captured(Money)
    /// The hold has ended.
    case released
    case refunded(Money)
    /// The device cannot find out what became of the charge.
    case unknown

    package var name: String {
      switch self {
      case .waiting: "waiting"
      case .held: "held"
      case .declined: "declined"
      case .captured: "captured"
      case .released: "released"
      case .refunded: "refunded"
      case .unknown: "unknown"
      }
    }

    /// The amount, if the status has one.
    package var money: Money? {
      switch self {
      case .held(let money), .captured(let money), .refunded(let money): money
      case .waiting, .declined, .released, .unknown: nil
      }
    }
  }

  package init(
    charge: Int, status: Status, receipt: Receipt = Receipt(), reason: String? = nil
  ) {
    self.charge = charge
    self.status = status
    self.receipt = receipt
    self.reason = reason
  }

  package var payload: [UInt8] { JSONWriter.object { $0.members(self) } }
}

/// The data that may be stored about a payment besides its amount: enough to find it in the terminal's
/// journal, and no card number.
package struct Receipt: Hashable, Sendable {
  package var receipt, trace, terminal: String?
  /// The name of the card.
  package var card: String?
  /// The last four digits of the card's number.
  package var last4: String?

  package init(
    receipt: String? = nil, trace: String? = nil, terminal: String? = nil, card: String? = nil,
    last4: String? = nil
  ) {
    self.receipt = receipt
    self.trace = trace
    self.terminal = terminal
    self.card = card
    self.last4 = last4
  }

  package var isEmpty: Bool { self == Receipt() }

  /// Reads the members that are present. A text that may contain a card number is dropped: one with
  /// 12 or more digits, however they are separated.
  package init(_ json: JSON) {
    func text(_ key: String) -> String? {
      if let number = json.integer(key) { return String(number).asReceiptText }
      return json.visibleText(key, upTo: Self.limit)?.asReceiptText
    }
    receipt = text("receipt")
    trace = text("trace")
    terminal = text("terminal")
    card = text("card")
    last4 = json.text("last4").flatMap { text in
      text.utf8.count == 4 && text.utf8.allSatisfy(\.isDigit) ? text : nil
    }
  }

  private static let limit = 32
}

extension String {
  /// The text, or `nil` if it may contain a card number, which has 12 to 19 digits.
  fileprivate var asReceiptText: String? {
    utf8.count(where: \.isDigit) < 12 ? self : nil
  }

  /// A reason from a device, without a text that may contain a card number.
  var asPaymentReason: String { asReason.asReceiptText ?? "" }
}

extension UInt8 {
  fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}

extension JSONWriter {
  mutating func members(_ answer: PaymentAnswer) {
    member("charge", answer.charge)
    member("status", answer.status.name)
    if case .waiting(isPresented: true) = answer.status { member("presented", true) }
    if let money = answer.status.money { member(units: money) }
    if let reason = answer.reason { member("reason", reason) }
    members(answer.receipt)
  }

  package mutating func members(_ receipt: Receipt) {
    if let text = receipt.receipt { member("receipt", text) }
    if let text = receipt.trace { member("trace", text) }
    if let text = receipt.terminal { member("terminal", text) }
    if let text = receipt.card { member("card", text) }
    if let text = receipt.last4 { member("last4", text) }
  }
}

/// The end of a device's day: the retained payload of `payment/<device>/total`.
package struct PaymentTotal: Hashable, Sendable {
  /// The number of ends of day so far.
  package let total: Int
  package let at: Timestamp
  /// The sums of all captures and of all refunds since the last total.
  package let captured, refunded: Money
  /// The number of captures.
  package let count: Int

  package init(total: Int, at: Timestamp, captured: Money, refunded: Money, count: Int) {
    self.total = total
    self.at = at
    self.captured = captured
    self.refunded = refunded
    self.count = count
  }

  /// - Throws: `JSONError` if a member is missing or invalid.
  package init(payload: [UInt8]) throws(JSONError) {
    try self.init(JSON.parse(payload))
  }

  package init(_ json: JSON) throws(JSONError) {
    guard let total = json.integer("total"), (1..<1 << 53).contains(total),
      let at = json.text("at").flatMap(Timestamp.init),
      let currency = json.text("currency").flatMap({ Currency($0) }),
      let captured = json.integer("captured"), (0...JSON.maximumUnits).contains(captured),
      let refunded = json.integer("refunded"), (0...JSON.maximumUnits).contains(refunded),
      let count = json.integer("count"), (0...1_000_000_000).contains(count)
    else {
      throw JSONError(
        offset: 0, problem: "total, at, currency, captured, refunded or count is missing or wrong")
    }
    self.init(
      total: total, at: at, captured: Money(units: captured, currency),
      refunded: Money(units: refunded, currency), count: count)
  }

  package var payload: [UInt8] { JSONWriter.object { $0.members(self) } }
}

extension JSONWriter {
  package mutating func members(_ total: PaymentTotal) {
    member("total", total.total)
    member("at", total.at.description)
    member("currency", total.captured.currency.code)
    member("captured", total.captured.units)
    member("refunded", total.refunded.units)
    member("count", total.count)
  }
}

/// A person's decision about a charge: the payload of `job/<source>` with the member `charge`.
package struct ChargeDecision: Hashable, Sendable {
  package let charge: Int
  package let choice: Choice

  package enum Choice: String, CaseIterable, Hashable, Sendable {
    // Requests to the device.
    /// Gives a captured charge back, once and on the same day.
    case refund
    /// Books what is held.
    case capture
    /// Gives back what is held.
    case release
    // What a person has seen in the journal of the terminal.
    /// The amount is booked, and stays so.
    case captured
    /// The device holds nothing and has booked nothing.
    case released
    /// The booked amount was given back.
    case refunded
  }

  package init(charge: Int, choice: Choice) {
    self.charge = charge
    self.choice = choice
  }
}
