package import JuiceDomain

/// A request for the sales in a kiosk's ledger, one page of entries at a time, from the newest to
/// the oldest.
package struct SalesRequest: Hashable, Sendable {
  /// The id of the request, which its answer repeats.
  package let id: Request.ID
  /// The `seq` of the last entry of the page, or `nil` for the last entry of the ledger.
  package let last: Int?
  /// The start of the requested period. The extract ends with the first full page that has only
  /// earlier entries.
  package let since: Timestamp

  package init(id: Request.ID, last: Int? = nil, since: Timestamp) {
    self.id = id
    self.last = last
    self.since = since
  }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("id", id.text)
      if let last { json.member("last", last) }
      json.member("since", since.description)
    }
  }

  /// Parses a payload, ignoring unknown members.
  ///
  /// - Throws: `JSONError` if the payload is not a request.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let id = json.text("id").flatMap({ Request.ID($0) }),
      let since = json.text("since").flatMap(Timestamp.init)
    else { throw JSONError("id and since are required") }
    let last = json.integer("last")
    guard last ?? 1 >= 1 else { throw JSONError("last is 1 or more") }
    self.init(id: id, last: last, since: since)
  }
}

/// The answer to a `SalesRequest`: the orders of a page of entries, summed by quarter of an hour, juice, outcome and
/// currency; without failed orders that have no amount, and without rejections that have no juice. With them the money
/// of the orders and charges that begin in the page, also of their later steps.
package struct SalesExtract: Hashable, Sendable {
  /// Maximum number of entries in a page.
  package static let maximumEntries = 500

  package let id: Request.ID
  /// The present epoch of the ledger; see `LedgerEntry`.
  package var epoch: Int
  /// The `seq` of the last entry of the page; 0 if the ledger is empty.
  package var last: Int
  /// The `seq` of the last entry of the next page, or `nil` if there is no next page.
  package var next: Int?
  /// The IANA name of the kiosk's time zone.
  package var timeZone: String
  package var sums: [Sum]
  package var money: [MoneyOfQuarter] = []

  package struct Sum: Hashable, Sendable {
    package enum Status: String, Sendable {
      case ready, made, failed, rejected
      case outOfStock = "out_of_stock"
    }

    /// The start of the quarter of an hour.
    package var at: Timestamp
    package var status: Status
    package var juice: Juice.ID
    package var orders: Int
    /// The number of glasses of the orders that are `ready` or `made`; 0 for any other status.
    package var glasses: Int
    /// The price of the glasses made, also of `failed` orders; or `nil` if there is none.
    package var amount: Money?

    package init(
      at: Timestamp, status: Status, juice: Juice.ID, orders: Int, glasses: Int, amount: Money?
    ) {
      (self.at, self.status, self.juice) = (at, status, juice)
      (self.orders, self.glasses, self.amount) = (orders, glasses, amount)
    }
  }

  package init(
    id: Request.ID, epoch: Int, last: Int, next: Int?, timeZone: String, sums: [Sum]
  ) {
    (self.id, self.epoch, self.last, self.next) = (id, epoch, last, next)
    (self.timeZone, self.sums) = (timeZone, sums)
  }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("id", id.text)
      json.member("epoch", epoch)
      json.member("last", last)
      if let next { json.member("next", next) }
      json.member("time_zone", timeZone)
      json.member("sums", sums) { json, sum in
        json.member("at", sum.at.description)
        json.member("status", sum.status.rawValue)
        json.member("juice", sum.juice.text)
        json.member("orders", sum.orders)
        if sum.glasses > 0 { json.member("glasses", sum.glasses) }
        if let amount = sum.amount { json.member("amount", amount) }
      }
      if !money.isEmpty { json.member("money", money) { $0.members($1) } }
    }
  }

  /// Parses a payload, ignoring unknown members.
  ///
  /// - Throws: `JSONError` if the payload is not a page.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let id = json.text("id").flatMap({ Request.ID($0) }), let last = json.integer("last"),
      let epoch = json.integer("epoch"), let timeZone = json.visibleText("time_zone", upTo: 64),
      let elements = json.elements("sums"), elements.count <= 5 * Self.maximumEntries,
      case let money = json.elements("money") ?? [], money.count <= Self.maximumEntries
    else { throw JSONError("this is not an extract of the sales") }
    let sums = elements.map(Sum.init)
    guard !sums.contains(nil), json.integer("next").map({ $0 >= 1 && $0 < last }) ?? true else {
      throw JSONError("a sum or next cannot be read")
    }
    self.init(
      id: id, epoch: epoch, last: last, next: json.integer("next"), timeZone: timeZone,
      sums: sums.compactMap(\.self))
    for element in money { self.money.append(try MoneyOfQuarter(element)) }
  }
}

extension SalesExtract.Sum {
  fileprivate init?(_ json: JSON) {
    // Real counts are lower, and sums of such counts do not overflow.
    let counts = 0...1_000_000_000
    guard let at = json.text("at").flatMap(Timestamp.init),
      let status = json.text("status").flatMap(Status.init(rawValue:)),
      let juice = json.text("juice").flatMap({ Juice.ID($0) }),
      let orders = json.integer("orders"), counts.contains(orders)
    else { return nil }
    let glasses = json.integer("glasses") ?? 0
    guard counts.contains(glasses) else { return nil }
    self.init(
      at: at, status: status, juice: juice, orders: orders, glasses: glasses,
      amount: json.money("amount"))
  }
}
