package import Foundation
package import KioskMessages

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
  /// - Parameter timeZone: where the kiosk stands; its midnight starts a new day of tickets.
  package static func system(timeZone: TimeZone) -> KioskClock {
    let start = ContinuousClock.now
    return KioskClock {
      let date = Date()
      let milliseconds = Int64((date.timeIntervalSince1970 * 1000).rounded(.down))
      let local = milliseconds / 1000 + Int64(timeZone.secondsFromGMT(for: date))
      let day = Int((Double(local) / 86_400).rounded(.down))
      return Moment(
        timestamp: Timestamp(milliseconds: milliseconds), day: day, uptime: .now - start)
    }
  }
}
