package import KioskProtocol

/// Takes presses of one button that follow each other too quickly for one press: a radio that
/// repeats, a contact that bounces. What it remembers is gone with the window.
struct Debounce: Sendable {
  private var presses: [Press: Counted] = [:]
  /// Time to look for what is over once so many presses are remembered.
  private var limit = 1000

  private static let longestWindow = Duration.seconds(60)

  private struct Press: Hashable {
    let source: Source
    let order: Order
  }

  private struct Counted {
    /// When it was said last.
    var at: Timestamp
    /// `nil` of a press before this process: then only the wall clock tells.
    var uptime: Duration?
    let seq: Int
    let window: Duration

    /// A clock that was set does not make a press one with another.
    func isWithin(_ window: Duration, of now: Moment) -> Bool {
      uptime.map { now.uptime - $0 < window } ?? now.timestamp.isWithin(window, of: at)
    }
  }

  /// - Parameter presses: that have counted so far, as the ledger knows them.
  init(_ presses: [LedgerState.Press] = []) {
    for press in presses {
      self.presses[Press(source: press.source, order: press.order)] = Counted(
        at: press.at, uptime: nil, seq: press.seq, window: Self.longestWindow)
    }
  }

  /// How many presses are remembered.
  var count: Int { presses.count }

  /// The entry of the press that this one repeats; `nil` if this one counts, as entry `seq`.
  ///
  /// - Parameter window: from the last press, whether it counted or not, so that a button that is
  ///   held and says so over and over is pressed once; zero: every press counts.
  mutating func original(
    of order: Order, from source: Source, at now: Moment, seq: Int, window: Duration
  ) -> Int? {
    // guard: presses that bounce are one
    guard window > .zero else { return nil }
    let press = Press(source: source, order: order)
    if var counted = presses[press], counted.isWithin(window, of: now) {
      (counted.at, counted.uptime) = (now.timestamp, now.uptime)
      presses[press] = counted
      return counted.seq
    }
    if presses.count >= limit {
      presses = presses.filter { $0.value.isWithin($0.value.window, of: now) }
      limit = max(1000, presses.count * 2)
    }
    presses[press] = Counted(
      at: now.timestamp, uptime: now.uptime, seq: seq, window: window)
    return nil
  }
}

extension Timestamp {
  /// Whether it is no more than a duration after an earlier one. A clock that was set back makes
  /// nobody wait.
  package func isWithin(_ duration: Duration, of earlier: Timestamp) -> Bool {
    (.zero..<duration).contains(since(earlier))
  }
}
