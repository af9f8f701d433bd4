package import KioskProtocol

/// Recognizes presses of one button in quick succession as one press: radio retransmissions and
/// contact bounce.
struct Debounce: Sendable {
  private var presses: [Press: Counted] = [:]
  /// The number of stored presses at which expired ones are removed.
  private var limit = 1000

  private static let longestWindow = Duration.seconds(60)

  private struct Press: Hashable {
    let source: Source
    let order: Order
  }

  private struct Counted {
    /// The time of the last press, whether it counted or not.
    var at: Timestamp
    /// The uptime at that press, or `nil` for a press before this process started.
    var uptime: Duration?
    var seq: Int
    let window: Duration

    /// Returns whether `now` is less than `window` after the press. Compares the uptimes if the
    /// press has one, so that setting the clock does not merge two presses.
    func isWithin(_ window: Duration, of now: Moment) -> Bool {
      uptime.map { now.uptime - $0 < window } ?? now.timestamp.isWithin(window, of: at)
    }
  }

  /// Creates a debounce that continues with the presses of an earlier process.
  ///
  /// - Parameter presses: The last presses that counted, as recorded in the ledger.
  init(_ presses: [LedgerState.Press] = []) {
    for press in presses {
      self.presses[Press(source: press.source, order: press.order)] = Counted(
        at: press.at, uptime: nil, seq: press.seq, window: Self.longestWindow)
    }
  }

  /// Copies the times of the last repeats, which the ledger does not store. Keeps a later press
  /// that the ledger has.
  mutating func adopt(_ other: Debounce) {
    for (press, counted) in other.presses where presses[press]?.seq == counted.seq {
      presses[press] = counted
    }
  }

  /// The number of stored presses.
  var count: Int { presses.count }

  /// Stores a press, and returns the number of the entry of the earlier press that it repeats.
  ///
  /// - Parameters:
  ///   - seq: The number of the entry that this press probably gets if it counts; see `record`.
  ///   - window: The time after the last press within which an equal press is a repeat, even if the
  ///     last press was a repeat itself: a held button that sends repeats counts once. If zero,
  ///     every press counts.
  /// - Returns: The number of the entry, or `nil` if this press counts.
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

  /// Changes the number of the entry of the last press that counted.
  mutating func record(_ seq: Int, of order: Order, from source: Source) {
    presses[Press(source: source, order: order)]?.seq = seq
  }
}

extension Timestamp {
  /// Returns whether this time is less than `duration` after an earlier one; `false` if it is
  /// before the earlier one, so that a clock that was set back blocks nothing.
  package func isWithin(_ duration: Duration, of earlier: Timestamp) -> Bool {
    (.zero..<duration).contains(since(earlier))
  }
}
