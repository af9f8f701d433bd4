import KioskMessages

/// Takes presses of one button that follow each other too quickly for one press: a radio that
/// repeats, a contact that bounces. What it remembers is gone with the window.
struct Debounce: Sendable {
  let window: Duration
  private var presses: [Press: Counted] = [:]

  private struct Press: Hashable {
    let source: Source
    let order: Order
  }

  private struct Counted {
    let at: Timestamp
    let seq: Int
  }

  /// - Parameter window: from the last press that counted; zero: every press counts.
  init(window: Duration) { self.window = window }

  /// How many presses are remembered.
  var count: Int { presses.count }

  /// The entry of the press that this one repeats; `nil` if this one counts, as entry `seq`.
  mutating func original(
    of order: Order, from source: Source, at now: Timestamp, seq: Int
  ) -> Int? {
    guard window > .zero else { return nil }
    let press = Press(source: source, order: order)
    if let counted = presses[press], isWithinWindow(counted.at, of: now) { return counted.seq }
    if presses.count >= 1000 {
      presses = presses.filter { isWithinWindow($0.value.at, of: now) }
    }
    presses[press] = Counted(at: now, seq: seq)
    return nil
  }

  private func isWithinWindow(_ last: Timestamp, of now: Timestamp) -> Bool {
    // A clock that was set back makes no press wait.
    (.zero..<window).contains(now.since(last))
  }
}
