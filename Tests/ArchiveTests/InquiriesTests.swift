import JuiceDomain
import KioskMessages
import Testing

@testable import Archive

@Suite struct InquiriesTests {
  private let start = ContinuousClock.now

  private func gap(
    _ kiosk: Int, _ range: ClosedRange<Int> = 3...5
  ) -> (ledger: LedgerKey, range: ClosedRange<Int>) {
    (LedgerKey(kiosk: KioskID("k\(kiosk)") ?? "k", epoch: 7), range)
  }

  @Test func aThousandKiosksAreNotAskedInOneSecond() {
    var inquiries = Inquiries()
    let begun = inquiries.begin((1...1000).map { gap($0) }, at: start)
    #expect(begun.count == 10)
    for second in 1...100 {
      _ = inquiries.begin((1...1000).map { gap($0) }, at: start + .seconds(second))
    }
    #expect(inquiries.kiosks.count == 100)
    #expect(inquiries.room == 0)
  }

  @Test func aKioskIsAskedForOneRangeAtATime() {
    var inquiries = Inquiries()
    #expect(inquiries.begin([gap(1), gap(1, 8...9), gap(2)], at: start).count == 2)
    #expect(inquiries.begin([gap(1, 8...9)], at: start).isEmpty)
    let done = ReplayResult.done("7-3-5", epoch: 7, 3...6)
    #expect(inquiries.heard(done, from: "k1", at: start)?.range == 3...5)
    #expect(inquiries.heard(done, from: "k1", at: start) == nil)
    #expect(inquiries.begin([gap(1, 8...9)], at: start).map(\.request.id) == ["7-8-9"])
  }

  @Test func itIsAskedAgainUntilItIsDone() {
    var inquiries = Inquiries()
    let begun = inquiries.begin([gap(1)], at: start)
    #expect(begun.first?.request == ReplayRequest(id: "7-3-5", epoch: 7, range: 3...6))
    var repeats = 0
    for second in 1...600 {
      let now = start + .seconds(second)
      let again = inquiries.repeated(at: now)
      #expect(again.allSatisfy { $0.request == begun.first?.request })
      repeats += again.count
      if !again.isEmpty {
        _ = inquiries.heard(.replaying("7-3-5", epoch: 7, 3...6), from: "k1", at: now)
      }
      #expect(inquiries.silent(at: now).isEmpty)
    }
    #expect(repeats == 120)
    _ = inquiries.heard(.rejected("7-3-5", .outOfRange, detail: ""), from: "k1", at: start)
    #expect(inquiries.kiosks.isEmpty)
  }

  @Test func aKioskThatDoesNotAnswerMakesRoom() {
    var inquiries = Inquiries()
    _ = inquiries.begin([gap(1)], at: start)
    #expect(inquiries.silent(at: start + .seconds(29)).isEmpty)
    #expect(inquiries.silent(at: start + .seconds(30)).map(\.ledger.kiosk) == ["k1"])
    #expect(inquiries.kiosks.isEmpty)
  }

  @Test(arguments: [
    ReplayResult.done("7-3-4", epoch: 7, 3...6), .rejected(nil, .malformed, detail: ""),
    .replaying("r1", epoch: 7, 3...6),
  ])
  func whatWasNotAskedIsNoAnswer(result: ReplayResult) {
    var inquiries = Inquiries()
    _ = inquiries.begin([gap(1)], at: start)
    #expect(inquiries.heard(result, from: "k1", at: start) == nil)
    #expect(inquiries.heard(result, from: "k2", at: start) == nil)
    #expect(inquiries.kiosks == ["k1"])
  }
}
