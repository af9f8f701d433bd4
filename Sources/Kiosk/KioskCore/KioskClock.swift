import Foundation
package import KioskProtocol
package import TimeZones

/// A point in time: a timestamp for the ledger, a local calendar day for tickets, and an uptime for
/// durations.
package struct Moment: Hashable, Sendable {
  package let timestamp: Timestamp
  /// The day in the kiosk's time zone, counted from 1970-01-01.
  package let day: Int
  /// The monotonic time since the start of the computer, or since any other fixed moment of a
  /// computer whose `evidence` has no `boot`. Setting the clock does not change it.
  package let uptime: Duration
  package let evidence: ClockEvidence

  package init(
    timestamp: Timestamp, day: Int, uptime: Duration, evidence: ClockEvidence = ClockEvidence()
  ) {
    self.timestamp = timestamp
    self.day = day
    self.uptime = uptime
    self.evidence = evidence
  }
}

/// The source of the current time. Tests provide their own source.
package struct KioskClock: Sendable {
  package let now: @Sendable () -> Moment

  package init(now: @escaping @Sendable () -> Moment) { self.now = now }

  /// Returns the system's clock.
  ///
  /// - Parameters:
  ///   - wallClock: Determines the local day of each moment.
  ///   - evidence: Returns what the computer shows about its wall clock.
  package static func system(
    wallClock: WallClock,
    evidence: @escaping @Sendable () -> ClockEvidence = { ClockEvidence() }
  ) -> KioskClock {
    let start = ContinuousClock.now
    let age = bootAge ?? .zero
    return KioskClock {
      // A time server sets the clock before it confirms it: so the evidence is read first.
      let evidence = evidence()
      let now = Timestamp(
        milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
      // Nothing is computed between the readings: a later uptime lets fruit expire before its date.
      let uptime: Duration = age + (.now - start)
      return Moment(
        timestamp: now, day: wallClock.day(at: now), uptime: uptime, evidence: evidence)
    }
  }

  /// The time since the start of the computer, or `nil` if the system does not report it.
  private static var bootAge: Duration? {
    #if os(Linux)
    // The two members of `timespec`, whose names the compiler does not always find: it assigns the type to
    // the first of several modules that it reads.
    var time = (seconds: 0, nanoseconds: 0)
    let result = withUnsafeMutablePointer(to: &time) {
      $0.withMemoryRebound(to: timespec.self, capacity: 1) { clock_gettime(CLOCK_BOOTTIME, $0) }
    }
    guard result == 0 else { return nil }
    return .seconds(time.seconds) + .nanoseconds(time.nanoseconds)
    #else
    return nil
    #endif
  }
}

extension Duration {
  /// The age of an order or a program whose age is unknown: above each limit.
  static var unknownAge: Duration { .seconds(1 << 32) }
}
