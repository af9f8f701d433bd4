import KioskMessages

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Keeps a second kiosk off a ledger, and remembers when the last one was alive.
///
/// The kernel holds the lock (flock) and drops it with the process, however that ends; the file
/// holds the process id for whoever is turned away, and its modification time is the last sign of
/// life.
final class LedgerLock {
  let lastAlive: Timestamp?
  private let descriptor: Int32

  /// - Parameter path: of the ledger; the lock lies beside it.
  init(path: String) throws(LedgerError) {
    descriptor = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o640)
    guard descriptor >= 0 else {
      throw .cannotOpen(path: path, detail: String(cString: strerror(errno)))
    }
    var buffer = [UInt8](repeating: 0, count: 32)
    let count = max(0, pread(descriptor, &buffer, buffer.count, 0))
    let holder = String(decoding: buffer[..<count], as: UTF8.self)
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      throw .inUse(path: path, process: Int(holder))
    }
    var status = stat()
    fstat(descriptor, &status)
    #if canImport(Darwin)
    let modified = status.st_mtimespec
    #else
    let modified = status.st_mtim
    #endif
    let beaten = Timestamp(
      milliseconds: Int64(modified.tv_sec) * 1000 + Int64(modified.tv_nsec) / 1_000_000)
    lastAlive = holder.isEmpty || beaten == Self.never ? nil : beaten
    let process = Array(String(getpid()).utf8)
    ftruncate(descriptor, 0)
    pwrite(descriptor, process, process.count, 0)
    // A kiosk that dies before its first beat leaves the time as it found it.
    beat(at: lastAlive ?? Self.never)
  }

  /// The modification time of the file before the first beat.
  private static let never = Timestamp(milliseconds: 0)

  func beat(at now: Timestamp) {
    let time = timespec(
      tv_sec: Int(now.milliseconds / 1000), tv_nsec: Int(now.milliseconds % 1000) * 1_000_000)
    withUnsafePointer(to: (time, time)) { times in
      times.withMemoryRebound(to: timespec.self, capacity: 2) { _ = futimens(descriptor, $0) }
    }
  }

  deinit {
    // Not left to close(2): a child that is just being started may share the descriptor until exec.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
