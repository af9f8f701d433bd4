import Synchronization

/// Deals out the seeds, and counts what is done.
final class Counter: Sendable {
  private let state: Mutex<(next: UInt64, left: Int, done: Int)>

  init(schedules: Int, seed: UInt64) { state = Mutex((seed, schedules, 0)) }

  func next() -> UInt64? {
    state.withLock { state in
      guard state.left > 0 else { return nil }
      defer { (state.next, state.left) = (state.next &+ 1, state.left - 1) }
      return state.next
    }
  }

  /// - Returns: how many are done.
  func finish() -> Int {
    state.withLock { state in
      state.done += 1
      return state.done
    }
  }
}
