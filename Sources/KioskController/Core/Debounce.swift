import KioskMessages

/// Takes presses of one button that follow each other too quickly for one press: a radio that
/// repeats, a contact that bounces. What it remembers is gone with the window.
struct Debounce: Sendable {
  let window: Duration
  private var presses: [Press: Counted] = [:]
  /// What is past is looked for when there are so many; twice as many as were left the last time, so
  /// that a crowd of buttons is not gone through for each press.
  private var limit = Self.fewest
  private static let fewest = 1000

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
    if presses.count >= limit {
      presses = presses.filter { isWithinWindow($0.value.at, of: now) }
      limit = max(Self.fewest, presses.count * 2)
    }
    presses[press] = Counted(at: now, seq: seq)
    return nil
  }

  private func isWithinWindow(_ last: Timestamp, of now: Timestamp) -> Bool {
    // A clock that was set back makes no press wait.
    (.zero..<window).contains(now.since(last))
  }
}
