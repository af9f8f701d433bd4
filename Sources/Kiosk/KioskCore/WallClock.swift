package import Foundation
package import KioskProtocol

/// Converts timestamps to hours and days of a time zone.
///
/// Hours are counted from 1970-01-01T00 local time, 24 to each day. At the end of daylight saving
/// time the hour that occurs twice has one number; at the beginning one number is skipped.
package struct WallClock: Sendable {
  package let timeZone: TimeZone

  package static let utc = WallClock(timeZone: .gmt)

  package init(timeZone: TimeZone) { self.timeZone = timeZone }

  package func hour(at time: Timestamp) -> Int { Int((local(time) / Self.hour).rounded(.down)) }

  /// Returns the local day, counted from 1970-01-01.
  package func day(at time: Timestamp) -> Int { Self.day(of: hour(at: time)) }

  /// Returns the elapsed fraction of the local hour, from 0 to below 1.
  package func fraction(at time: Timestamp) -> Double {
    let hours = local(time) / Self.hour
    return hours - hours.rounded(.down)
  }

  /// Returns the local day, counted from 1970-01-01, and the minute of that day, from 0 to 1439.
  package func minute(at time: Timestamp) -> (day: Int, minute: Int) {
    let minutes = Int((local(time) / 60_000).rounded(.down))
    let day = Int((Double(minutes) / 1_440).rounded(.down))
    return (day, minutes - day * 1_440)
  }

  package static func day(of hour: Int) -> Int { Int((Double(hour) / 24).rounded(.down)) }

  /// Returns the first moment of a local day, which is after midnight if daylight saving time skips
  /// midnight, as in Santiago.
  ///
  /// - Parameter day: The day, counted from 1970-01-01.
  package func start(ofDay day: Int64) -> Timestamp {
    let midnight = day * 86_400_000
    func localMidnight(offsetAt time: Timestamp) -> Timestamp {
      Timestamp(milliseconds: midnight - Int64(local(time)) + time.milliseconds)
    }
    // The offset at midnight UTC may differ from that at local midnight.
    let guess = localMidnight(offsetAt: Timestamp(milliseconds: midnight))
    let start = localMidnight(offsetAt: guess)
    return self.day(at: start) < day ? localMidnight(offsetAt: start) : start
  }

  private static let hour = 3_600_000.0

  private func local(_ time: Timestamp) -> Double {
    let date = Date(timeIntervalSince1970: Double(time.milliseconds) / 1000)
    return Double(time.milliseconds) + Double(timeZone.secondsFromGMT(for: date)) * 1000
  }
}
