import Foundation
package import KioskProtocol

/// A point in time as a kiosk needs it: for the record, and the day on its own wall calendar.
package struct Moment: Hashable, Sendable {
  package let timestamp: Timestamp
  /// In the kiosk's time zone, counted from 1970-01-01.
  package let day: Int
  /// By a clock that nobody sets, since some time before.
  package let uptime: Duration

  package init(timestamp: Timestamp, day: Int, uptime: Duration) {
    self.timestamp = timestamp
    self.day = day
    self.uptime = uptime
  }
}

/// Where the controller reads the time; tests set their own.
package struct KioskClock: Sendable {
  package let now: @Sendable () -> Moment

  package init(now: @escaping @Sendable () -> Moment) { self.now = now }

  /// The system's clock.
  ///
  /// - Parameter wallClock: its midnight starts a new day of tickets.
  package static func system(wallClock: WallClock) -> KioskClock {
    let start = ContinuousClock.now
    return KioskClock {
      let now = Timestamp(
        milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
      return Moment(timestamp: now, day: wallClock.day(at: now), uptime: .now - start)
    }
  }
}
