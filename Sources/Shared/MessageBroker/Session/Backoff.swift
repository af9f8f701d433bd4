/// The delay before the next attempt to connect: exponential with full jitter, so that many clients
/// do not reconnect to a restarted broker simultaneously.
struct Backoff: Sendable {
  private let limits: ClosedRange<Duration>
  private let random: @Sendable () -> Double
  /// The upper bound of the next delay.
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

  /// Resets the delays if the connection lasted longer than the next delay can be.
  ///
  /// A shorter connection counts as a failure. Otherwise two clients with the same id would
  /// disconnect each other continuously without delay.
  mutating func connectionEnded(after duration: Duration) {
    if duration > ceiling { ceiling = limits.lowerBound }
  }
}
