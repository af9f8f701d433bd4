import Foundation

/// A lock that prevents a second program from using a file: a lock of `PATH.lock` (flock), because a
/// replaced file loses its own lock.
package final class FileLock: Sendable {
  private let descriptor: Int32

  /// Opens the file of the lock, and creates it if it does not exist.
  package init(of path: String) throws(StateError) {
    let lock = "\(path).lock"
    descriptor = open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o640)
    guard descriptor >= 0 else { throw StateError(errnoAt: lock) }
  }

  deinit { close(descriptor) }

  /// Takes the lock until this object is released or the process ends.
  ///
  /// - Throws: `Failure` with exit code 75 and this message if another process has the lock.
  package func take(orFail message: String) throws(Failure) {
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw .tryAgain(message) }
  }

  /// Calls `body` while no other caller of this function uses the folder.
  package static func inFolder<Result>(
    _ folder: String, _ body: () throws(StateError) -> Result
  ) throws(StateError) -> Result {
    let lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard lock >= 0 else { throw StateError(errnoAt: folder) }
    defer { close(lock) }
    while flock(lock, LOCK_EX) != 0 {
      guard errno == EINTR else { throw StateError(errnoAt: folder) }
    }
    return try body()
  }
}
