import ArgumentParser
import Foundation

/// A file that syncs each write to the disk before the call returns.
package final class DurableFile: Sendable {
  private let path: String
  private let descriptor: Int32
  private let appends: Bool
  /// Whether opening has created the file.
  package let isNew: Bool

  /// Opens the file, and creates it if it does not exist.
  ///
  /// - Parameter appends: Whether each write appends to the file; otherwise it overwrites the
  ///   beginning of the file.
  package init(_ path: String, appends: Bool) throws(Failure) {
    (self.path, self.appends) = (path, appends)
    let flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | (appends ? O_APPEND : 0)
    let existing = open(path, flags)
    isNew = existing < 0 && errno == ENOENT
    descriptor = isNew ? open(path, flags | O_CREAT | O_EXCL, 0o640) : existing
    guard descriptor >= 0 else { throw Self.failure(at: path) }
    // The file's name survives a power cut only after its folder is synced.
    let folder = open(URL(filePath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
    defer { close(folder) }
    guard folder >= 0, fsync(folder) == 0 else {
      let failure = Self.failure(at: path)
      close(descriptor)
      throw failure
    }
  }

  deinit { close(descriptor) }

  /// Locks the file for this process until this object is released or the process ends.
  ///
  /// - Returns: `false` if another process holds the lock.
  package func lock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

  /// Returns the first `count` bytes of the file, or fewer if the file is shorter.
  package func read(upTo count: Int) throws(Failure) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let read = pread(descriptor, &bytes, count, 0)
    guard read >= 0 else { throw Self.failure(at: path) }
    return Array(bytes[..<read])
  }

  /// Writes with one system call, so that killing the process leaves all of the text in the file or
  /// none of it.
  package func write(_ text: String) throws(Failure) {
    let bytes = Array(text.utf8)
    let count =
      appends
      ? Foundation.write(descriptor, bytes, bytes.count)
      : pwrite(descriptor, bytes, bytes.count, 0)
    // The disk accepted a part of the text only, without an error code.
    if count >= 0, count < bytes.count { errno = ENOSPC }
    guard count == bytes.count, fsync(descriptor) == 0 else { throw Self.failure(at: path) }
  }

  private static func failure(at path: String) -> Failure {
    let detail = "\(path): \(String(cString: strerror(errno)))"
    return [ENOSPC, EDQUOT, EIO, EROFS].contains(errno)
      ? Failure(status: ExitCode(74), message: detail) : .badConfiguration(detail)
  }
}
