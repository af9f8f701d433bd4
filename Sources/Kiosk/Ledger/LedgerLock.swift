import KioskProtocol

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
/// The kernel holds the lock (flock) and drops it with the process, however that ends. The file holds
/// the process id for whoever is turned away, the number of the entry that was acknowledged last, and
/// the last sign of life. All of it is written in one call: a process that is killed leaves the note
/// as it was or as it is to be, and no start takes the kiosk for one that never was alive.
final class LedgerLock {
  let lastHeartbeat: Timestamp?
  let acknowledged: Int?
  private let descriptor: Int32
  private let clock: SystemClock
  private var record: LockRecord

  /// - Parameter path: of the ledger; the lock lies beside it.
  init(path: String, clock: SystemClock) throws(LedgerError) {
    self.clock = clock
    try LedgerFile(path: path).refuseLinks()
    descriptor = open(path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o640)
    guard descriptor >= 0 else {
      throw .cannotOpen(path: path, detail: String(cString: strerror(errno)))
    }
    let isFree = flock(descriptor, LOCK_EX | LOCK_NB) == 0
    record = LockRecord(readFrom: descriptor)
    guard isFree else {
      close(descriptor)
      throw .inUse(path: path, process: record.process)
    }
    // Less than it was: the system has been off.
    let wasOff = record.uptime.map { clock.uptime() < $0 } ?? false
    // guard: a clock that stood still tells nothing of an absence
    lastHeartbeat = wasOff && !clock.isWallClockReliable ? nil : record.heartbeat
    acknowledged = record.acknowledged
    // A kiosk that dies before its first beat leaves the time as it found it.
    record.process = Int(getpid())
    record.write(to: descriptor)
  }

  /// Who holds the lock. A kiosk that starts in the very moment of the question would find it taken,
  /// and start again; to ask any other way is not portable.
  static func lockHolder(of path: String) throws(LedgerError) -> KioskLedger.LockHolder {
    try LedgerFile(path: path).refuseLinks()
    let descriptor = open(path + ".lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return .unlocked(lastHeartbeat: nil) }
      throw .cannotOpen(path: path, detail: String(cString: strerror(errno)))
    }
    defer { close(descriptor) }
    let isFree = flock(descriptor, LOCK_SH | LOCK_NB) == 0
    if isFree { flock(descriptor, LOCK_UN) }
    let record = LockRecord(readFrom: descriptor)
    return isFree ? .unlocked(lastHeartbeat: record.heartbeat) : .kiosk(process: record.process)
  }

  func recordHeartbeat(at now: Timestamp) {
    record.heartbeat = now
    record.uptime = clock.uptime()
    record.write(to: descriptor)
  }

  func recordAcknowledged(through seq: Int) {
    record.acknowledged = seq
    record.write(to: descriptor)
  }

  /// Forgets the process that was here before, so that the next one is the first.
  func clear() {
    (record.acknowledged, record.heartbeat) = (nil, nil)
    record.write(to: descriptor)
  }

  deinit {
    // Not left to close(2): a child that is just being started may share the descriptor until exec.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}

/// What the lock file says: four numbers, and always as many bytes.
private struct LockRecord {
  var process: Int?
  var acknowledged: Int?
  var heartbeat: Timestamp?
  /// How long the system had run by then.
  var uptime: Duration?

  private static let length = 64

  init(readFrom descriptor: Int32) {
    var buffer = [UInt8](repeating: 0, count: Self.length)
    let count = max(0, pread(descriptor, &buffer, buffer.count, 0))
    let numbers = String(decoding: buffer[..<count], as: UTF8.self).split(separator: " ")
      .map { Int($0) }
    process = numbers.first ?? nil
    acknowledged = numbers.count > 1 ? numbers[1] : nil
    heartbeat = numbers.count > 2 ? numbers[2].map { Timestamp(milliseconds: Int64($0)) } : nil
    uptime = numbers.count > 3 ? numbers[3].map { .seconds($0) } : nil
  }

  func write(to descriptor: Int32) {
    let numbers = [
      process, acknowledged, heartbeat.map { Int($0.milliseconds) },
      uptime.map { Int($0.components.seconds) },
    ]
    let words = numbers.map { $0.map(String.init) ?? "-" }
    let text = Array(words.joined(separator: " ").utf8)
    let rest = [UInt8](repeating: UInt8(ascii: " "), count: Self.length - text.count)
    pwrite(descriptor, text + rest, Self.length, 0)
  }
}
