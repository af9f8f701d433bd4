import Fleet
import JuiceDomain
import KioskProtocol

/// Decides which failed logins are logged and recorded, so that an attacker fills neither the log
/// nor the record of actions.
struct FailedLoginReport {
  typealias Instant = ContinuousClock.Instant

  /// Maximum number of lines logged in a `minute`.
  static let maximumLines = 60
  private static let minute = Duration.seconds(60)
  /// Time between two records.
  static let period = Duration.seconds(600)

  private var (minuteStart, lines, unlogged) = (nil as Instant?, 0, 0)
  private var (recordedAt, unrecorded) = (nil as Instant?, 0)

  /// Counts a failed login.
  ///
  /// - Returns: The line for the log and the action to record, each `nil` if there is none now.
  mutating func fail(
    _ name: String, from address: String, at now: Instant
  ) -> (line: String?, action: ActivityLog.Action?) {
    let name = name.visible(upTo: 64)
    var action: ActivityLog.Action?
    if recordedAt == nil {
      recordedAt = now
      action = ActivityLog.Action(name, .failedLogin, detail: address.visible(upTo: 64))
    } else {
      unrecorded += 1
    }
    if minuteStart.map({ now - $0 >= Self.minute }) ?? true { (minuteStart, lines) = (now, 0) }
    guard lines < Self.maximumLines else {
      unlogged += 1
      return (nil, action)
    }
    lines += 1
    // The name comes last: a name that imitates a line cannot change the address.
    let more = unlogged > 0 ? " (\(unlogged) further ones were not logged)" : ""
    unlogged = 0
    return ("failed login from \(address.visible(upTo: 64))\(more), name: \(name)", action)
  }

  /// Returns the action with the number of logins since the last record if the `period` has passed.
  mutating func sum(at now: Instant) -> ActivityLog.Action? {
    guard let recordedAt, now - recordedAt >= Self.period else { return nil }
    guard unrecorded > 0 else {
      self.recordedAt = nil
      return nil
    }
    defer { (self.recordedAt, unrecorded) = (now, 0) }
    return ActivityLog.Action("", .failedLogin, detail: "+\(unrecorded)")
  }
}
