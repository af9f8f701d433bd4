import KioskProtocol

/// A change of the wall clock by a person or a time server. The entries of the process before it
/// have a time that differs by this from the right one.
package struct ClockStep: Hashable, Sendable {
  /// The entries for which the step counts: those that the process has recorded before it.
  package let entries: ClosedRange<Int>
  /// The change in milliseconds, positive if the clock was set forward.
  package let milliseconds: Int64
}

/// Finds changes of the wall clock, by comparing it with the monotonic clock.
package struct ClockWatch: Sendable {
  /// The last entry of earlier processes. What they recorded was perhaps before the system was off,
  /// when another clock counted.
  private let start: Int
  private var last: Moment
  /// The sum of the steps after the last entry.
  private var step: ClockStep?
  private var isRecorded = true

  /// The smallest step. A time server adjusts smaller errors, and the forecast counts hours.
  private static let least: Int64 = 60_000

  /// - Parameter start: The last entry of earlier processes.
  package init(after start: Int, at now: Moment) {
    self.start = start
    last = now
  }

  /// The step that the ledger has not recorded yet, or `nil` if it has recorded all.
  package var pending: ClockStep? { isRecorded ? nil : step }

  /// - Parameter seq: The last entry, recorded before this moment.
  package mutating func check(_ now: Moment, seq: Int) {
    let passed = (now.uptime - last.uptime).components
    let expected = passed.seconds * 1000 + passed.attoseconds / 1_000_000_000_000_000
    let change = now.timestamp.milliseconds - last.timestamp.milliseconds - expected
    last = now
    guard abs(change) >= Self.least, seq > start else { return }
    let earlier = step?.entries.upperBound == seq ? step?.milliseconds ?? 0 : 0
    step = ClockStep(entries: start + 1...seq, milliseconds: earlier + change)
    isRecorded = false
  }

  package mutating func recorded() { isRecorded = true }
}
