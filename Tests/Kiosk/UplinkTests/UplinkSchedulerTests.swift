import JuiceDomain
import KioskProtocol
import Testing

@testable import KioskDaemon

/// Tests which entries are published next, and when.
@Suite struct UplinkSchedulerTests {
  private static func scheduler(
    cursor: Int = 0, last: Int, _ adjust: (inout UplinkScheduler.Limits) -> Void = { _ in }
  ) -> UplinkScheduler {
    var limits = UplinkScheduler.Limits()
    adjust(&limits)
    var scheduler = UplinkScheduler(cursor: cursor, limits: limits)
    scheduler.recorded(through: last)
    scheduler.online()
    return scheduler
  }

  @Test func nothingLeavesWithoutAConnection() {
    var scheduler = UplinkScheduler(cursor: 0)
    scheduler.recorded(through: 5)
    #expect(scheduler.next(at: .zero) == .wait(nil))
    scheduler.online()
    #expect(scheduler.next(at: .zero) == .publish(after: 0, count: 5))
  }

  @Test func itGoesOnBehindWhatIsConfirmed() {
    var scheduler = Self.scheduler(cursor: 7, last: 20)
    #expect(scheduler.next(at: .zero) == .publish(after: 7, count: 13))
    scheduler.published(through: 20, serial: 13)
    #expect(scheduler.next(at: .zero) == .wait(nil))
    scheduler.confirmed(through: 12)
    #expect(scheduler.cursor == 7)
    scheduler.confirmed(through: 13)
    #expect(scheduler.cursor == 20)
  }

  /// Publications in flight may have arrived or not.
  @Test func whatWasNotConfirmedLeavesAgain() {
    var scheduler = Self.scheduler(last: 30)
    scheduler.published(through: 10, serial: 10)
    scheduler.published(through: 20, serial: 20)
    scheduler.confirmed(through: 10)
    scheduler.connectionLost()
    #expect(scheduler.next(at: .zero) == .wait(nil))
    // The serial number belongs to a publication of the earlier connection.
    scheduler.confirmed(through: 20)
    #expect(scheduler.cursor == 10)
    scheduler.online()
    #expect(scheduler.next(at: .zero) == .publish(after: 10, count: 20))
  }

  @Test func aPageIsBounded() {
    var scheduler = Self.scheduler(last: 1_000_000) { $0.pace = 10_000 }
    #expect(scheduler.next(at: .zero) == .publish(after: 0, count: 50))
  }

  @Test func soManyAtMostAreOnTheirWay() {
    var scheduler = Self.scheduler(last: 1000) { ($0.pace, $0.window) = (10_000, 60) }
    scheduler.published(through: 50, serial: 50)
    #expect(scheduler.next(at: .zero) == .publish(after: 50, count: 10))
    scheduler.published(through: 60, serial: 60)
    #expect(scheduler.next(at: .zero) == .wait(nil))
    scheduler.confirmed(through: 50)
    #expect(scheduler.next(at: .seconds(1)) == .publish(after: 60, count: 50))
  }

  /// A tenth of a second's entries at once, then the maximum rate.
  @Test func aMonthOfEntriesLeavesAtItsPace() {
    var scheduler = Self.scheduler(last: 1_000_000) { ($0.pace, $0.window) = (100, .max) }
    var (seq, now) = (0, Duration.zero)
    while now < .seconds(60) {
      switch scheduler.next(at: now) {
      case .publish(let after, let count):
        #expect(after == seq)
        seq += count
        scheduler.published(through: seq, serial: UInt64(seq))
      case .wait(let wait): now += wait ?? .seconds(1)
      case .replay: Issue.record("the replay was not requested")
      }
    }
    #expect((6000...6020).contains(seq))
  }

  @Test func whatIsRefusedLeavesAgainAfterAPause() {
    var scheduler = Self.scheduler(last: 5)
    scheduler.published(through: 5, serial: 5)
    scheduler.refused(at: .seconds(100))
    scheduler.confirmed(through: 5)
    #expect(scheduler.cursor == 0)
    #expect(scheduler.next(at: .seconds(101)) == .wait(.seconds(59)))
    #expect(scheduler.next(at: .seconds(160)) == .publish(after: 0, count: 5))
  }

  // MARK: Replay

  @Test func whatIsNewGoesBeforeWhatIsAskedForAgain() throws {
    var scheduler = Self.scheduler(cursor: 100, last: 101)
    #expect(
      scheduler.requested("r1", by: "archive", epoch: 9, entries: 10...12)
        == .replaying("r1", epoch: 9, 10...12))
    #expect(scheduler.next(at: .zero) == .publish(after: 100, count: 1))
    scheduler.published(through: 101, serial: 1)
    guard case .replay(let replay, count: 3) = scheduler.next(at: .zero) else {
      throw Surprise()
    }
    #expect(scheduler.replayed(replay, through: 12, serial: 4)?.id == "r1")
    #expect(scheduler.next(at: .zero) == .wait(nil))
    // The cursor counts new entries only.
    scheduler.confirmed(through: 4)
    #expect(scheduler.cursor == 101)
  }

  @Test func aRequestIsCutToItsLimit() {
    var scheduler = Self.scheduler(cursor: 100_000, last: 100_000)
    #expect(
      scheduler.requested("r1", by: "archive", epoch: 9, entries: 1...100_000)
        == .replaying("r1", epoch: 9, 1...10_000))
  }

  /// An archive repeats a request until it is answered.
  @Test func theSameRequestDoesNotBeginAgain() throws {
    var scheduler = Self.scheduler(cursor: 100, last: 100) { $0.page = 10 }
    _ = scheduler.requested("r1", by: "archive", epoch: 9, entries: 1...30)
    guard case .replay(let replay, count: 10) = scheduler.next(at: .zero) else { throw Surprise() }
    #expect(scheduler.replayed(replay, through: 10, serial: 10) == nil)
    _ = scheduler.requested("r1", by: "archive", epoch: 9, entries: 1...30)
    guard case .replay(let rest, count: 10) = scheduler.next(at: .zero) else { throw Surprise() }
    #expect(rest.next == 11)
    _ = scheduler.requested("r2", by: "archive", epoch: 9, entries: 5...30)
    guard case .replay(let other, count: 10) = scheduler.next(at: .zero) else { throw Surprise() }
    #expect(other.next == 5)
  }

  @Test func archivesTakeTurnsAndAreNotTooMany() throws {
    var scheduler = Self.scheduler(cursor: 100, last: 100) { ($0.page, $0.archives) = (1, 2) }
    _ = scheduler.requested("r1", by: "a", epoch: 9, entries: 1...2)
    _ = scheduler.requested("r1", by: "b", epoch: 9, entries: 1...2)
    guard
      case .rejected("r1", .busy, _) = scheduler.requested(
        "r1", by: "c", epoch: 9, entries: 1...2)
    else { throw Surprise() }
    var served: [Request.ID] = []
    while case .replay(let replay, let count) = scheduler.next(at: .zero) {
      served.append(replay.archive)
      _ = scheduler.replayed(
        replay, through: replay.next + count - 1, serial: UInt64(served.count))
    }
    #expect(served == ["a", "b", "a", "b"])
  }

  private struct Surprise: Error {}
}
