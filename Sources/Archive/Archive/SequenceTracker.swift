/// Which entries of one ledger have come: all from `low` to `high`, but for the gaps.
///
/// A kiosk counts without a gap, but what it tells may come out of order, twice, or again a year later.
struct SequenceTracker: Equatable, Sendable {
  struct Gap: Equatable, Sendable {
    var first: Int
    let last: Int
    /// When it was found, as the database has said; `nil`: just now.
    let since: String?
  }

  /// The lowest entry that is expected: 1, until the kiosk has said where the ledger begins.
  private(set) var low: Int
  /// The highest that has come; below `low` if none has.
  private(set) var high: Int
  /// Those that matter, from the lowest on.
  private(set) var gaps: [Gap]
  /// By its last entry, what has become of a gap; `nil`: it is closed.
  private(set) var changes: [Int: Gap?] = [:]

  /// By default of a ledger that nothing has been heard of.
  ///
  /// - Parameter gaps: at least those between the lowest and the highest entry that are to be noted.
  init(low: Int = 1, high: Int = 0, gaps: [Gap] = []) {
    self.low = low
    self.high = high
    self.gaps = gaps
  }

  /// An entry has come; it is no matter if it came before.
  mutating func insert(_ seq: Int) {
    if seq > high {
      if seq > high + 1 { open(Gap(first: high + 1, last: seq - 1, since: nil)) }
      high = seq
    } else if seq < low {
      if seq < low - 1 { open(Gap(first: seq + 1, last: low - 1, since: nil)) }
      low = seq
    } else {
      fill(seq)
    }
  }

  private mutating func open(_ gap: Gap) {
    gaps.insert(gap, at: position(of: gap.last))
    changes[gap.last] = gap
  }

  private mutating func fill(_ seq: Int) {
    let position = position(of: seq)
    guard position < gaps.endIndex, gaps[position].first <= seq else { return }
    let gap = gaps[position]
    if seq < gap.last {
      gaps[position].first = seq + 1
      changes[gap.last] = gaps[position]
    } else {
      gaps.remove(at: position)
      changes[gap.last] = .some(nil)
    }
    if gap.first < seq { open(Gap(first: gap.first, last: seq - 1, since: gap.since)) }
  }

  /// Of the first gap that does not end before an entry.
  private func position(of seq: Int) -> Int {
    var (low, high) = (gaps.startIndex, gaps.endIndex)
    while low < high {
      let middle = (low + high) / 2
      if gaps[middle].last < seq { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
