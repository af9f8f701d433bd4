import CommandLineSupport
import Foundation
import KioskProtocol

// What this computer says of itself.

/// The clock of this computer.
struct MachineClock {
  let now: Timestamp
  /// Whether something keeps the clock right; `nil` if the kernel does not say.
  let isSynchronised: Bool?
  /// When this program was built, by the date of its file. A clock that is right shows a later time.
  let builtAt: Timestamp?

  static var current: MachineClock {
    let program = Bundle.main.executablePath ?? CommandLine.arguments[0]
    let attributes = try? FileManager.default.attributesOfItem(atPath: program)
    let modified = attributes?[.modificationDate] as? Date
    return MachineClock(
      now: .now, isSynchronised: kernelState.map { $0 != 5 },
      builtAt: modified.map { Timestamp($0) })
  }

  /// The result of ntp_adjtime(3); 5 is TIME_ERROR, a clock that nobody keeps right.
  ///
  /// Swift's Glibc leaves <sys/timex.h> out. The argument has less than 512 bytes; if all of them are zero,
  /// the function changes nothing.
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

/// Who owns a file, and who may do what with it.
struct FileRights {
  let owner: UInt32
  let mode: UInt32
  /// Whether this process may write it; root may always.
  let isWritable: Bool

  /// `nil` if the file is not there, or its folder may not be entered.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    owner = status.st_uid
    mode = UInt32(status.st_mode)
    isWritable = access(path, W_OK) == 0
  }

  var ownerName: String { FolderOwner.name(of: owner) }
}
