import CommandLineSupport
import Foundation
import KioskProtocol
import Ledger

// Facts about this computer, for the doctor.

/// The clock of this computer.
struct MachineClock {
  let now: Timestamp
  /// Whether a time server keeps the clock synchronized, or `nil` if the kernel does not report it.
  let isSynchronised: Bool?
  /// The build time of this program, from the modification date of its file, or `nil` if the date
  /// cannot be read. A correct clock shows a later time.
  let builtAt: Timestamp?

  static var current: MachineClock {
    let program = Bundle.main.executablePath ?? CommandLine.arguments[0]
    // Without a build time, the doctor compares the clock only with the ledger.
    let attributes = try? FileManager.default.attributesOfItem(atPath: program)
    let modified = attributes?[.modificationDate] as? Date
    return MachineClock(
      now: .now, isSynchronised: SystemClock.kernelConfirms,
      builtAt: modified.map { Timestamp($0) })
  }
}

/// The owner and the permissions of a file.
struct FileRights {
  let owner: UInt32
  let mode: UInt32
  /// Whether this process may write the file; for root, `false` only for a reason such as a read-only disk.
  let isWritable: Bool

  /// Reads the file's status, or returns `nil` if the file does not exist or its folder is not
  /// accessible.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    owner = status.st_uid
    mode = UInt32(status.st_mode)
    isWritable = access(path, W_OK) == 0
  }

  var ownerName: String { FolderOwner.name(of: owner) }
}
