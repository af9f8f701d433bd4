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
}

extension SalesRequest: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    id = try members.required("id", \.id)
    last = members.optional("last", \.last)
    since = try members.required("since", \.since)
    guard last ?? 1 >= 1 else { throw JSONError("last is 1 or more") }
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
}

extension SalesExtract: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    id = try members.required("id", \.id)
    epoch = try members.required("epoch", \.epoch)
    last = try members.required("last", \.last)
    next = members.optional("next", \.next)
    timeZone = members.text("time_zone", \.timeZone) ?? ""
    sums = try members.all("sums", \.sums, upTo: 5 * Self.maximumEntries)
    money = try members.all("money", \.money, upTo: Self.maximumEntries, omitsEmpty: true)
    if timeZone.isEmpty { throw members.missing("time_zone") }
    if let next, next < 1 || next >= last { throw members.missing("next") }
  }
}

extension SalesExtract.Sum: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    at = try members.required("at", \.at)
    status = try members.required("status", \.status)
    juice = try members.required("juice", \.juice)
    orders = try members.required("orders", \.orders, where: Int.counts.contains)
    glasses = members.optional("glasses") { $0.glasses > 0 ? $0.glasses : nil } ?? 0
    amount = members.money("amount", \.amount)
    guard Int.counts.contains(glasses) else { throw members.missing("glasses") }
  }
}

extension SalesExtract.Sum.Status: MemberValue {}
