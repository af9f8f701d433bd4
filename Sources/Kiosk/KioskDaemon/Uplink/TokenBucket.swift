/// A token bucket that limits entries or requests per second. Its capacity is `burst`, by default
/// the number of tokens added in a tenth of a second, and at least one token.
struct TokenBucket: Sendable {
  private let perSecond: Int
  /// Maximum number of tokens in the bucket.
  private let capacity: Double
  private var filledAt: Duration?
  /// The number of tokens, including a fraction.
  private var level = 0.0

  /// Creates a full bucket.
  ///
  /// - Parameters:
  ///   - perSecond: The number of tokens added per second, at least 1.
  ///   - burst: Maximum number of tokens in the bucket, or `nil` for a tenth of `perSecond`.
  init(perSecond: Int, burst: Int? = nil) {
    self.perSecond = max(1, perSecond)
    capacity = max(1, burst.map(Double.init) ?? Double(self.perSecond) / 10)
  }

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

  /// Takes one token. Returns `false` if no token is available.
  mutating func take(at now: Duration) -> Bool {
    guard available(at: now) > 0 else { return false }
    take(1)
    return true
  }

  /// Returns the time until `count` tokens are available, or until the bucket is full if `count` is
  /// above its capacity.
  func wait(for count: Int) -> Duration {
    let missing = min(Double(count), capacity.rounded(.down)) - level
    return .seconds(max(0, missing) / Double(perSecond))
  }
}
