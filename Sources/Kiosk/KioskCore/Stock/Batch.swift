package import KioskProtocol

/// A batch as recorded in the ledger: fruit with a date.
package struct Batch: Hashable, Sendable {
  package var quantity: Int
  /// The time at which it expires, by the clock as it was at `at`.
  package var expires: Timestamp
  /// The time of this record.
  package var at: Timestamp
  /// Milliseconds by which the clock has been set back since the batch was brought.
  package var behind: Int64

  package init(quantity: Int, expires: Timestamp, at: Timestamp, behind: Int64 = 0) {
    self.quantity = quantity
    self.expires = expires
    self.at = at
    self.behind = behind
  }
}
