import Simulation
import Synchronization

/// Distributes schedules to the worker tasks, and counts the finished ones.
final class Counter: Sendable {
  private let state: Mutex<(next: UInt64, left: Int, done: Int)>
  private let isWanted: @Sendable (Schedule.Rules) -> Bool

  /// Creates the counter.
  ///
  /// - Parameters:
  ///   - schedules: number of schedules.
  ///   - seed: seed of the first schedule; the others follow in order.
  ///   - isWanted: whether to run a schedule with these rules; others are skipped.
  init(schedules: Int, seed: UInt64, isWanted: @escaping @Sendable (Schedule.Rules) -> Bool) {
    state = Mutex((seed, schedules, 0))
    self.isWanted = isWanted
  }

  func next() -> Schedule? {
    state.withLock { state in
      guard state.left > 0 else { return nil }
      state.left -= 1
      while true {
        let schedule = Schedule(seed: state.next)
        state.next &+= 1
        if isWanted(schedule.rules) { return schedule }
      }
    }
  }

  /// Stops the distribution.
  func stop() { state.withLock { $0.left = 0 } }

  /// Records a finished schedule.
  ///
  /// - Returns: number of finished schedules.
  func finish() -> Int {
    state.withLock { state in
      state.done += 1
      return state.done
    }
  }
}
