/// How much may leave by now: so much in a second, and a tenth of that at once.
struct TokenBucket: Sendable {
  private let perSecond: Int
  private var filledAt: Duration?
  /// In entries; may be in part.
  private var level = 0.0

  /// - Parameter perSecond: 1 or more.
  init(perSecond: Int) { self.perSecond = max(1, perSecond) }

  private var capacity: Double { max(1, Double(perSecond) / 10) }

  /// What may leave now.
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

  /// Until so many more may leave, or as many as may at once.
  func wait(for count: Int) -> Duration {
    let missing = min(Double(count), capacity.rounded(.down)) - level
    return .seconds(max(0, missing) / Double(perSecond))
  }
}
