package import KioskProtocol

/// A batch as recorded in the ledger: fruit that expires at one time.
package struct Batch: Hashable, Sendable {
  package var quantity: Int
  /// The time at which the batch expires, by the wall clock as it was set at `at`: the earlier of
  /// the end of its age and of `bestBefore`.
  package var expires: Timestamp
  /// The date on the package, whatever the clock is set to; or `nil` if only the age limits the batch.
  package var bestBefore: Timestamp?
  /// The time of this record.
  package var at: Timestamp
  /// Milliseconds by which the wall clock was set back since the batch was recorded, less the later
  /// steps forward.
  package var behind: Int64

  package init(
    quantity: Int, expires: Timestamp, bestBefore: Timestamp? = nil, at: Timestamp,
    behind: Int64 = 0
  ) {
    self.quantity = quantity
    self.expires = expires
    self.bestBefore = bestBefore
    self.at = at
    self.behind = behind
  }
}

extension Batch: StateRecord {
  package static let kind = StateKey.Kind.batch

  package init(_ members: inout Members<Self>) throws(JSONError) {
    quantity = try members.required("quantity", \.quantity, where: { $0 >= 0 })
    expires = try members.required("expires", \.expires)
    bestBefore = members.optional("best_before", \.bestBefore)
    at = try members.required("at", \.at)
    behind = Int64(try members.required("behind_ms", { Int($0.behind) }, where: { $0 >= 0 }))
  }
}

/// Expired fruit of a batch that no person has taken out yet, as recorded in the ledger. It is no part of the stock.
package struct ExpiredFruit: Hashable, Sendable {
  package var quantity: Int

  package init(quantity: Int) { self.quantity = quantity }
}

extension ExpiredFruit: StateRecord {
  package static let kind = StateKey.Kind.expired

  package init(_ members: inout Members<Self>) throws(JSONError) {
    quantity = try members.required("quantity", \.quantity, where: { $0 > 0 })
  }
}
