import KioskProtocol

/// The opening hours of each day, written twice: for the kiosk and for the model. The first
/// closing is a minute after the start of a schedule, the first opening two minutes later.
enum HoursModel {
  static let hours = OpeningHours.Interval("00:01-23:59").flatMap { interval in
    OpeningHours(Dictionary(uniqueKeysWithValues: OpeningHours.Day.allCases.map { ($0, interval) }))
  }

  private static let day: Int64 = 86_400_000
  private static let minute: Int64 = 60_000

  /// - Parameter time: In milliseconds since 1970.
  static func isOpen(at time: Int64) -> Bool { minute..<day - minute ~= time % day }

  /// Returns the time of the last opening or closing.
  static func last(_ edge: MachineProgram.Cause, at time: Int64) -> Int64 {
    let edge = edge == .opening ? minute : day - minute
    return time - (time - edge) % day
  }
}

extension Auditor {
  /// The time within which an idle kiosk notices that time has passed.
  static let notice = Duration.seconds(6)

  func hasNoticed(at now: Duration) -> Bool {
    idleSince.map { now - $0 > Self.notice } ?? false
  }

  /// Returns whether the kiosk must show that it is open, or `nil` if it may show either.
  func isOpen(at now: Duration, wallClock: Int64) -> Bool? {
    guard model.isOpen, rules.hasHours else { return model.isOpen }
    let isOpen = HoursModel.isOpen(at: wallClock)
    let wasOpen = HoursModel.isOpen(at: wallClock - Self.notice.milliseconds)
    let hasJumped = lastJump.map { now - $0 < Self.notice } ?? false
    return hasJumped || isOpen != wasOpen || !hasNoticed(at: now) ? nil : isOpen
  }
}
