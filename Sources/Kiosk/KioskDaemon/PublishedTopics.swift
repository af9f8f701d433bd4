/// Which retained topics hold something of this kiosk, so that those which a new menu leaves behind
/// are cleared.
struct PublishedTopics: Sendable {
  /// What the ledger knows.
  private(set) var known: Set<String>
  private var pending: (current: Set<String>, serial: UInt64)?

  init(known: Set<String>) { self.known = known }

  func obsolete(comparedTo current: Set<String>) -> [String] {
    known.subtracting(current).sorted()
  }

  /// What the ledger must know before `current` is published; `nil` if it does.
  func topicsToStore(_ current: Set<String>) -> Set<String>? {
    current.isSubset(of: known) ? nil : known.union(current)
  }

  /// The ledger has taken it.
  mutating func stored(_ topics: Set<String>) { known = topics }

  /// Obsolete topics were cleared and `current` was published.
  mutating func published(_ current: Set<String>, serial: UInt64) {
    pending = current == known ? nil : (current, serial)
  }

  /// What the ledger may forget down to, once the broker has confirmed that obsolete topics are
  /// cleared; `nil` if there is nothing to forget.
  mutating func confirmed(through serial: UInt64) -> Set<String>? {
    guard let pending, pending.serial <= serial else { return nil }
    self.pending = nil
    known = pending.current
    return known
  }

  mutating func connectionLost() { pending = nil }
}
