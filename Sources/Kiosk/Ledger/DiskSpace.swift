#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The free space of the file system of a file or folder.
package struct DiskSpace {
  /// Free bytes for users other than root.
  package let free: Int
  /// The number of files that can be created, or `nil` if there is no limit.
  package let freeFiles: Int?

  /// Returns `nil` if the path does not exist.
  package init?(of path: String) {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return nil }
    free = Int(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
    freeFiles = status.f_files == 0 ? nil : Int(clamping: status.f_favail)
  }
}

extension KioskLedger {
  /// Free bytes on the ledger's disk, or `nil` if they are unknown.
  package var freeSpace: Int? { DiskSpace(of: path)?.free }
}
