import KioskCore
import KioskProtocol

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Prevents a second kiosk from using a ledger, and records the last heartbeat and the last
/// acknowledged entry.
///
/// The kernel holds the lock (flock) and releases it when the process ends, for any reason. The
/// lock file contains the process id for the error message of a second kiosk, the last acknowledged
/// entry, and the last heartbeat with its `SystemClock.boot`. One call writes the whole record: a
/// process that is killed leaves the old or the new record, and never a part of one.
final class LedgerLock {
  let lastHeartbeat: Timestamp?
  let acknowledged: Int?
  private let descriptor: Int32
  /// The file of the ledger, with a lock of its own; or -1 before `lockDatabase` has found the file.
  private var database: Int32 = -1
  private let boot: Int?
  private var record: LockRecord

  /// Takes the lock, and reads the record of the previous process.
  ///
  /// - Parameter path: The path of the ledger. The lock file is beside it.
  /// - Throws: `LedgerError.inUse` if another process holds the lock, or the error for a file that cannot be opened.
  init(path: String, clock: SystemClock) throws(LedgerError) {
    boot = clock.boot
    try LedgerFile(path: path).refuseLinks()
    descriptor = open(path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o640)
    guard descriptor >= 0 else {
      throw .cannotOpen(path, errno: errno)
    }
    let isFree = flock(descriptor, LOCK_EX | LOCK_NB) == 0
    record = LockRecord(readFrom: descriptor)
    guard isFree else {
      close(descriptor)
      throw .inUse(path: path, process: record.process)
    }
    let wasOff = clock.boot == nil || clock.boot != record.boot
    // guard: a clock that stood still measures no absence
    lastHeartbeat = wasOff && !clock.isReliable ? nil : record.heartbeat
    acknowledged = record.acknowledged
    // If this process ends before its first heartbeat, the file still contains the previous heartbeat.
    try lockDatabase(path)
    record.process = Int(getpid())
    record.write(to: descriptor)
  }

  /// Locks the file of the ledger itself, if it exists: another kiosk may use it by a hard link or a
  /// bind mount, with a lock file beside that name. SQLite locks other bytes, from 1 GiB on.
  ///
  /// The file must stay open: closing it would release the locks of SQLite.
  ///
  /// - Throws: `LedgerError.inUse` if another process holds the lock.
  func lockDatabase(_ path: String) throws(LedgerError) {
    guard database < 0 else { return }
    let file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
    if file < 0, errno == ENOENT { return }
    guard file >= 0 else { throw .cannotOpen(path, errno: errno) }
    // guard: a ledger with two names has one kiosk
    guard setLock(F_WRLCK, of: file) else {
      close(file)
      throw .inUse(path: path, process: nil)
    }
    database = file
  }

  /// Returns the holder of the lock. The check takes the lock for a moment: a kiosk that starts in
  /// that moment fails, and systemd starts it again. No portable check works without taking the
  /// lock.
  static func lockHolder(of path: String) throws(LedgerError) -> KioskLedger.LockHolder {
    try LedgerFile(path: path).refuseLinks()
    let descriptor = open(path + ".lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return .unlocked(lastHeartbeat: nil) }
      throw .cannotOpen(path, errno: errno)
    }
    defer { close(descriptor) }
    let isFree = flock(descriptor, LOCK_SH | LOCK_NB) == 0
    if isFree { flock(descriptor, LOCK_UN) }
    let record = LockRecord(readFrom: descriptor)
    return isFree ? .unlocked(lastHeartbeat: record.heartbeat) : .kiosk(process: record.process)
  }

  /// Records that the kiosk is online, unless the file has a heartbeat of this start of the system
  /// from the 100 ms before `now`: less than a sixth of one second, the smallest maximum age of an
  /// order.
  func recordHeartbeat(at now: Timestamp) {
    // guard: the heartbeat of an earlier boot is replaced
    if record.boot == boot, let last = record.heartbeat, now.isWithin(.milliseconds(100), of: last)
    {
      return
    }
    record.heartbeat = now
    record.boot = boot
    record.write(to: descriptor)
  }

  func recordAcknowledged(through seq: Int) {
    record.acknowledged = seq
    record.write(to: descriptor)
  }

  /// Deletes the recorded heartbeat and the recorded acknowledged entry.
  func clear() {
    (record.acknowledged, record.heartbeat) = (nil, nil)
    record.write(to: descriptor)
  }

  deinit {
    // close(2) alone is not enough: a new child process shares the descriptors until its exec.
    flock(descriptor, LOCK_UN)
    close(descriptor)
    if database >= 0 {
      setLock(F_UNLCK, of: database)
      close(database)
    }
  }
}

/// Sets or removes the lock of the last possible byte of a file. Returns whether it was possible.
@discardableResult
private func setLock(_ type: Int32, of file: Int32) -> Bool {
  var region = flock()
  region.l_type = Int16(type)
  region.l_whence = Int16(SEEK_SET)
  region.l_start = off_t.max - 1
  region.l_len = 1
  return fcntl(file, openFileLock, &region) == 0
}

/// `F_OFD_SETLK` of fcntl(2), which Swift does not import. A lock of an open file, unlike the locks of
/// SQLite, which belong to the process.
#if os(Linux)
private let openFileLock: Int32 = 37
#else
private let openFileLock: Int32 = 90
#endif

/// The content of the lock file: four numbers in a fixed number of bytes.
private struct LockRecord {
  var process: Int?
  var acknowledged: Int?
  var heartbeat: Timestamp?
  /// `SystemClock.boot` at the time of the heartbeat.
  var boot: Int?

  private static let length = 96

  init(readFrom descriptor: Int32) {
    var buffer = [UInt8](repeating: 0, count: Self.length)
    let count = max(0, pread(descriptor, &buffer, buffer.count, 0))
    let numbers = String(decoding: buffer[..<count], as: UTF8.self).split(separator: " ")
      .map { Int($0) }
    process = numbers.first ?? nil
    acknowledged = numbers.count > 1 ? numbers[1] : nil
    heartbeat = numbers.count > 2 ? numbers[2].map { Timestamp(milliseconds: Int64($0)) } : nil
    boot = numbers.count > 3 ? numbers[3] : nil
  }

  func write(to descriptor: Int32) {
    let numbers = [process, acknowledged, heartbeat.map { Int($0.milliseconds) }, boot]
    let words = numbers.map { $0.map(String.init) ?? "-" }
    let text = Array(words.joined(separator: " ").utf8)
    let rest = [UInt8](repeating: UInt8(ascii: " "), count: Self.length - text.count)
    pwrite(descriptor, text + rest, Self.length, 0)
  }
}
