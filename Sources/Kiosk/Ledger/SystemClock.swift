import Foundation
import KioskProtocol

/// Identifies the current start of the system, and shows whether its wall clock is reliable.
package struct SystemClock: Sendable {
  /// A random number that identifies this start of the system, or `nil` if it is unknown.
  package var boot: Int?
  /// Whether systemd-timesyncd has set the wall clock since the start of the system; `true` if this is not Linux.
  package var isSynchronised: Bool
  /// The seconds since 1970 that the hardware clock shows, or `nil` if there is no such clock. A
  /// clock that was without power shows a time long ago.
  package var hardwareSeconds: Int64?

  package init(boot: Int?, isSynchronised: Bool, hardwareSeconds: Int64?) {
    self.boot = boot
    self.isSynchronised = isSynchronised
    self.hardwareSeconds = hardwareSeconds
  }

  /// The clock of this system.
  package static var current: SystemClock {
    #if os(Linux)
    // Without such a file, the value is unknown.
    func read(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
    let boot = read("/proc/sys/kernel/random/boot_id")
    let seconds = read("/sys/class/rtc/rtc0/since_epoch")
    return SystemClock(
      boot: boot.flatMap { Int($0.filter(\.isHexDigit).prefix(15), radix: 16) },
      // systemd-timesyncd.service(8) creates this file after setting the time.
      isSynchronised: access("/run/systemd/timesync/synchronized", F_OK) == 0,
      hardwareSeconds: seconds.flatMap { Int64($0.filter(\.isNumber)) })
    #else
    return SystemClock(boot: nil, isSynchronised: true, hardwareSeconds: nil)
    #endif
  }

  /// Returns whether the wall clock ran while the system was off, or has been set since. The clock
  /// of a Raspberry Pi continues from the time of its shutdown until it receives the time from the
  /// network.
  ///
  /// - Parameter last: The last known time before the system was off.
  func isReliable(since last: Timestamp) -> Bool {
    isSynchronised || hardwareSeconds.map { $0 >= last.milliseconds / 1000 } ?? false
  }
}
