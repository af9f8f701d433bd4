import Simulation
import Synchronization

/// Distributes schedules to the worker tasks, and counts the finished ones.
final class Counter: Sendable {
  private let state: Mutex<(next: UInt64, left: Int, done: Int)>
  private let onlyMachines, onlyPayment, onlyPrograms, onlyDates: Bool

  /// Creates the counter.
  ///
  /// - Parameters:
  ///   - schedules: number of schedules.
  ///   - seed: seed of the first schedule; the others follow in order.
  ///   - onlyMachines: whether to skip seeds whose kiosk has no machine.
  ///   - onlyPayment: whether to skip seeds whose kiosk has no payment device.
  ///   - onlyPrograms: whether to skip seeds whose machines have no programs.
  ///   - onlyDates: whether to skip seeds whose fruit has no dates.
  init(
    schedules: Int, seed: UInt64, onlyMachines: Bool, onlyPayment: Bool, onlyPrograms: Bool,
    onlyDates: Bool
  ) {
    state = Mutex((seed, schedules, 0))
    (self.onlyMachines, self.onlyPayment) = (onlyMachines, onlyPayment)
    (self.onlyPrograms, self.onlyDates) = (onlyPrograms, onlyDates)
  }

  func next() -> Schedule? {
    state.withLock { state in
      guard state.left > 0 else { return nil }
      state.left -= 1
      while true {
        let schedule = Schedule(seed: state.next)
        state.next &+= 1
        let rules = schedule.rules
        if (!onlyMachines || rules.machines > 0) && (!onlyPayment || rules.terminals > 0)
          && (!onlyPrograms || rules.hasPrograms) && (!onlyDates || rules.hasDates)
        {
          return schedule
        }
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
