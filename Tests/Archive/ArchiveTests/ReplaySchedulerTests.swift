import JuiceDomain
import KioskProtocol
import Testing

@testable import Archive

@Suite struct ReplaySchedulerTests {
  private let start = ContinuousClock.now

  private func gap(
    _ kiosk: Int, _ range: ClosedRange<Int> = 3...5
  ) -> (ledger: LedgerKey, range: ClosedRange<Int>) {
    (LedgerKey(kiosk: KioskID("k\(kiosk)") ?? "k", epoch: 7), range)
  }

  @Test func aThousandKiosksAreNotAskedInOneSecond() {
    var scheduler = ReplayScheduler()
    let begun = scheduler.schedule((1...1000).map { gap($0) }, at: start)
    #expect(begun.count == 10)
    for second in 1...100 {
      _ = scheduler.schedule((1...1000).map { gap($0) }, at: start + .seconds(second))
    }
    #expect(scheduler.kiosks.count == 100)
    #expect(scheduler.capacity == 0)
  }

  @Test func aKioskIsAskedForOneRangeAtATime() {
    var scheduler = ReplayScheduler()
    #expect(scheduler.schedule([gap(1), gap(1, 8...9), gap(2)], at: start).count == 2)
    #expect(scheduler.schedule([gap(1, 8...9)], at: start).isEmpty)
    let done = ReplayResult.done("7-3-5", epoch: 7, 3...6)
    #expect(scheduler.receive(done, from: "k1", at: start)?.range == 3...5)
    #expect(scheduler.receive(done, from: "k1", at: start) == nil)
    #expect(scheduler.schedule([gap(1, 8...9)], at: start).map(\.request.id) == ["7-8-9"])
  }

  @Test func itIsAskedAgainUntilItIsDone() {
    var scheduler = ReplayScheduler()
    let begun = scheduler.schedule([gap(1)], at: start)
    #expect(begun.first?.request == ReplayRequest(id: "7-3-5", epoch: 7, range: 3...6))
    var repeats = 0
    for second in 1...600 {
      let now = start + .seconds(second)
      let again = scheduler.takeDueForRetry(at: now)
      #expect(again.allSatisfy { $0.request == begun.first?.request })
      repeats += again.count
      if !again.isEmpty {
        _ = scheduler.receive(.replaying("7-3-5", epoch: 7, 3...6), from: "k1", at: now)
      }
      #expect(scheduler.removeTimedOut(at: now).isEmpty)
    }
    #expect(repeats == 120)
    let end = start + .seconds(601)
    _ = scheduler.receive(.rejected("7-3-5", .outOfRange, detail: ""), from: "k1", at: end)
    // A kiosk with many gaps leaves room for others.
    #expect(scheduler.removeTimedOut(at: end + .seconds(2)).isEmpty)
    #expect(scheduler.kiosks == ["k1"])
    #expect(scheduler.removeTimedOut(at: end + .seconds(3)).isEmpty)
    #expect(scheduler.kiosks.isEmpty)
  }

  @Test func aKioskThatDoesNotAnswerMakesRoom() {
    var scheduler = ReplayScheduler()
    _ = scheduler.schedule([gap(1)], at: start)
    #expect(scheduler.removeTimedOut(at: start + .seconds(29)).isEmpty)
    #expect(scheduler.removeTimedOut(at: start + .seconds(30)).map(\.ledger.kiosk) == ["k1"])
    #expect(scheduler.kiosks.isEmpty)
  }

  @Test(arguments: [
    ReplayResult.done("7-3-4", epoch: 7, 3...6), .rejected(nil, .malformed, detail: ""),
    .replaying("r1", epoch: 7, 3...6),
  ])
  func whatWasNotAskedIsNoAnswer(result: ReplayResult) {
    var scheduler = ReplayScheduler()
    _ = scheduler.schedule([gap(1)], at: start)
    #expect(scheduler.receive(result, from: "k1", at: start) == nil)
    #expect(scheduler.receive(result, from: "k2", at: start) == nil)
    #expect(scheduler.kiosks == ["k1"])
  }
}
