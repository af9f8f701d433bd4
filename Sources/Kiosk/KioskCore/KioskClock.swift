import Foundation
package import KioskProtocol

/// A point in time: a timestamp for the ledger, a local calendar day for tickets, and an uptime for
/// durations.
package struct Moment: Hashable, Sendable {
  package let timestamp: Timestamp
  /// The day in the kiosk's time zone, counted from 1970-01-01.
  package let day: Int
  /// The monotonic time since an arbitrary start. Setting the clock does not change it.
  package let uptime: Duration

  package init(timestamp: Timestamp, day: Int, uptime: Duration) {
    self.timestamp = timestamp
    self.day = day
    self.uptime = uptime
  }
}

/// The source of the current time. Tests provide their own source.
package struct KioskClock: Sendable {
  package let now: @Sendable () -> Moment

  package init(now: @escaping @Sendable () -> Moment) { self.now = now }

  /// Returns the system's clock.
  ///
  /// - Parameter wallClock: Determines the local day of each moment.
  package static func system(wallClock: WallClock) -> KioskClock {
    let start = ContinuousClock.now
    return KioskClock {
      let now = Timestamp(
        milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
      return Moment(timestamp: now, day: wallClock.day(at: now), uptime: .now - start)
    }
  }
}
