import JuiceDomain

/// A request for the charges in a kiosk's ledger, one page at a time, from the newest to the oldest.
package struct ChargesRequest: Hashable, Sendable {
  /// The id of the request, which its answer repeats.
  package let id: Request.ID
  /// The number of a charge. The page has only charges with lower numbers; `nil` for the newest.
  package let before: Int?

  package init(id: Request.ID, before: Int? = nil) { (self.id, self.before) = (id, before) }
}

extension ChargesRequest: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    id = try members.required("id", \.id)
    _ = try members.required("report", { _ in "charges" }, where: { $0 == "charges" })
    before = members.optional("before", \.before)
  }
}

/// The answer to a `ChargesRequest`: holds (which can have the receipt), captures, releases, refunds, and what
/// people requested or decided, the newest charge first. A charge without a capture also has its order and, if no glass was
/// made, the end of the order.
package struct ChargePage: Hashable, Sendable {
  /// Maximum number of entries in a page.
  package static let maximumEntries = 300
  /// The statuses of the entries in a page.
  package static let statuses: [LedgerEntry.Status] = [
    .awaitingPayment, .held, .captured, .released, .writtenOff, .refund, .refunded, .paidBack,
    .kept, .capture, .release,
  ]

  package let id: Request.ID
  package let entries: [LedgerEntry]
  /// The `before` of the request for the next page, or `nil` if there are no older charges.
  package let next: Int?

  package init(id: Request.ID, entries: [LedgerEntry], next: Int?) {
    (self.id, self.entries, self.next) = (id, entries, next)
  }
}

extension ChargePage: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    id = try members.required("id", \.id)
    entries = try members.page("charges", \.entries, upTo: Self.maximumEntries)
    next = members.optional("next", \.next)
  }
}

extension LedgerEntry {
  /// The number of the charge that the entry is about, or `nil` if it is about none.
  package var charge: Int? { outcome.charge }
}
