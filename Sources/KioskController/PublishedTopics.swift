/// Which retained topics hold something of this kiosk, so that those which a new menu leaves behind
/// are cleared.
struct PublishedTopics: Sendable {
  /// What the ledger knows.
  private(set) var known: Set<String>
  private var awaited: (current: Set<String>, serial: UInt64)?

  init(known: Set<String>) { self.known = known }

  func obsolete(comparedTo current: Set<String>) -> [String] {
    known.subtracting(current).sorted()
  }

  /// What the ledger must know before `current` is published; `nil` if it does.
  mutating func toRemember(_ current: Set<String>) -> Set<String>? {
    guard !current.isSubset(of: known) else { return nil }
    known.formUnion(current)
    return known
  }

  /// Obsolete topics were cleared and `current` was published.
  mutating func published(_ current: Set<String>, serial: UInt64) {
    if current != known { awaited = (current, serial) }
  }

  /// What the ledger may forget down to, once the broker has confirmed that obsolete topics are
  /// cleared; `nil` if there is nothing to forget.
  mutating func confirmed(through serial: UInt64) -> Set<String>? {
    guard let awaited, awaited.serial <= serial else { return nil }
    self.awaited = nil
    known = awaited.current
    return known
  }

  mutating func connectionLost() { awaited = nil }
}
