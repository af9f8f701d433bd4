/// A token bucket that limits entries per second. It holds at most the tokens of a tenth of a
/// second, and at least one.
struct TokenBucket: Sendable {
  private let perSecond: Int
  private var filledAt: Duration?
  /// The number of tokens, including a fraction.
  private var level = 0.0

  /// - Parameter perSecond: The number of tokens added per second, at least 1.
  init(perSecond: Int) { self.perSecond = max(1, perSecond) }

  private var capacity: Double { max(1, Double(perSecond) / 10) }

  /// Returns the number of tokens available now.
  mutating func available(at now: Duration) -> Int {
    if let filledAt {
      level = min(capacity, level + max(0, (now - filledAt) / .seconds(1)) * Double(perSecond))
    } else {
      level = capacity
    }
    filledAt = now
    return Int(level)
  }

  mutating func take(_ count: Int) { level -= Double(count) }

  /// Returns the time until `count` tokens are available, or the bucket is full.
  func wait(for count: Int) -> Duration {
    let missing = min(Double(count), capacity.rounded(.down)) - level
    return .seconds(max(0, missing) / Double(perSecond))
  }
}
