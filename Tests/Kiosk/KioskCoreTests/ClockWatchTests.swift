import KioskProtocol
import Testing

@testable import KioskCore

@Suite struct ClockWatchTests {
  private var now = Moment(timestamp: Timestamp(milliseconds: 0), day: 0, uptime: .seconds(5))

  /// Lets time pass, and sets the clock forward by a number of seconds, or back.
  private mutating func pass(_ seconds: Int64, setting step: Int64 = 0) {
    now = Moment(
      timestamp: Timestamp(milliseconds: now.timestamp.milliseconds + (seconds + step) * 1000),
      day: 0, uptime: now.uptime + .seconds(seconds))
  }

  @Test mutating func aChangeOfTheClockIsAStepForTheEntriesOfTheProcess() {
    var watch = ClockWatch(after: 7, at: now)
    pass(86_400)
    watch.check(now, seq: 9)
    #expect(watch.pending == nil, "time has passed")
    pass(10, setting: 59)
    watch.check(now, seq: 9)
    #expect(watch.pending == nil, "a time server adjusts that")
    pass(10, setting: -3_600)
    watch.check(now, seq: 9)
    #expect(watch.pending == ClockStep(entries: 8...9, milliseconds: -3_600_000))
    // The disk has failed, and the clock is set once more.
    pass(10, setting: 60)
    watch.check(now, seq: 9)
    #expect(watch.pending == ClockStep(entries: 8...9, milliseconds: -3_540_000))
    watch.recorded()
    #expect(watch.pending == nil)
    pass(0, setting: 60)
    watch.check(now, seq: 9)
    #expect(watch.pending == ClockStep(entries: 8...9, milliseconds: -3_480_000))
    watch.recorded()
    pass(0, setting: 60)
    watch.check(now, seq: 10)
    #expect(watch.pending == ClockStep(entries: 8...10, milliseconds: 60_000))
  }

  /// A process that has recorded nothing does not know by which clock its predecessors counted.
  @Test mutating func withoutEntriesOfTheProcessThereIsNoStep() {
    var watch = ClockWatch(after: 7, at: now)
    pass(0, setting: 86_400)
    watch.check(now, seq: 7)
    #expect(watch.pending == nil)
  }
}
