package import JuiceDomain

/// What a sender is told of its command.
package struct CommandResult: Hashable, Sendable {
  package enum Status: String, Sendable {
    /// A machine is to make the juice; `ready` or `failed` follows.
    case accepted
    /// The juice is made.
    case ready
    /// The juice was not made; fruit that is still there was given back. `failure` tells why.
    case failed
    /// Too little fruit; nothing has moved.
    case outOfStock = "out_of_stock"
    /// The restock or the service command is done.
    case applied
    /// Nothing has happened; `reason` tells why.
    case rejected
  }

  package var id: Request.ID?
  package var status: Status
  /// What the customer listens for: the day's made orders, from 1.
  package var ticket: Int?
  package var juice: Juice.ID?
  package var quantity: Int?
  /// What its glasses cost.
  package var amount: Money?
  /// In the queue of the machine, from 1.
  package var place: Int?
  package var machine: MachineID?
  package var used: FruitAmounts?
  package var missing: FruitAmounts?
  package var service: ServiceState?
  /// The stock after the command.
  package var stock: FruitAmounts?
  package var reason: RejectionReason?
  /// Why a machine has not made it: its own word, `waited_too_long` or `given_back`.
  package var failure: String?
  package var detail: String?
  /// For the customer, in the kiosk's language.
  package var message: String?
  /// The number of the ledger entry; none if the command did not get as far as the ledger.
  package var seq: Int?
  /// The same command had been answered before.
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

  /// - Throws: `JSONError` if it is not a result; unknown members are ignored.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let status = json.text("status").flatMap(Status.init(rawValue:)) else {
      throw JSONError(offset: 0, problem: "there is no status as results have it")
    }
    self.init(status: status)
    id = json.text("id").flatMap { Request.ID($0) }
    ticket = json.integer("ticket")
    juice = json.text("juice").flatMap { Juice.ID($0) }
    quantity = json.integer("quantity")
    amount = json.money("amount")
    place = json.integer("place")
    machine = json.text("machine").flatMap { MachineID($0) }
    used = json.amounts("used")
    missing = json.amounts("missing")
    service = json.text("service").flatMap(ServiceState.init(rawValue:))
    stock = json.amounts("stock")
    reason = json.text("reason").flatMap(RejectionReason.init(rawValue:))
    if status == .failed { failure = json.text("reason")?.asReason }
    detail = json.text("detail")
    message = json.text("message")
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
    guard case .integer(let integer) = self[key] else { return nil }
    return integer
  }

  package func elements(_ key: String) -> [JSON]? {
    guard case .array(let elements) = self[key] else { return nil }
    return elements
  }

  /// How much of a fruit: so little that sums, differences and thousandths of what somebody made up
  /// do not overflow, and more than any kiosk holds.
  package var amount: Int? {
    guard case .integer(let amount) = self, amount.magnitude <= 1_000_000_000_000_000 else {
      return nil
    }
    return amount
  }

  /// A number of whatever kind, from 0 to a billion.
  var decimal: Double? {
    switch self {
    case .integer(let integer) where (0...1_000_000_000).contains(integer): Double(integer)
    case .number(let number) where (0...1e9).contains(number): number
    default: nil
    }
  }

  package func amounts(_ key: String) -> FruitAmounts? { self[key]?.amounts }

  /// The members that are amounts of fruit; `nil` if this is not an object.
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
