package import JuiceDomain

/// The id of a payment device: a card terminal, a coin box, a reader behind an ESP32.
package typealias PaymentDeviceID = Identifier<PaymentReport>

/// A request to hold the amount of a charge: the payload of `charge/<device>`. The kiosk repeats
/// the request until the device answers, or the time to pay is over.
package struct ChargeRequest: Hashable, Sendable {
  /// The number of the charge. A device begins a charge only if this number is higher than each
  /// number that the device has stored.
  package let charge: Int
  /// The number for the customer.
  package let ticket: Int
  /// The name of the panel at which the customer stands; empty if it was omitted.
  package private(set) var panel: String
  /// The juice, or `nil` if it was omitted.
  package private(set) var juice: Juice.ID?
  /// The number of glasses.
  package let quantity: Int
  /// The price of all glasses.
  package let amount: Money
  /// The customer's language.
  package let language: Language
  /// The name of the juice in `language`.
  package private(set) var text: String
  /// The time to pay, and the maximum expected time until the juice is ready (0 without a machine), in seconds.
  package let paySeconds, readySeconds: Int

  package init(
    charge: Int, ticket: Int, panel: String, juice: Juice.ID?, quantity: Int, amount: Money,
    language: Language, text: String, paySeconds: Int, readySeconds: Int
  ) {
    self.charge = charge
    self.ticket = ticket
    self.panel = panel
    self.juice = juice
    self.quantity = quantity
    self.amount = amount
    self.language = language
    self.text = text
    self.paySeconds = paySeconds
    self.readySeconds = readySeconds
  }

  /// Maximum size of the payload in bytes. A common library for small devices discards packets that
  /// exceed 256 bytes with the topic.
  package static let maximumSize = 200

  /// Omits the panel, then the juice, and then shortens the text, if the payload would be too large.
  package var sendable: ChargeRequest {
    var request = self
    if request.payload.count > Self.maximumSize { request.panel = "" }
    if request.payload.count > Self.maximumSize { request.juice = nil }
    // guard: a small device can receive each charge
    while request.payload.count > Self.maximumSize, !request.text.isEmpty {
      request.text.removeLast()
    }
    return request
  }

  /// A request about an earlier charge, or about all of them: the last level of `charge/<device>/...`.
  package enum Action: String, CaseIterable, Hashable, Sendable {
    /// Captures a part of the held amount or all of it, and releases the rest.
    case capture
    /// Releases the whole held amount; before a card was presented, ends the prompt.
    case release
    /// Gives the captured amount back, once.
    case refund
    /// Requests the known state of the charge, and moves no money.
    case state
    /// Requests the states of all charges that may still hold an amount, and moves no money.
    case open
  }

  /// Returns the payload of `charge/<device>/open`.
  package static func payload(epoch: Int) -> [UInt8] {
    JSONWriter.object { $0.member("epoch", epoch) }
  }

  /// Parses a payload that `payload(epoch:)` returned.
  package static func epoch(_ payload: [UInt8]) throws(JSONError) -> Int {
    guard let epoch = try JSON.parse(payload).epoch else { throw JSONError("epoch is missing") }
    return epoch
  }

  /// Returns the payload of a request about a charge.
  ///
  /// - Parameter amount: The amount to capture, or `nil` for the other actions.
  package static func payload(about charge: Int, amount: Money? = nil) -> [UInt8] {
    JSONWriter.object { json in
      json.member("charge", charge)
      if let amount { json.member(units: amount) }
    }
  }

  /// Parses a payload that `payload(about:amount:)` returned.
  ///
  /// - Returns: The number of the charge, and the number of smallest units to capture, or `nil` if
  ///   the payload has no amount.
  package static func parse(_ payload: [UInt8]) throws(JSONError) -> (charge: Int, units: Int?) {
    let json = try JSON.parse(payload)
    guard let charge = json.chargeNumber("charge") else {
      throw JSONError("charge is missing")
    }
    let units = json.integer("amount")
    guard units.map((1...JSON.maximumUnits).contains) ?? true else {
      throw JSONError("amount is not a whole number from 1 to \(JSON.maximumUnits)")
    }
    return (charge, units)
  }
}

extension ChargeRequest: FormattedMessage {
  /// Reads a request. Members that a device does not need may be absent.
  package init(_ members: inout Members<Self>) throws(JSONError) {
    charge = try members.charge(\.charge)
    ticket = try members.required("ticket", \.ticket, or: 0)
    panel = members.text("panel") { $0.panel.isEmpty ? nil : $0.panel } ?? ""
    juice = members.optional("juice", \.juice)
    quantity = try members.required("quantity", \.quantity, or: 1, where: (1...1_000).contains)
    amount = try members.requiredUnits(\.amount)
    language = try members.required("language", \.language, or: .english)
    text = members.text("text", \.text) ?? ""
    paySeconds = try members.required(
      "pay_seconds", \.paySeconds, or: 45, where: (5...300).contains)
    readySeconds = try members.required(
      "ready_seconds", \.readySeconds, or: 0, where: { $0 >= 0 })
  }
}

extension Members {
  /// Reads or writes the number of a charge: 1 to 2^53 - 1, which every JSON parser can represent.
  mutating func charge(_ get: (Message) -> Int) throws(JSONError) -> Int {
    try required("charge", get, where: (1..<1 << 53).contains)
  }
}

extension JSONWriter {
  /// Writes an amount as the number of its smallest units, and its currency.
  mutating func member(units money: Money) {
    member("amount", money.units)
    member("currency", money.currency.code)
  }
}

extension JSON {
  /// The largest amount of one charge in smallest units: the 12 digits of a ZVT terminal.
  package static let maximumUnits = 999_999_999_999

  /// Reads the number of a charge, 1 to 2^53 - 1, or returns `nil` for any other value.
  package func chargeNumber(_ key: String) -> Int? {
    integer(key).flatMap { (1..<1 << 53).contains($0) ? $0 : nil }
  }

  /// The epoch of a ledger, 1 to 2^53 - 1, or `nil` for any other value.
  package var epoch: Int? {
    integer("epoch").flatMap { (1..<1 << 53).contains($0) ? $0 : nil }
  }

  /// Reads an amount from 1 to `maximumUnits` smallest units and its currency, or returns `nil` if
  /// either is missing or invalid.
  package func units() -> Money? {
    guard let units = integer("amount"), (1...Self.maximumUnits).contains(units),
      let currency = text("currency").flatMap({ Currency($0) })
    else { return nil }
    return Money(units: units, currency)
  }
}
