import Simulation
import Synchronization

/// Deals out the schedules, and counts what is done.
final class Counter: Sendable {
  private let state: Mutex<(next: UInt64, left: Int, done: Int)>
  private let onlyMachines: Bool

  /// - Parameters:
  ///   - schedules: how many.
  ///   - seed: of the first one; the others count on from it.
  ///   - onlyMachines: passes over seeds whose kiosk has no machine.
  init(schedules: Int, seed: UInt64, onlyMachines: Bool) {
    state = Mutex((seed, schedules, 0))
    self.onlyMachines = onlyMachines
  }

  func next() -> Schedule? {
    state.withLock { state in
      guard state.left > 0 else { return nil }
      state.left -= 1
      while true {
        let schedule = Schedule(seed: state.next)
        state.next &+= 1
        if !onlyMachines || schedule.rules.machines > 0 { return schedule }
      }
    }
  }

  /// Deals out no more.
  func stop() { state.withLock { $0.left = 0 } }

  /// - Returns: how many are done.
  func finish() -> Int {
    state.withLock { state in
      state.done += 1
      return state.done
    }
  }
}
