package import KioskMessages

/// The latest entries of a ledger, the latest first. Events come at least once: here each counts once.
package struct Recent: Sendable, RandomAccessCollection {
  package static let limit = 30

  private var entries: [LedgerEntry] = []

  package init() {}

  package var startIndex: Int { 0 }
  package var endIndex: Int { entries.count }
  package subscript(position: Int) -> LedgerEntry { entries[position] }

  /// - Returns: whether it was not there yet.
  package mutating func add(_ entry: LedgerEntry) -> Bool {
    let place = entries.firstIndex { $0.at <= entry.at && $0.seq <= entry.seq } ?? entries.count
    guard place < Self.limit, !entries.contains(entry) else { return false }
    entries.insert(entry, at: place)
    if entries.count > Self.limit { entries.removeLast() }
    return true
  }
}
