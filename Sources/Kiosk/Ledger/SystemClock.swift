#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What the system can tell of the time for which it was off.
package struct SystemClock: Sendable {
  /// Since the system was started.
  package var uptime: @Sendable () -> Duration
  /// The time went on while the system was off, or has been set since. A Raspberry Pi goes on from when
  /// it was shut down until the network tells it the time.
  package var isWallClockReliable: Bool

  package init(isWallClockReliable: Bool, uptime: @escaping @Sendable () -> Duration) {
    self.isWallClockReliable = isWallClockReliable
    self.uptime = uptime
  }

  /// This one.
  package static var current: SystemClock {
    #if os(Linux)
    // A clock with a battery, or what systemd-timesyncd.service(8) makes once it has set the time.
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
