import Foundation
package import KioskCore
import KioskProtocol
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
      isSynchronised: isSynchronisedNow,
      hardwareSeconds: seconds.flatMap { Int64($0.filter(\.isNumber)) })
    #else
    return SystemClock(boot: nil, isSynchronised: true, hardwareSeconds: nil)
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
    let seconds = Int64(Date().timeIntervalSince1970)
    let agrees = start.hardwareSeconds.map { abs($0 - seconds) <= tolerance } ?? false
    let evidence = Mutex(
      ClockEvidence(boot: start.boot, isConfirmed: start.isSynchronised || agrees))
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

  /// Returns whether the wall clock ran while the system was off, or has been set since. The clock
  /// of a Raspberry Pi continues from the time of its shutdown until it receives the time from the
  /// network.
  ///
  /// - Parameter last: The last known time before the system was off.
  func isReliable(since last: Timestamp) -> Bool {
    isSynchronised || hardwareSeconds.map { $0 >= last.milliseconds / 1000 } ?? false
  }
}
