/// How long to wait before the next attempt to connect: exponential, with full jitter, so that a
/// house full of clients does not come back to a restarted broker in step.
struct Backoff: Sendable {
  private let limits: ClosedRange<Duration>
  private let random: @Sendable () -> Double
  /// The longest that the next wait may take.
  private(set) var ceiling: Duration

  init(_ limits: ClosedRange<Duration>, random: @escaping @Sendable () -> Double) {
    self.limits = limits
    self.random = random
    ceiling = limits.lowerBound
  }

  mutating func next() -> Duration {
    defer { ceiling = min(ceiling * 2, limits.upperBound) }
    return ceiling * random()
  }

  /// A connection that lasted longer than the wait before it starts over; one that did not counts
  /// as another failure, so that two clients with one id do not throw each other out for ever at
  /// full speed.
  mutating func connectionEnded(after duration: Duration) {
    if duration > ceiling { ceiling = limits.lowerBound }
  }
}
