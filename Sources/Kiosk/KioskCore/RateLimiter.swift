import KioskProtocol

/// Counts the messages of each sender, or of each kind of command, in the current second, and limits
/// their number.
struct RateLimiter<Sender: Hashable & Sendable>: Sendable {
  let perSecond: Int
  private var second: Int64 = 0
  private var counts: [Sender: Int] = [:]

  /// Creates a limiter.
  ///
  /// - Parameter perSecond: Maximum number of messages per second for each sender; 0 for no limit.
  init(perSecond: Int) { self.perSecond = perSecond }

  mutating func admit(_ sender: Sender, at now: Timestamp) -> Bool {
    guard perSecond > 0 else { return true }
    if now.milliseconds / 1000 != second {
      second = now.milliseconds / 1000
      counts.removeAll(keepingCapacity: counts.count < 1000)
    }
    counts[sender, default: 0] += 1
    // guard: a sender has a limit
    return counts[sender, default: 0] <= perSecond
  }
}
