#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The system's uptime, and whether its wall clock is reliable after a restart.
package struct SystemClock: Sendable {
  /// Returns the time since the start of the system.
  package var uptime: @Sendable () -> Duration
  /// Whether the wall clock ran while the system was off, or has been set since. The clock of a
  /// Raspberry Pi continues from the time of its shutdown until it receives the time from the
  /// network.
  package var isWallClockReliable: Bool

  package init(isWallClockReliable: Bool, uptime: @escaping @Sendable () -> Duration) {
    self.isWallClockReliable = isWallClockReliable
    self.uptime = uptime
  }

  /// The clock of this system.
  package static var current: SystemClock {
    #if os(Linux)
    // A hardware clock, or the file that systemd-timesyncd.service(8) creates after setting the
    // time.
    let isWallClockReliable = ["/sys/class/rtc/rtc0", "/run/systemd/timesync/synchronized"]
      .contains { (path: String) in access(path, F_OK) == 0 }
    let clock = CLOCK_BOOTTIME
    #else
    let isWallClockReliable = true
    let clock = CLOCK_MONOTONIC
    #endif
    return SystemClock(isWallClockReliable: isWallClockReliable) {
      var time = timespec()
      clock_gettime(clock, &time)
      return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }
  }
}
