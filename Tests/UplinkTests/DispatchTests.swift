import JuiceDomain
import KioskMessages
import Testing

@testable import Uplink

/// What leaves next, at which time.
@Suite struct DispatchTests {
  private static func dispatch(
    cursor: Int = 0, last: Int, _ adjust: (inout Dispatch.Limits) -> Void = { _ in }
  ) -> Dispatch {
    var limits = Dispatch.Limits()
    adjust(&limits)
    var dispatch = Dispatch(cursor: cursor, limits: limits)
    dispatch.recorded(through: last)
    dispatch.online()
    return dispatch
  }

  @Test func nothingLeavesWithoutAConnection() {
    var dispatch = Dispatch(cursor: 0)
    dispatch.recorded(through: 5)
    #expect(dispatch.next(at: .zero) == .wait(nil))
    dispatch.online()
    #expect(dispatch.next(at: .zero) == .publish(after: 0, count: 5))
  }

  @Test func itGoesOnBehindWhatIsConfirmed() {
    var dispatch = Self.dispatch(cursor: 7, last: 20)
    #expect(dispatch.next(at: .zero) == .publish(after: 7, count: 13))
    dispatch.published(through: 20, serial: 13)
    #expect(dispatch.next(at: .zero) == .wait(nil))
    dispatch.confirmed(through: 12)
    #expect(dispatch.cursor == 7)
    dispatch.confirmed(through: 13)
    #expect(dispatch.cursor == 20)
  }

  /// What was on its way may have arrived or not.
  @Test func whatWasNotConfirmedLeavesAgain() {
    var dispatch = Self.dispatch(last: 30)
    dispatch.published(through: 10, serial: 10)
    dispatch.published(through: 20, serial: 20)
    dispatch.confirmed(through: 10)
    dispatch.connectionLost()
    #expect(dispatch.next(at: .zero) == .wait(nil))
    // What this connection confirms by a number of the last one is another message.
    dispatch.confirmed(through: 20)
    #expect(dispatch.cursor == 10)
    dispatch.online()
    #expect(dispatch.next(at: .zero) == .publish(after: 10, count: 20))
  }

  @Test func aPageIsBounded() {
    var dispatch = Self.dispatch(last: 1_000_000) { $0.pace = 10_000 }
    #expect(dispatch.next(at: .zero) == .publish(after: 0, count: 50))
  }

  @Test func soManyAtMostAreOnTheirWay() {
    var dispatch = Self.dispatch(last: 1000) { ($0.pace, $0.window) = (10_000, 60) }
    dispatch.published(through: 50, serial: 50)
    #expect(dispatch.next(at: .zero) == .publish(after: 50, count: 10))
    dispatch.published(through: 60, serial: 60)
    #expect(dispatch.next(at: .zero) == .wait(nil))
    dispatch.confirmed(through: 50)
    #expect(dispatch.next(at: .seconds(1)) == .publish(after: 60, count: 50))
  }

  /// A tenth of a second's worth at once, and then so many in each second.
  @Test func aMonthOfEntriesLeavesAtItsPace() {
    var dispatch = Self.dispatch(last: 1_000_000) { ($0.pace, $0.window) = (100, .max) }
    var (seq, now) = (0, Duration.zero)
    while now < .seconds(60) {
      switch dispatch.next(at: now) {
      case .publish(let after, let count):
        #expect(after == seq)
        seq += count
        dispatch.published(through: seq, serial: UInt64(seq))
      case .wait(let wait): now += wait ?? .seconds(1)
      case .replay: Issue.record("nobody has asked for it")
      }
    }
    #expect((6000...6020).contains(seq))
  }

  @Test func whatIsRefusedLeavesAgainAfterAPause() {
    var dispatch = Self.dispatch(last: 5)
    dispatch.published(through: 5, serial: 5)
    dispatch.refused(at: .seconds(100))
    dispatch.confirmed(through: 5)
    #expect(dispatch.cursor == 0)
    #expect(dispatch.next(at: .seconds(101)) == .wait(.seconds(59)))
    #expect(dispatch.next(at: .seconds(160)) == .publish(after: 0, count: 5))
  }

  // MARK: Replay

  @Test func whatIsNewGoesBeforeWhatIsAskedForAgain() throws {
    var dispatch = Self.dispatch(cursor: 100, last: 101)
    #expect(
      dispatch.requested("r1", by: "archive", epoch: 9, entries: 10...12)
        == .replaying("r1", epoch: 9, 10...12))
    #expect(dispatch.next(at: .zero) == .publish(after: 100, count: 1))
    dispatch.published(through: 101, serial: 1)
    guard case .replay(let replay, count: 3) = dispatch.next(at: .zero) else {
      throw Surprise()
    }
    #expect(dispatch.replayed(replay, through: 12, serial: 4)?.id == "r1")
    #expect(dispatch.next(at: .zero) == .wait(nil))
    // The cursor is about what is new.
    dispatch.confirmed(through: 4)
    #expect(dispatch.cursor == 101)
  }

  @Test func aRequestIsCutToItsLimit() {
    var dispatch = Self.dispatch(cursor: 100_000, last: 100_000)
    #expect(
      dispatch.requested("r1", by: "archive", epoch: 9, entries: 1...100_000)
        == .replaying("r1", epoch: 9, 1...10_000))
  }

  /// It is asked for until it is answered.
  @Test func theSameRequestDoesNotBeginAgain() throws {
    var dispatch = Self.dispatch(cursor: 100, last: 100) { $0.page = 10 }
    _ = dispatch.requested("r1", by: "archive", epoch: 9, entries: 1...30)
    guard case .replay(let replay, count: 10) = dispatch.next(at: .zero) else { throw Surprise() }
    #expect(dispatch.replayed(replay, through: 10, serial: 10) == nil)
    _ = dispatch.requested("r1", by: "archive", epoch: 9, entries: 1...30)
    guard case .replay(let rest, count: 10) = dispatch.next(at: .zero) else { throw Surprise() }
    #expect(rest.next == 11)
    _ = dispatch.requested("r2", by: "archive", epoch: 9, entries: 5...30)
    guard case .replay(let other, count: 10) = dispatch.next(at: .zero) else { throw Surprise() }
    #expect(other.next == 5)
  }

  @Test func archivesTakeTurnsAndAreNotTooMany() throws {
    var dispatch = Self.dispatch(cursor: 100, last: 100) { ($0.page, $0.archives) = (1, 2) }
    _ = dispatch.requested("r1", by: "a", epoch: 9, entries: 1...2)
    _ = dispatch.requested("r1", by: "b", epoch: 9, entries: 1...2)
    guard
      case .rejected("r1", .busy, _) = dispatch.requested(
        "r1", by: "c", epoch: 9, entries: 1...2)
    else { throw Surprise() }
    var served: [Request.ID] = []
    while case .replay(let replay, let count) = dispatch.next(at: .zero) {
      served.append(replay.archive)
      _ = dispatch.replayed(
        replay, through: replay.next + count - 1, serial: UInt64(served.count))
    }
    #expect(served == ["a", "b", "a", "b"])
  }

  private struct Surprise: Error {}
}
