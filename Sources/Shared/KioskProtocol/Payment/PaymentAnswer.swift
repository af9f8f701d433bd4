package import JuiceDomain

/// A device's answer about a charge: the payload of `paid/<device>`.
package struct PaymentAnswer: Hashable, Sendable {
  package let charge: Int
  package let status: Status
  package let receipt: Receipt
  /// The device's reason, for people.
  package let reason: String?

  package enum Status: Hashable, Sendable {
    /// The device prompts the customer to pay.
    ///
    /// - Parameter isPresented: Whether a card is in the reader.
    case waiting(isPresented: Bool)
    case held(Money)
    /// The customer does not pay, and nothing is held.
    case declined
    case captured(Money)
    /// The device holds nothing: the hold or the prompt has ended.
    case released
    case refunded(Money)
    /// The device cannot determine the state of the charge.
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

  /// Returns the payload by which a device reports that it has published the states of all open charges.
  package static func inventory(epoch: Int) -> [UInt8] {
    JSONWriter.object { json in
      json.member("status", ChargeRequest.Action.open.rawValue)
      json.member("epoch", epoch)
    }
  }
}

/// The data that may be stored about a payment besides its amount: enough to find the payment in
/// the terminal's journal, and no card number.
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
}

extension Receipt: FormattedMessage {
  package init(_ json: JSON) {
    var members = Members<Self>(reading: json)
    self.init(&members)
  }

  /// Omits a read text with 12 or more digits, with any characters between the digits, because the
  /// text may contain a card number.
  package init(_ members: inout Members<Self>) {
    receipt = members.receiptText("receipt", \.receipt)
    trace = members.receiptText("trace", \.trace)
    terminal = members.receiptText("terminal", \.terminal)
    card = members.receiptText("card", \.card)
    last4 = members.receiptText("last4", \.last4)
    if let digits = last4?.utf8, digits.count != 4 || !digits.allSatisfy(\.isDigit) { last4 = nil }
  }
}

extension Members<Receipt> {
  fileprivate mutating func receiptText(
    _ key: StaticString, _ get: (Receipt) -> String?
  ) -> String? {
    (json.integer(key.description).map(String.init) ?? text(key, get, upTo: 32))?.asReceiptText
  }
}

extension String {
  /// The text, or `nil` if it may contain a card number, which has 12 to 19 digits.
  fileprivate var asReceiptText: String? {
    utf8.count(where: \.isDigit) < 12 ? self : nil
  }

  /// The text as a device's reason; empty if it may contain a card number.
  package var asPaymentReason: String { asReason.asReceiptText ?? "" }
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
}

/// The end of a device's day: the retained payload of `payment/<device>/total`.
package struct PaymentTotal: Hashable, Sendable {
  /// The number of ends of day, including this one.
  package let total: Int
  package let at: Timestamp
  /// The sums of all captures and of all refunds since the previous total.
  package let captured, refunded: Money
  /// The number of captures since the previous total.
  package let count: Int
  /// The sum of the terminal's payments minus its cancellations, in the smallest unit of the
  /// currency, or `nil` if the terminal does not report it.
  package let terminalNet: Int?

  package init(
    total: Int, at: Timestamp, captured: Money, refunded: Money, count: Int,
    terminalNet: Int? = nil
  ) {
    self.total = total
    self.at = at
    self.captured = captured
    self.refunded = refunded
    self.count = count
    self.terminalNet = terminalNet
  }

  /// The sum that the kiosk compares with its ledger, in smallest units: `terminalNet`, or else the
  /// captures minus the refunds of the device.
  package var net: Int { terminalNet ?? captured.units - refunded.units }
}

extension PaymentTotal: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    total = try members.required("total", \.total, where: (1..<1 << 53).contains)
    at = try members.required("at", \.at)
    let currency = try members.required("currency", \.captured.currency)
    let units = 0...JSON.maximumUnits
    captured = Money(
      units: try members.required("captured", \.captured.units, where: units.contains), currency)
    refunded = Money(
      units: try members.required("refunded", \.refunded.units, where: units.contains), currency)
    count = try members.required("count", \.count, where: (0...1_000_000_000).contains)
    let sums = -JSON.maximumUnits...JSON.maximumUnits
    let net = members.optional("terminal_net", \.terminalNet)
    terminalNet = net.flatMap { sums.contains($0) ? $0 : nil }
  }
}

/// A person's decision about a charge: the payload of `job/<source>` with the member `charge`.
package struct ChargeDecision: Hashable, Sendable {
  package let charge: Int
  package let choice: Choice

  package enum Choice: String, CaseIterable, Hashable, Sendable {
    // Requests to the device.
    /// Gives the captured amount back, once and on the same day.
    case refund
    /// Captures the held amount.
    case capture
    /// Releases the held amount.
    case release
    // Results that a person has found in the journal of the terminal.
    /// The device has captured the amount, and the amount stays captured.
    case captured
    /// The device holds nothing and has captured nothing.
    case released
    /// The captured amount was refunded.
    case refunded
    // Results that the device has no part in.
    /// The customer has got the captured amount back in cash.
    case cash
    /// The juice was made, and its price is not captured and will not be.
    case writeOff = "write_off"

    /// Whether the kiosk requests it from the device, so that its outcome is unknown at first.
    package var isRequest: Bool { self == .refund || self == .capture || self == .release }
  }

  /// The person's reason, at most `SensorDecision.maximumWord` Unicode scalars on one line, or `nil`.
  package let word: String?

  package init(charge: Int, choice: Choice, word: String? = nil) {
    (self.charge, self.choice, self.word) = (charge, choice, word)
  }
}
