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

extension CommandResult: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    let id = members.optional("id", \.id)
    self.init(status: try members.required("status", \.status))
    self.id = id
    ticket = members.optional("ticket", \.ticket)
    juice = members.optional("juice", \.juice)
    quantity = members.optional("quantity", \.quantity)
    amount = members.money("amount", \.amount)
    place = members.optional("place", \.place)
    machine = members.optional("machine", \.machine)
    device = members.optional("device", \.device)
    used = members.optional("used", \.used)
    missing = members.optional("missing", \.missing)
    service = members.optional("service", \.service)
    stock = members.optional("stock", \.stock)
    reason = members.optional("reason", \.reason)
    if status == .failed { failure = members.optional("reason", \.failure)?.asReason }
    detail = members.text("detail", \.detail, upTo: .max)
    message = members.text("message", \.message, upTo: .max)
    seq = members.optional("seq", \.seq)
    isDuplicate = members.optional("duplicate") { $0.isDuplicate ? true : nil } == true
  }
}

extension CommandResult.Status: MemberValue {}

extension CommandResult {
  package init(_ rejection: Rejection) {
    self.init(status: .rejected)
    id = rejection.id
    reason = rejection.reason
    detail = rejection.detail
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

  /// The amounts of fruit among the members, or `nil` if the value is not an object.
  package var amounts: FruitAmounts? {
    guard case .object(let members) = self else { return nil }
    var amounts: FruitAmounts = [:]
    for member in members {
      guard let fruit = Fruit.ID(member.key), let amount = member.value.amount else { continue }
      amounts[fruit] = amount
    }
    return amounts
  }
}
