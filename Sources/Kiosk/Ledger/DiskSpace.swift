#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The disk that a file or a folder is on.
package struct DiskSpace {
  /// In bytes, for who is not root.
  package let free: Int
  /// How many more files there may be; `nil` where there is no limit.
  package let freeFiles: Int?

  /// `nil` if it is not there.
  package init?(of path: String) {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return nil }
    free = Int(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
    freeFiles = status.f_files == 0 ? nil : Int(clamping: status.f_favail)
  }
}

extension KioskLedger {
  /// Bytes that are free on the ledger's disk; `nil` if nobody says.
  package var freeSpace: Int? { DiskSpace(of: path)?.free }
}
