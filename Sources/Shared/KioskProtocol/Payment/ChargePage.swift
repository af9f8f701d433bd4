import JuiceDomain

/// A request for the charges in a kiosk's ledger, one page at a time, from the newest to the oldest.
package struct ChargesRequest: Hashable, Sendable {
  /// The id of the request, which its answer repeats.
  package let id: Request.ID
  /// The number of a charge. The page has only charges with lower numbers; `nil` for the newest.
  package let before: Int?

  package init(id: Request.ID, before: Int? = nil) { (self.id, self.before) = (id, before) }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("id", id.text)
      json.member("report", "charges")
      if let before { json.member("before", before) }
    }
  }

  /// Parses a payload, ignoring unknown members.
  ///
  /// - Throws: `JSONError` if the payload is not a request.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let id = json.text("id").flatMap({ Request.ID($0) }), json.text("report") == "charges"
    else { throw JSONError("id and report are required") }
    self.init(id: id, before: json.integer("before"))
  }
}

/// The answer to a `ChargesRequest`: holds (which can have the receipt), captures, releases, refunds and requests
/// for refunds, the newest charge first. A charge without a capture also has its order and, if no glass was
/// made, the end of the order.
package struct ChargePage: Hashable, Sendable {
  /// Maximum number of entries in a page.
  package static let maximumEntries = 300
  /// The statuses of the entries in a page.
  package static let statuses: [LedgerEntry.Status] = [
    .awaitingPayment, .held, .captured, .released, .writtenOff, .refund, .refunded,
  ]

  package let id: Request.ID
  package let entries: [LedgerEntry]
  /// The `before` of the request for the next page, or `nil` if there are no older charges.
  package let next: Int?

  package init(id: Request.ID, entries: [LedgerEntry], next: Int?) {
    (self.id, self.entries, self.next) = (id, entries, next)
  }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("id", id.text)
      json.member("charges", entries) { $0.members($1) }
      if let next { json.member("next", next) }
    }
  }

  /// Parses a payload, ignoring unknown members and entries that this version cannot read.
  ///
  /// - Throws: `JSONError` if the payload is not a page of charges.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let id = json.text("id").flatMap({ Request.ID($0) }),
      let entries = json.elements("charges"), entries.count <= Self.maximumEntries
    else { throw JSONError("this is not a page of charges") }
    self.init(
      id: id, entries: entries.compactMap { try? LedgerEntry($0) }, next: json.integer("next"))
  }
}

extension LedgerEntry {
  /// The number of the charge that the entry is about, or `nil` if it is about none.
  package var charge: Int? { outcome.charge }
}
