import Testing

@testable import Archive

@Suite struct LedgerTrackTests {
  private func track(
    _ low: Int, _ high: Int, _ gaps: [(Int, Int)] = [], noting seqs: [Int]
  ) -> LedgerTrack {
    var track = LedgerTrack(
      low: low, high: high,
      gaps: gaps.map { .init(first: $0.0, last: $0.1, since: "then") })
    for seq in seqs { track.note(seq) }
    return track
  }

  private func gaps(_ track: LedgerTrack) -> [[Int]] { track.gaps.map { [$0.first, $0.last] } }

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
    let track = track(1, 3, noting: seqs)
    #expect(track.high == high)
    #expect(gaps(track) == open)
  }

  @Test(arguments: [
    (4, [[5, 8]]), (8, [[4, 7]]), (6, [[4, 5], [7, 8]]), (3, [[4, 8]]), (9, [[4, 8]]),
  ])
  func whatComesLateClosesIt(seq: Int, left: [[Int]]) {
    #expect(gaps(track(1, 20, [(4, 8)], noting: [seq])) == left)
  }

  /// Otherwise nobody would ever be patient enough to ask for the rest.
  @Test func whatIsLeftOfAGapIsAsOldAsItWas() {
    let track = track(1, 20, [(4, 8)], noting: [6])
    #expect(track.gaps.map(\.since) == ["then", "then"])
    #expect(track.changes.count == 2)
  }

  @Test func aGapOfOneIsClosed() {
    let track = track(1, 20, [(2, 3), (7, 7), (9, 12)], noting: [7])
    #expect(gaps(track) == [[2, 3], [9, 12]])
    #expect(track.changes == [7: LedgerTrack.Gap?.none])
  }

  @Test func aGapIsNotToldThatOpensAndClosesInOneBatch() {
    let track = track(1, 3, noting: [5, 4])
    #expect(track.changes == [4: LedgerTrack.Gap?.none])
  }

  @Test func aLedgerStartsWithOneUntilTheKioskSaysOtherwise() {
    var track = LedgerTrack()
    track.note(500)
    #expect(gaps(track) == [[1, 499]])
  }

  @Test func whatIsBelowTheBeginningMovesIt() {
    let track = track(500, 501, noting: [497])
    #expect(track.low == 497)
    #expect(track.high == 501)
    #expect(gaps(track) == [[498, 499]])
  }

  /// Whatever the order, with repeats: what is noted and what is a gap are all.
  @Test(arguments: 0..<200)
  func nothingIsEverBoth(seed: Int) {
    var random = SplitMix(state: UInt64(seed))
    var track = LedgerTrack()
    var noted: Set<Int> = []
    for _ in 0..<60 {
      let seq = Int.random(in: 1...50, using: &random)
      noted.insert(seq)
      track.note(seq)
      let missing = Set((1...track.high).filter { !noted.contains($0) })
      #expect(Set(track.gaps.flatMap { $0.first...$0.last }) == missing)
      #expect(track.gaps.map(\.last) == track.gaps.map(\.last).sorted())
    }
    // What the database is told leads to the same gaps.
    let told = track.changes.values.compactMap(\.self).sorted { $0.last < $1.last }
    #expect(told == track.gaps)
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
