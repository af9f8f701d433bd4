import Foundation

/// The free space of the file system of a file or folder.
package struct DiskSpace {
  /// Free bytes for users other than root.
  package let free: Int
  /// The number of files that users other than root can create, or `nil` if the file system reports no limit.
  package let freeFiles: Int?
  /// The kind of a file system in memory (`tmpfs`, `ramfs`), or of one whose upper layer may be in
  /// memory or belong to a container (`overlay`), or `nil` for any other or unknown file system.
  package let volatileKind: String?

  /// Returns `nil` if the path does not exist or cannot be examined.
  package init?(of path: String) {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return nil }
    free = Int(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
    freeFiles = status.f_files == 0 ? nil : Int(clamping: status.f_favail)
    volatileKind = Self.volatileKind(of: path)
  }

  /// Returns the volatile kind of the file system with the path's device number in proc(5) `mountinfo`, or `nil`.
  private static func volatileKind(of path: String) -> String? {
    var status = stat()
    // macOS has no `mountinfo`.
    guard stat(path, &status) == 0,
      let mounts = try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)
    else { return nil }
    // Splits the number like `major` and `minor` of makedev(3).
    let device = UInt64(status.st_dev)
    let major = (device >> 32 & 0xFFFF_F000) | (device >> 8 & 0xFFF)
    let minor = (device >> 12 & 0xFFFF_FF00) | (device & 0xFF)
    return mounts.split(separator: "\n").lazy.compactMap { line -> String? in
      let fields = line.split(separator: " ")
      guard fields.count > 2, fields[2] == "\(major):\(minor)",
        let end = fields.firstIndex(of: "-"), end + 1 < fields.count
      else { return nil }
      return ["tmpfs", "ramfs", "overlay"].first { $0 == fields[end + 1] }
    }.first
  }
}

extension KioskLedger {
  /// Free bytes on the ledger's disk, or `nil` if they are unknown.
  package var freeSpace: Int? { DiskSpace(of: path)?.free }
}
