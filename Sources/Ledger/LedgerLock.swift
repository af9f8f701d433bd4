import KioskMessages

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Keeps a second kiosk off a ledger, and remembers when the last one was alive and what it had
/// acknowledged.
///
/// The kernel holds the lock (flock) and drops it with the process, however that ends; the file
/// holds the process id for whoever is turned away and the number of the entry that was acknowledged
/// last, and its modification time is the last sign of life.
final class LedgerLock {
  let lastAlive: Timestamp?
  let acknowledged: Int?
  private let descriptor: Int32
  private var beaten: Timestamp

  /// - Parameter path: of the ledger; the lock lies beside it.
  init(path: String) throws(LedgerError) {
    descriptor = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o640)
    guard descriptor >= 0 else {
      throw .cannotOpen(path: path, detail: String(cString: strerror(errno)))
    }
    LedgerFile(path: path).giveToOwner(descriptor)
    let isFree = flock(descriptor, LOCK_EX | LOCK_NB) == 0
    let content = Self.content(of: descriptor)
    guard isFree else {
      close(descriptor)
      throw .inUse(path: path, process: content.numbers.first ?? nil)
    }
    lastAlive = content.lastAlive
    acknowledged = content.numbers.count > 1 ? content.numbers[1] : nil
    // A kiosk that dies before its first beat leaves the time as it found it.
    beaten = lastAlive ?? Self.never
    ftruncate(descriptor, 0)
    write(process: getpid(), acknowledged: acknowledged)
  }

  /// Who holds the lock. A kiosk that starts in the very moment of the question would find it taken,
  /// and start again; to ask any other way is not portable.
  static func occupant(of path: String) throws(LedgerError) -> Ledger.Occupant {
    let descriptor = open(path + ".lock", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return .nobody(lastAlive: nil) }
      throw .cannotOpen(path: path, detail: String(cString: strerror(errno)))
    }
    defer { close(descriptor) }
    let isFree = flock(descriptor, LOCK_SH | LOCK_NB) == 0
    if isFree { flock(descriptor, LOCK_UN) }
    let content = content(of: descriptor)
    return isFree
      ? .nobody(lastAlive: content.lastAlive) : .kiosk(process: content.numbers.first ?? nil)
  }

  private static func content(
    of descriptor: Int32
  ) -> (numbers: [Int?], lastAlive: Timestamp?) {
    var buffer = [UInt8](repeating: 0, count: 48)
    let count = max(0, pread(descriptor, &buffer, buffer.count, 0))
    let numbers = String(decoding: buffer[..<count], as: UTF8.self).split(separator: " ")
      .map { Int($0) }
    var status = stat()
    fstat(descriptor, &status)
    #if canImport(Darwin)
    let modified = status.st_mtimespec
    #else
    let modified = status.st_mtim
    #endif
    let modifiedAt = Timestamp(
      milliseconds: Int64(modified.tv_sec) * 1000 + Int64(modified.tv_nsec) / 1_000_000)
    return (numbers, numbers.isEmpty || modifiedAt == never ? nil : modifiedAt)
  }

  /// The modification time of the file before the first beat.
  private static let never = Timestamp(milliseconds: 0)

  func beat(at now: Timestamp) {
    beaten = now
    keepTime()
  }

  func noteAcknowledged(through seq: Int) { write(process: getpid(), acknowledged: seq) }

  /// Forgets the process that was here before, so that the next one is the first.
  func forget() {
    beaten = Self.never
    ftruncate(descriptor, 0)
    write(process: getpid(), acknowledged: nil)
  }

  /// Each number is followed by a space, so that what is left of a longer text does not count.
  private func write(process: pid_t, acknowledged: Int?) {
    let numbers = [Int(process), acknowledged].compactMap(\.self)
    let text = Array(numbers.map { "\($0) " }.joined().utf8)
    pwrite(descriptor, text, text.count, 0)
    keepTime()
  }

  private func keepTime() {
    let time = timespec(
      tv_sec: Int(beaten.milliseconds / 1000),
      tv_nsec: Int(beaten.milliseconds % 1000) * 1_000_000)
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
