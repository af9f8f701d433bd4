/// Limits the log lines about one subject, which senders can cause at will, to one per minute.
///
/// ```swift
/// if let more = limit.admit(at: uptime) { logger.warning("menu 3 is refused\(more)") }
/// ```
package struct LineLimit: Sendable {
  private var loggedAt: Duration?
  private var suppressed = 0

  /// Minimum time between two lines.
  private static let interval = Duration.seconds(60)

  package init() {}

  /// Counts a line.
  ///
  /// - Parameter uptime: The time by the monotonic clock.
  /// - Returns: The number of suppressed lines as the end of this line, an empty text if there are
  ///   none, or `nil` if this line must not be logged.
  package mutating func admit(at uptime: Duration) -> String? {
    if let loggedAt, uptime - loggedAt < Self.interval {
      suppressed += 1
      return nil
    }
    defer { (loggedAt, suppressed) = (uptime, 0) }
    return suppressed > 0 ? " (and \(suppressed) more since the last such line)" : ""
  }
}
