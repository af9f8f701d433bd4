package import JuiceMaker
package import KioskMessages

/// One line of an export: together they are all that a ledger holds.
package enum LedgerRecord: Hashable, Sendable {
  /// The first one: what comes before the entries. `after` is the last entry that lies in an archive,
  /// 0 if none does, and `stock` is what there was then.
  case ledger(after: Int, stock: FruitAmounts)
  case kiosk(ServiceState, confirmed: Int)
  /// The last ticket of a day.
  case ticket(Ticket)
  /// A retained topic that holds something of this kiosk.
  case topic(String)
  /// What a device counts by.
  case mark(key: String, value: String)
  /// A file with entries that lie no longer in the ledger itself.
  case archive(ArchivedEntries)
  case entry(LedgerEntry, Answer?)
  /// How a delivery without an id is recognised.
  case delivery(Fingerprint, seq: Int)
  /// The last one: the number of the last entry, and what they all add up to.
  case end(seq: Int, stock: FruitAmounts)

  /// Of the format; to be raised with each change that an earlier version would not understand.
  package static let version = 1
}

/// A run of entries in a file of the archive.
package struct ArchivedEntries: Hashable, Sendable {
  package let first: Int
  package let last: Int
  /// The CRC-32 of the lines.
  package let checksum: UInt32

  package init(first: Int, last: Int, checksum: UInt32) {
    self.first = first
    self.last = last
    self.checksum = checksum
  }
}

/// What is wrong with a line.
package struct RecordError: Error, Hashable, Sendable {
  /// Counted from 1; of several, the first.
  package var line = 0
  package let field: String?
  package let problem: String

  package init(_ field: String? = nil, _ problem: String) {
    self.field = field
    self.problem = problem
  }
}

extension RecordError: CustomStringConvertible {
  package var description: String { "\(line): \(field.map { "\($0): " } ?? "")\(problem)" }
}
