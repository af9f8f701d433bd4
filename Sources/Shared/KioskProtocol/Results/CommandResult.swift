package import JuiceDomain

/// The answer to a command: the payload of the sender's `result` topic.
package struct CommandResult: Hashable, Sendable {
  package enum Status: String, Sendable {
    /// A machine will make the juice; `ready` or `failed` follows.
    case accepted
    /// The customer must pay; `accepted`, `ready` or `failed` follows.
    case awaitingPayment = "awaiting_payment"
    /// The juice is made.
    case ready
    /// Not every glass was made; unused fruit was returned to the stock. `failure` contains the reason.
    case failed
    /// The stock has too little fruit, and is unchanged.
    case outOfStock = "out_of_stock"
    /// The kiosk has executed a command that is not an order.
    case applied
    /// The kiosk has not executed the command; `reason` contains the reason. A rejected answer of a
    /// machine or a payment device may still change a job or a charge.
    case rejected
  }

  package var id: Request.ID?
  package var status: Status
  /// The number for the customer, from 1 each day.
  package var ticket: Int?
  package var juice: Juice.ID?
  package var quantity: Int?
  /// The price of all glasses; for `failed`, of the made ones; for other commands see `LedgerEntry.amount`.
  package var amount: Money?
  /// The position among the machine's jobs, from 1; the jobs in progress count, too.
  package var place: Int?
  package var machine: MachineID?
  /// The device at which the customer must pay.
  package var device: PaymentDeviceID?
  package var used: FruitAmounts?
  package var missing: FruitAmounts?
  package var service: ServiceState?
  /// The stock after the entry `seq`, or `nil` if the kiosk does not report the stock.
  package var stock: FruitAmounts?
  package var reason: RejectionReason?
  /// The reason of `failed`: the text of the machine, a `PaymentEnd`, or a reason of the kiosk such
  /// as `waited_too_long`.
  package var failure: String?
  package var detail: String?
  /// The text for the customer, in the kiosk's language.
  package var message: String?
  /// The number of the ledger entry, or `nil` if the command was not recorded.
  package var seq: Int?
  /// Whether the kiosk may have answered the same command before.
  package var isDuplicate = false

  package init(status: Status) { self.status = status }
}

extension CommandResult {
  package init(_ rejection: Rejection) {
    self.init(status: .rejected)
    id = rejection.id
    reason = rejection.reason
    detail = rejection.detail
  }

  // Not by one description as other messages: that takes 4,000 instructions more for each order.
  package var payload: [UInt8] {
    JSONWriter.object { json in
      if let id { json.member("id", id.text) }
      json.member("status", status.rawValue)
      if let ticket { json.member("ticket", ticket) }
      if let juice { json.member("juice", juice.text) }
      if let quantity { json.member("quantity", quantity) }
      if let amount { json.member("amount", amount) }
      if let place { json.member("place", place) }
      if let machine { json.member("machine", machine.text) }
      if let device { json.member("device", device.text) }
      if let used { json.member("used", used) }
      if let missing { json.member("missing", missing) }
      if let service { json.member("service", service.rawValue) }
      if let stock { json.member("stock", stock) }
      if let reason { json.member("reason", reason.rawValue) }
      if let failure { json.member("reason", failure) }
      if let detail { json.member("detail", detail) }
      if let message { json.member("message", message) }
      if let seq { json.member("seq", seq) }
      if isDuplicate { json.member("duplicate", true) }
    }
  }

  /// Maximum size of `shortPayload`, in bytes.
  package static let maximumShortSize = 190
  /// Maximum size of a `failure` in the short form, in bytes: the texts of the kiosk, but few of machines.
  private static let maximumShortFailure = 24

  /// The payload for a device with a small buffer: only what determines the device's next step,
  /// without texts for people and without fruit.
  package var shortPayload: [UInt8] {
    JSONWriter.object { json in
      if let id { json.member("id", id.text) }
      json.member("status", status.rawValue)
      if let ticket { json.member("ticket", ticket) }
      if let amount { json.member("amount", amount.text) }
      if let reason { json.member("reason", reason.rawValue) }
      if let failure, failure.utf8.count <= Self.maximumShortFailure {
        json.member("reason", failure)
      }
      if isDuplicate { json.member("duplicate", true) }
    }
  }

  /// Parses a payload, ignoring unknown members.
  ///
  /// - Throws: `JSONError` if the payload is not a result.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let status = json.text("status").flatMap(Status.init(rawValue:)) else {
      throw JSONError("status is missing or unknown")
    }
    self.init(status: status)
    id = json.text("id").flatMap { Request.ID($0) }
    ticket = json.integer("ticket")
    juice = json.text("juice").flatMap { Juice.ID($0) }
    quantity = json.integer("quantity")
    amount = json.money("amount")
    place = json.integer("place")
    machine = json.text("machine").flatMap { MachineID($0) }
    device = json.text("device").flatMap { PaymentDeviceID($0) }
    used = json.amounts("used")
    missing = json.amounts("missing")
    service = json.text("service").flatMap(ServiceState.init(rawValue:))
    stock = json.amounts("stock")
    reason = json.text("reason").flatMap(RejectionReason.init(rawValue:))
    if status == .failed { failure = json.text("reason")?.asReason }
    detail = json.text("detail")?.visible()
    message = json.text("message")?.visible()
    seq = json.integer("seq")
    isDuplicate = json["duplicate"] == .bool(true)
  }
}

extension JSON {
  package func text(_ key: String) -> String? {
    guard case .string(let text) = self[key] else { return nil }
    return text
  }

  package func integer(_ key: String) -> Int? {
    self[key]?.wholeNumber
  }

  package func elements(_ key: String) -> [JSON]? {
    guard case .array(let elements) = self[key] else { return nil }
    return elements
  }

  /// The largest magnitude of an amount of fruit in reports, results, events, routes and removals.
  /// The limit exceeds every real stock, and prevents overflow of sums, differences and thousandths
  /// of untrusted amounts.
  package static let maximumAmount: UInt = 1_000_000_000_000_000

  /// Maximum number of fruits, and of juices, in reports, results and events: as many as a
  /// configuration can have. A longer message would let one kiosk occupy all readers.
  package static let maximumMenuEntries = 1_000

  /// The amount of a fruit, or `nil` if the value is no whole number up to `maximumAmount`.
  package var amount: Int? {
    guard let amount = wholeNumber, amount.magnitude <= Self.maximumAmount else { return nil }
    return amount
  }

  /// The value of an integer or a decimal number from 0 to 10^9, otherwise `nil`.
  var decimal: Double? {
    switch self {
    case .integer(let integer) where (0...1_000_000_000).contains(integer): Double(integer)
    case .number(let number) where (0...1e9).contains(number): number
    default: nil
    }
  }

  package func amounts(_ key: String) -> FruitAmounts? { self[key]?.amounts }

  /// The amounts of fruit among the members, or `nil` if the value is not an object, or has more than
  /// `maximumMenuEntries` members.
  package var amounts: FruitAmounts? {
    guard case .object(let members) = self, members.count <= Self.maximumMenuEntries else {
      return nil
    }
    var amounts: FruitAmounts = [:]
    for member in members {
      guard let fruit = Fruit.ID(member.key), let amount = member.value.amount else { continue }
      amounts[fruit] = amount
    }
    return amounts
  }
}
