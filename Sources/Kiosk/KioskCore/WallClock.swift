package import Foundation
package import KioskProtocol

/// Reads the hour from a clock on the kiosk's wall.
///
/// Hours of the wall are counted from 1970-01-01T00 as it showed it: 24 to each day, whatever the
/// clocks do. An hour that comes twice, in autumn, is one; the one that is left out in spring is empty.
package struct WallClock: Sendable {
  package let timeZone: TimeZone

  package static let utc = WallClock(timeZone: .gmt)

  package init(timeZone: TimeZone) { self.timeZone = timeZone }

  package func hour(at time: Timestamp) -> Int { Int((local(time) / Self.hour).rounded(.down)) }

  /// Counted from 1970-01-01.
  package func day(at time: Timestamp) -> Int { Self.day(of: hour(at: time)) }

  /// How much of its hour of the wall has passed, from 0 to below 1.
  package func fraction(at time: Timestamp) -> Double {
    let hours = local(time) / Self.hour
    return hours - hours.rounded(.down)
  }

  package static func day(of hour: Int) -> Int { Int((Double(hour) / 24).rounded(.down)) }

  private static let hour = 3_600_000.0

  private func local(_ time: Timestamp) -> Double {
    let date = Date(timeIntervalSince1970: Double(time.milliseconds) / 1000)
    return Double(time.milliseconds) + Double(timeZone.secondsFromGMT(for: date)) * 1000
  }
}
