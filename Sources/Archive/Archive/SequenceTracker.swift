/// The record of which entries of one ledger have arrived: all from `low` to `high`, except for the
/// gaps.
///
/// A kiosk gives its entries successive numbers, but they may arrive out of order, twice, or again
/// a year later.
struct SequenceTracker: Equatable, Sendable {
  struct Gap: Equatable, Sendable {
    var first: Int
    let last: Int
    /// The time at which the database recorded the gap, or `nil` if it is new.
    let since: String?
  }

  /// The number of the lowest expected entry: 1, until the kiosk has reported the first entry of
  /// the ledger.
  private(set) var low: Int
  /// The number of the highest entry that has arrived or is known to exist; below `low` if there is
  /// none.
  private(set) var high: Int
  /// The known gaps in the range of the entries to insert, and the gaps opened since, in ascending
  /// order.
  private(set) var gaps: [Gap]
  /// The changed gaps by their last entry; the value is `nil` for a closed gap.
  private(set) var changes: [Int: Gap?] = [:]

  /// Creates a tracker, by default for a ledger of which no entry has arrived.
  ///
  /// - Parameter gaps: At least the gaps within the range of the entries to insert.
  init(low: Int = 1, high: Int = 0, gaps: [Gap] = []) {
    self.low = low
    self.high = high
    self.gaps = gaps
  }

  /// Records the arrival of an entry.
  ///
  /// - Returns: Whether it is new; recording it again has no effect.
  @discardableResult
  mutating func insert(_ seq: Int) -> Bool {
    if seq > high {
      expect(through: seq - 1)
      high = seq
    } else if seq < low {
      if seq < low - 1 { open(Gap(first: seq + 1, last: low - 1, since: nil)) }
      low = seq
    } else {
      return fill(seq)
    }
    return true
  }

  /// Returns whether the arrival of an entry would add a gap.
  func opensGap(_ seq: Int) -> Bool {
    if seq > high { return seq > high + 1 }
    if seq < low { return seq < low - 1 }
    let position = position(of: seq)
    return position < gaps.endIndex && gaps[position].first < seq && seq < gaps[position].last
  }

  /// Records that the ledger has all entries up to a number, even if they have not arrived yet.
  mutating func expect(through last: Int) {
    guard last > high else { return }
    open(Gap(first: high + 1, last: last, since: nil))
    high = last
  }

  private mutating func open(_ gap: Gap) {
    gaps.insert(gap, at: position(of: gap.last))
    changes[gap.last] = gap
  }

  private mutating func fill(_ seq: Int) -> Bool {
    let position = position(of: seq)
    guard position < gaps.endIndex, gaps[position].first <= seq else { return false }
    let gap = gaps[position]
    if seq < gap.last {
      gaps[position].first = seq + 1
      changes[gap.last] = gaps[position]
    } else {
      gaps.remove(at: position)
      changes[gap.last] = .some(nil)
    }
    if gap.first < seq { open(Gap(first: gap.first, last: seq - 1, since: gap.since)) }
    return true
  }

  /// Returns the index of the first gap that does not end before an entry.
  private func position(of seq: Int) -> Int {
    var (low, high) = (gaps.startIndex, gaps.endIndex)
    while low < high {
      let middle = (low + high) / 2
      if gaps[middle].last < seq { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
