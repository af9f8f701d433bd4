import Foundation

/// A value that identifies the contents of a file, derived only from its status (stat(2)). Changed
/// contents have another stamp; for changes in quick succession see `isSettled`.
package struct FileStamp: Hashable, Sendable {
  private let device: UInt64
  private let inode: UInt64
  private let size: Int64
  /// The time of the last change of the contents or the status. No program can set this time.
  private let changed: Duration
  /// Whether users other than the owner have a permission for the file.
  package let isShared: Bool

  /// Reads the status of a file, following symbolic links, without opening the file. Returns `nil`
  /// if there is no such file, or its folder is not accessible.
  package init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    #if canImport(Glibc)
    let time = status.st_ctim
    #else
    let time = status.st_ctimespec
    #endif
    (device, inode, size) = (UInt64(status.st_dev), UInt64(status.st_ino), Int64(status.st_size))
    changed = .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    isShared = status.st_mode & 0o077 != 0
  }

  /// Whether a later change certainly leads to another stamp. The file systems' clock advances in
  /// steps of milliseconds, so a second change within a step can keep the stamp of the first one.
  package var isSettled: Bool {
    let age = .seconds(Date().timeIntervalSince1970) - changed
    return age > .seconds(1) || age < .seconds(-1)
  }
}
