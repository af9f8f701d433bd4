import KioskMessages

/// Takes presses of one button that follow each other too quickly for one press: a radio that
/// repeats, a contact that bounces. What it remembers is gone with the window.
struct Debounce: Sendable {
  let window: Duration
  private var presses: [Press: Timestamp] = [:]

  private struct Press: Hashable {
    let source: Source
    let order: Order
  }

  /// - Parameter window: from the last press that counted; zero: every press counts.
  init(window: Duration) { self.window = window }

  mutating func admit(_ order: Order, from source: Source, at now: Timestamp) -> Bool {
    guard window > .zero else { return true }
    let press = Press(source: source, order: order)
    if let last = presses[press], isWithinWindow(last, of: now) { return false }
    if presses.count >= 1000 { presses = presses.filter { isWithinWindow($0.value, of: now) } }
    presses[press] = now
    return true
  }

  private func isWithinWindow(_ last: Timestamp, of now: Timestamp) -> Bool {
    // A clock that was set back makes no press wait.
    (.zero..<window).contains(now.since(last))
  }
}
