import Foundation
package import KioskCore
import Synchronization

/// Identifies the current start of the system, and shows whether its wall clock is reliable.
package struct SystemClock: Sendable {
  /// A random number that identifies this start of the system, or `nil` if it is unknown.
  package var boot: Int?
  /// Whether a time server has set the wall clock since the start of the system; `true` if this is not Linux.
  package var isSynchronised: Bool
  /// The seconds since 1970 that the hardware clock shows, or `nil` if there is no such clock. A
  /// clock that was without power shows a time long ago.
  package var hardwareSeconds: Int64?
  /// The seconds since 1970 that the wall clock showed when the hardware clock was read.
  package var wallSeconds: Int64

  package init(boot: Int?, isSynchronised: Bool, hardwareSeconds: Int64?, wallSeconds: Int64) {
    self.boot = boot
    self.isSynchronised = isSynchronised
    self.hardwareSeconds = hardwareSeconds
    self.wallSeconds = wallSeconds
  }

  /// The clock of this system.
  package static var current: SystemClock {
    let wallSeconds = Int64(Date().timeIntervalSince1970)
    #if os(Linux)
    // Without such a file, the value is unknown.
    func read(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
    let boot = read("/proc/sys/kernel/random/boot_id")
    let seconds = read("/sys/class/rtc/rtc0/since_epoch")
    return SystemClock(
      boot: boot.flatMap { Int($0.filter(\.isHexDigit).prefix(15), radix: 16) },
      isSynchronised: isSynchronisedNow,
      hardwareSeconds: seconds.flatMap { Int64($0.filter(\.isNumber)) }, wallSeconds: wallSeconds)
    #else
    return SystemClock(
      boot: nil, isSynchronised: true, hardwareSeconds: nil, wallSeconds: wallSeconds)
    #endif
  }

  #if os(Linux)
  /// Whether a time server has set the wall clock since the start of the system.
  private static var isSynchronisedNow: Bool {
    // systemd-timesyncd.service(8) creates this file after setting the time.
    kernelConfirms == true || access("/run/systemd/timesync/synchronized", F_OK) == 0
  }
  #endif

  /// Whether the kernel reports that a time server keeps the clock synchronized, or `nil` if it reports nothing.
  ///
  /// Swift's Glibc module does not include <sys/timex.h>. The argument of ntp_adjtime(3) is smaller
  /// than 512 bytes; if all its bytes are zero, the function changes nothing. A result of 5 is
  /// TIME_ERROR: STA_UNSYNC is set.
  package static var kernelConfirms: Bool? {
    guard let adjustTime else { return nil }
    var timex = [UInt64](repeating: 0, count: 64)
    let state = timex.withUnsafeMutableBytes { $0.baseAddress.map(adjustTime) }
    return state.flatMap { $0 < 0 ? nil : $0 != 5 }
  }

  private static let adjustTime = dlsym(nil, "ntp_adjtime").map {
    unsafeBitCast($0, to: (@convention(c) (UnsafeMutableRawPointer) -> Int32).self)
  }

  /// Returns a function that returns the evidence for the wall clock.
  ///
  /// The hardware clock is read once, because reading one at an I2C bus takes a millisecond. It
  /// confirms the wall clock if both agree. The kernel is asked until it confirms the clock.
  package static func evidence() -> @Sendable () -> ClockEvidence {
    let start = current
    let evidence = Mutex(ClockEvidence(boot: start.boot, isConfirmed: start.isReliable))
    return {
      evidence.withLock { evidence in
        #if os(Linux)
        if !evidence.isConfirmed { evidence.isConfirmed = isSynchronisedNow }
        #endif
        return evidence
      }
    }
  }

  /// The greatest difference, in seconds, with which two clocks agree.
  private static let tolerance: Int64 = 60

  /// Whether the wall clock ran while the system was off, or has been set since: a time server has set it, or the
  /// hardware clock agrees with it. The clock of a Raspberry Pi continues from the time of its shutdown until it
  /// receives the time from the network, even beside a hardware clock that is not read at the start.
  var isReliable: Bool {
    isSynchronised || hardwareSeconds.map { abs($0 - wallSeconds) <= Self.tolerance } ?? false
  }
}
