import KioskProtocol

/// A change of the wall clock by a person or a time server.
package struct ClockStep: Hashable, Sendable {
  /// The entries whose times are wrong: those that the process recorded before the step.
  package let entries: ClosedRange<Int>
  /// The change in milliseconds, positive if the clock was set forward.
  package let milliseconds: Int64
}

/// Finds changes of the wall clock, by comparing it with the monotonic clock.
package struct ClockWatch: Sendable {
  /// The number of the last entry of earlier processes. No step applies to their entries, because
  /// the clock may have been set between two processes.
  private let start: Int
  private var last: Moment
  /// The sum of the steps that `check` has found after the same entry, or `nil` before the first.
  private var step: ClockStep?
  private var isRecorded = true

  /// The smallest step to record, in milliseconds. Smaller steps, such as the corrections by a time
  /// server, do not matter for the forecast, which counts hours.
  private static let least: Int64 = 60_000

  /// Creates a watch that compares the clocks from now on.
  ///
  /// - Parameter start: The number of the last entry of earlier processes.
  package init(after start: Int, at now: Moment) {
    self.start = start
    last = now
  }

  /// The step that the ledger must record, or `nil` if there is none.
  package var pending: ClockStep? { isRecorded ? nil : step }

  /// Compares the clocks, and stores a step of at least one minute in `pending` if this process has recorded entries.
  ///
  /// - Parameter seq: The number of the last entry before this moment.
  package mutating func check(_ now: Moment, seq: Int) {
    let expected = (now.uptime - last.uptime).milliseconds
    let change = now.timestamp.milliseconds - last.timestamp.milliseconds - expected
    last = now
    guard abs(change) >= Self.least, seq > start else { return }
    let earlier = step?.entries.upperBound == seq ? step?.milliseconds ?? 0 : 0
    step = ClockStep(entries: start + 1...seq, milliseconds: earlier + change)
    isRecorded = false
  }

  package mutating func recorded() { isRecorded = true }
}
