import CommandLineSupport
import Fleet
import Foundation
import JuiceDomain
import KioskProtocol
import Logging
import ServiceLifecycle

/// Records the history of the fleet and the actions of users, in one file per day for 90 days.
actor ActivityStore: Service {
  /// Number of days before today whose files are stored. Days on which the dashboard did not run
  /// do not count, so the store removes at most one file after the clock is wrong once.
  static let retention = 90
  /// Maximum number of records that a page reads.
  static let maximumRecords = 5_000

  private static let directory = "history"
  /// The name of the file that stores the day of the last write. If the clock was ahead before,
  /// later days can have files, too.
  private static let latest = "history-latest"
  /// Maximum size of a file, in bytes: enough for 10,000 records and 10,000 open alerts.
  private static let maximumSize = 16 << 20
  /// Minimum time between two writes of changes of the fleet, and the time after which the file is
  /// written even without a new record. The file therefore shows until when the dashboard ran.
  private static let (pause, heartbeat) = (Duration.seconds(15), Duration.seconds(300))

  private let link: KioskLink
  private let folder: StateFolder
  private let logger: Logger
  private var log: ActivityLog?
  private var hasChanged = false
  private var failedLogins = FailedLoginReport()
  private var savedAt: Timestamp?
  /// The day in the file `latest`, or `nil` if this process has not written it yet.
  private var savedDay: Int64?
  /// The problem that was logged last. It is not logged again before a write has succeeded.
  private var problem: String?
  private nonisolated let executor = DiskExecutor(label: "history")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(link: KioskLink, folder: StateFolder, logger: Logger) {
    (self.link, self.folder, self.logger) = (link, folder, logger)
  }

  func run() async {
    await cancelWhenGracefulShutdown {
      // The sleep throws only if the task is cancelled.
      while (try? await Task.sleep(for: .seconds(1))) != nil { await self.update() }
    }
    save(at: link.time)
  }

  /// Records the changes of the fleet since the last call, and writes the file if a write is due.
  func update() {
    let now = link.time
    let day = now.milliseconds / 86_400_000
    if current().day != day {
      // The log switches to today's file below: write the last records of the previous day first.
      if log?.day != 0 { save(at: now) }
      log?.begin(day: day, continuing: stored(day))
      savedAt = nil
      removeOld()
    }
    if log?.update(link.fleet, isConnected: link.connectionError == nil, at: now) == true {
      hasChanged = true
    }
    if let sum = failedLogins.sum(at: .now) {
      log?.add(ActivityLog.Record(at: now, .action(sum)))
      hasChanged = true
    }
    let age = savedAt.map { now.since($0) } ?? Self.heartbeat
    if age >= Self.heartbeat || (hasChanged && age >= Self.pause) || age < .zero { save(at: now) }
  }

  /// Whether the last write has succeeded.
  var isStored: Bool { problem == nil }

  /// Records an action of a user. Writes the file immediately if the action changes something; the
  /// records of logins wait for the next write, so that many logins cause few writes.
  func record(_ action: ActivityLog.Action) {
    update()
    let now = link.time
    log?.add(ActivityLog.Record(at: now, .action(action)))
    if action.isLogin { hasChanged = true } else { save(at: now) }
  }

  /// Logs a login with a wrong name or password, or one that was rejected unchecked. Records the
  /// first one at once, and then the number of further ones every `FailedLoginReport.period`.
  func recordFailedLogin(_ name: String, from address: String) {
    let (line, action) = failedLogins.fail(name, from: address, at: .now)
    if let line { logger.notice("\(line)") }
    if let action { record(action) }
  }

  /// Returns the records that ended at or after a time or have not ended, the latest first.
  ///
  /// - Returns: At most `maximumRecords` records, and whether this limit or one of `ActivityLog`
  ///   has excluded further records.
  func records(
    since start: Timestamp, where isWanted: (ActivityLog.Record) -> Bool
  ) -> (records: [ActivityLog.Record], isCut: Bool) {
    let today = current()
    func wanted(_ records: [ActivityLog.Record]) -> [ActivityLog.Record] {
      records.filter { $0.end.map { $0 >= start } ?? true && isWanted($0) }
    }
    var (found, isCut) = (wanted(today.open) + wanted(today.records), today.isCut)
    let first = start.milliseconds / 86_400_000
    for day in days().reversed() where found.count <= Self.maximumRecords {
      guard day >= first, day != today.day, let log = read(day) else { continue }
      found += wanted(log.records)
      isCut = isCut || log.isCut
    }
    found.sort { ($0.at, $0.kiosk?.text ?? "") > ($1.at, $1.kiosk?.text ?? "") }
    return (Array(found.prefix(Self.maximumRecords)), isCut || found.count > Self.maximumRecords)
  }

  private func current() -> ActivityLog {
    if let log { return log }
    var latest: ActivityLog?
    let name = (try? folder.read(Self.latest, upTo: 64)).map { String(decoding: $0, as: UTF8.self) }
    let last = name.flatMap { CivilDate($0) }?.daysSinceEpoch
    for day in [last].compactMap(\.self) + Array(days().reversed()) where latest == nil {
      latest = read(day)
    }
    let log = latest ?? ActivityLog()
    self.log = log
    return log
  }

  /// Returns the log in the file of a day that begins, or an empty log if no file can be read.
  /// Renames an unreadable file, because `save(at:)` writes a file with the same name.
  private func stored(_ day: Int64) -> ActivityLog {
    if let log = read(day) { return log }
    let name = Self.name(of: day)
    do throws(StateError) { try folder.move(name, to: "\(name).unreadable") } catch {
      report("\(error)")
    }
    return ActivityLog()
  }

  private func save(at now: Timestamp) {
    guard let log, log.day != 0 else { return }
    (savedAt, hasChanged) = (now, false)
    do throws(StateError) {
      try folder.write(Self.name(of: log.day), Data(log.payload))
      if savedDay != log.day {
        try folder.write(Self.latest, Data("\(CivilDate(daysSinceEpoch: log.day))".utf8))
        savedDay = log.day
      }
      problem = nil
    } catch {
      report("the history is not stored: \(error)")
    }
  }

  private func removeOld() {
    for day in days().dropLast(Self.retention) {
      do throws(StateError) { try folder.remove(Self.name(of: day)) } catch {
        report("\(error)")
      }
    }
  }

  /// Returns the days that have a file, the earliest first.
  private func days() -> [Int64] {
    do throws(StateError) {
      return try folder.names(in: Self.directory).compactMap { Self.day(of: $0) }
    } catch {
      report("\(error)")
      return []
    }
  }

  private func read(_ day: Int64) -> ActivityLog? {
    let name = Self.name(of: day)
    do {
      guard let data = try folder.read(name, upTo: Self.maximumSize) else { return nil }
      return try ActivityLog(payload: Array(data))
    } catch {
      report("\(name) cannot be read: \(error)")
      return nil
    }
  }

  private func report(_ text: String) {
    if text != problem { logger.error("\(text)") }
    problem = text
  }

  private static func name(of day: Int64) -> String {
    "\(directory)/\(CivilDate(daysSinceEpoch: day)).json"
  }

  /// Returns the day of a file, or `nil` for another file.
  private static func day(of name: String) -> Int64? {
    guard name.hasSuffix(".json") else { return nil }
    return CivilDate(String(name.dropLast(5)))?.daysSinceEpoch
  }
}
