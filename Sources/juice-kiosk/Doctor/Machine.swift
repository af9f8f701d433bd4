import Foundation
import KioskMessages
import Program

// What the machine says of itself.

/// The clock of the machine.
struct MachineClock {
  let now: Timestamp
  /// Whether something keeps the clock right, as the kernel knows; `nil` if it does not say.
  let isSynchronised: Bool?
  /// When this program was built, as far as its file tells: it cannot be earlier now.
  let builtAt: Timestamp?

  static var current: MachineClock {
    let program = Bundle.main.executablePath ?? CommandLine.arguments[0]
    let attributes = try? FileManager.default.attributesOfItem(atPath: program)
    let modified = attributes?[.modificationDate] as? Date
    return MachineClock(
      now: .now, isSynchronised: kernelState.map { $0 != 5 },
      builtAt: modified.map {
        Timestamp(milliseconds: Int64($0.timeIntervalSince1970 * 1000))
      })
  }

  /// What ntp_adjtime(3) returns: 5 is TIME_ERROR, a clock that nobody keeps. Swift's Glibc leaves
  /// <sys/timex.h> out. All zero, its argument asks and changes nothing, and it has less than 512
  /// bytes.
  private static var kernelState: Int32? {
    guard let symbol = dlsym(nil, "ntp_adjtime") else { return nil }
    typealias Function = @convention(c) (UnsafeMutableRawPointer) -> Int32
    var timex = [UInt64](repeating: 0, count: 64)
    let state = timex.withUnsafeMutableBytes { bytes in
      bytes.baseAddress.map(unsafeBitCast(symbol, to: Function.self))
    }
    return state.flatMap { $0 < 0 ? nil : $0 }
  }
}

/// Whose a file is, and who may do what with it.
struct FileRights {
  let owner: UInt32
  let mode: UInt32
  /// Whether this process may write it; root may always.
  let isWritable: Bool

  /// `nil` if it is not there, or cannot be looked at.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    owner = status.st_uid
    mode = UInt32(status.st_mode)
    isWritable = access(path, W_OK) == 0
  }

  var ownerName: String { FolderOwner.name(of: owner) }
}
