import Testing

@testable import Archive

@Suite struct SequenceTrackerTests {
  private func tracker(
    _ low: Int, _ high: Int, _ gaps: [(Int, Int)] = [], noting seqs: [Int]
  ) -> SequenceTracker {
    var tracker = SequenceTracker(
      low: low, high: high,
      gaps: gaps.map { .init(first: $0.0, last: $0.1, since: "then") })
    for seq in seqs { tracker.insert(seq) }
    return tracker
  }

  private func gaps(_ tracker: SequenceTracker) -> [[Int]] {
    tracker.gaps.map { [$0.first, $0.last] }
  }

  @Test func whatIsNewIsTold() {
    var tracker = SequenceTracker()
    let arrived = [3, 3, 1, 2, 2, 5, 4, 1].map { tracker.insert($0) }
    #expect(arrived == [true, false, true, true, false, true, true, false])
    var later = SequenceTracker(low: 10, high: 12)
    #expect(
      [9, 9, 12, 7, 8, 8].map { later.insert($0) } == [true, false, false, true, true, false])
  }

  /// A ledger reports its last entry, and the archive has not received it.
  @Test func aLostTailIsAGap() {
    var tracker = SequenceTracker(low: 1, high: 7)
    tracker.expect(through: 7)
    #expect(tracker.changes.isEmpty)
    tracker.expect(through: 9)
    #expect(tracker.gaps == [SequenceTracker.Gap(first: 8, last: 9, since: nil)])
    #expect(tracker.insert(8) && !tracker.insert(8) && tracker.insert(11))
    #expect(tracker.gaps.map(\.first) == [9, 10])
  }

  @Test(arguments: [
    ([4, 5, 6], 6, []),
    ([5], 5, [[4, 4]]),
    ([9], 9, [[4, 8]]),
    ([6, 9], 9, [[4, 5], [7, 8]]),
    ([9, 6], 9, [[4, 5], [7, 8]]),
    ([9, 4, 5, 6, 7, 8], 9, []),
    ([9, 8, 4, 6, 5, 7], 9, []),
    ([1, 2, 3], 3, []),
    ([4, 4, 4], 4, []),
  ])
  func whatIsMissingIsAGap(seqs: [Int], high: Int, open: [[Int]]) {
    let tracker = tracker(1, 3, noting: seqs)
    #expect(tracker.high == high)
    #expect(gaps(tracker) == open)
  }

  @Test(arguments: [
    (4, [[5, 8]]), (8, [[4, 7]]), (6, [[4, 5], [7, 8]]), (3, [[4, 8]]), (9, [[4, 8]]),
  ])
  func whatComesLateClosesIt(seq: Int, left: [[Int]]) {
    #expect(gaps(tracker(1, 20, [(4, 8)], noting: [seq])) == left)
  }

  /// A new time would postpone the request for the rest of the gap again and again.
  @Test func whatIsLeftOfAGapIsAsOldAsItWas() {
    let tracker = tracker(1, 20, [(4, 8)], noting: [6])
    #expect(tracker.gaps.map(\.since) == ["then", "then"])
    #expect(tracker.changes.count == 2)
  }

  @Test(arguments: [
    (4, false), (5, true), (7, true), (8, false), (12, false), (3, false), (20, false), (21, false),
    (22, true),
  ])
  func anEntryWithinAGapOrBeyondTheEndOpensOne(seq: Int, opens: Bool) {
    var tracker = tracker(1, 20, [(4, 8), (12, 12)], noting: [])
    let count = tracker.gaps.count
    #expect(tracker.opensGap(seq) == opens)
    tracker.insert(seq)
    #expect((tracker.gaps.count > count) == opens)
  }

  @Test func aGapOfOneIsClosed() {
    let tracker = tracker(1, 20, [(2, 3), (7, 7), (9, 12)], noting: [7])
    #expect(gaps(tracker) == [[2, 3], [9, 12]])
    #expect(tracker.changes == [7: SequenceTracker.Gap?.none])
  }

  @Test func aGapIsNotReportedThatOpensAndClosesInOneBatch() {
    let tracker = tracker(1, 3, noting: [5, 4])
    #expect(tracker.changes == [4: SequenceTracker.Gap?.none])
  }

  @Test func aLedgerStartsWithOneUntilTheKioskSaysOtherwise() {
    var tracker = SequenceTracker()
    tracker.insert(500)
    #expect(gaps(tracker) == [[1, 499]])
  }

  @Test func whatIsBelowTheBeginningMovesIt() {
    let tracker = tracker(500, 501, noting: [497])
    #expect(tracker.low == 497)
    #expect(tracker.high == 501)
    #expect(gaps(tracker) == [[498, 499]])
  }

  /// Entries in random order, with repeats: each number is either recorded or in a gap.
  @Test(arguments: 0..<200)
  func nothingIsEverBoth(seed: Int) {
    var random = SplitMix(state: UInt64(seed))
    var tracker = SequenceTracker()
    var noted: Set<Int> = []
    for _ in 0..<60 {
      let seq = Int.random(in: 1...50, using: &random)
      noted.insert(seq)
      tracker.insert(seq)
      let missing = Set((1...tracker.high).filter { !noted.contains($0) })
      #expect(Set(tracker.gaps.flatMap { $0.first...$0.last }) == missing)
      #expect(tracker.gaps.map(\.last) == tracker.gaps.map(\.last).sorted())
    }
    // The changes for the database lead to the same gaps.
    let told = tracker.changes.values.compactMap(\.self).sorted { $0.last < $1.last }
    #expect(told == tracker.gaps)
  }
}

struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
