import CommandLineSupport
import Fleet
import Foundation
import JuiceDomain
import KioskProtocol
import Logging
import ServiceLifecycle

/// Records the history of the fleet and the actions of users for 90 days: a file of records for each
/// day, to which it appends, and the state of `ActivityLog`.
actor ActivityStore: Service {
  /// Number of days before today whose files are stored. Days on which the dashboard did not run
  /// do not count, so the store removes at most one file after the clock is wrong once.
  static let retention = 90
  /// Maximum number of records that a page reads.
  static let maximumRecords = 5_000

  static let directory = "history"
  /// Maximum size of a file, in bytes: more than the limits of `ActivityLog.Room` permit with a thousand
  /// changes of rights, or 10,000 open alerts.
  private static let maximumSize = 16 << 20
  /// Minimum time between two writes of the state, and the time after which it is written even without
  /// a change. It therefore shows until when the dashboard ran.
  private static let (pause, heartbeat) = (Duration.seconds(15), Duration.seconds(300))

  private let link: KioskLink
  private let folder: StateFolder
  private let logger: Logger
  private let state: StateFile<ActivityLog>
  private let pastDays = PastDays()
  private var log: ActivityLog?
  /// The file of the log's day, and the part of the log that it has.
  private var today: RecordFile<ActivityLog.Line>?
  private var (appended, hasCut) = (0, false)
  private var hasChanged = false
  /// Whether the file has records that are not synced yet.
  private var isUnsynced = false
  private var failedLogins = FailedLoginReport()
  private var savedAt: Timestamp?
  private enum Part { case reading, records, state }
  /// The problem of each part that was logged last. It is not logged again before a write has succeeded.
  private var problems: [Part: String] = [:]
  private nonisolated let executor = DiskExecutor(label: "history")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(link: KioskLink, folder: StateFolder, logger: Logger) {
    (self.link, self.folder, self.logger) = (link, folder, logger)
    state = Self.state(in: folder)
  }

  /// The file of the state. The day in it is that of the last write, also if later days have files
  /// because the clock was ahead before.
  static func state(in folder: StateFolder) -> StateFile<ActivityLog> {
    StateFile(
      folder.path(of: "history-state.json"), upTo: maximumSize, makesFolder: true,
      withoutCopy: "current outages begin anew, and the next write replaces the file",
      encode: \.state, decode: { try ActivityLog(state: $0) })
  }

  /// The file of the records of a day.
  private static func file(
    of day: Int64, in folder: StateFolder
  ) -> RecordFile<ActivityLog.Line> {
    RecordFile(
      folder.path(of: "\(directory)/\(CivilDate(daysSinceEpoch: day)).jsonl"), upTo: maximumSize,
      mode: 0o600, makesFolder: true, whenDamaged: "the other lines are shown",
      encode: \.payload, decode: ActivityLog.Line.init(payload:))
  }

  func run() async {
    await cancelWhenGracefulShutdown {
      // The sleep throws only if the task is cancelled.
      while (try? await Task.sleep(for: .seconds(1))) != nil { await self.update() }
    }
    save(at: link.time)
  }

  /// Records the changes of the fleet since the last call, and writes what is due.
  func update() {
    let now = link.time
    let day = now.milliseconds / 86_400_000
    if current().day != day {
      // The log switches to today's file below: write the last records of the previous day first.
      if log?.day != 0 { save(at: now) }
      log?.begin(day: day, continuing: open(day))
      (appended, hasCut) = (log?.records.count ?? 0, log?.isCut ?? false)
      savedAt = nil
      removeOld()
    }
    let isConnected = link.connectionError == nil
    if log?.update(link.fleet, isConnected: isConnected, at: now, instant: .now) == true {
      hasChanged = true
    }
    if let sum = failedLogins.sum(at: .now) {
      log?.add(ActivityLog.Record(at: now, .action(sum)))
      isUnsynced = true
    }
    let age = savedAt.map { now.since($0) } ?? Self.heartbeat
    if age >= Self.heartbeat || (hasChanged && age >= Self.pause) || age < .zero {
      save(at: now)
    } else if isUnsynced, age >= Self.pause {
      append(isSynced: true)
    }
  }

  /// Whether the last write of the records and that of the state have succeeded.
  var isStored: Bool { problems[.records] == nil && problems[.state] == nil }

  /// Records an action of a user: one line. When the call returns, an action that changes something is
  /// on the disk; a login is after `pause`.
  func record(_ action: ActivityLog.Action) {
    update()
    log?.add(ActivityLog.Record(at: link.time, .action(action)))
    append(isSynced: !action.isLogin)
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
  /// - Returns: At most `maximumRecords` records, and whether this limit, one of `ActivityLog`, or a
  ///   file that cannot be read has excluded further records.
  func records(
    since start: Timestamp, where isWanted: @Sendable (ActivityLog.Record) -> Bool
  ) async -> (records: [ActivityLog.Record], isCut: Bool) {
    let today = current()
    let now = (today.open + today.records).filter { $0.isInPeriod(since: start) && isWanted($0) }
    let first = start.milliseconds / 86_400_000
    let files = days().reversed().filter { $0 >= first && $0 != today.day }
      .map { Self.file(of: $0, in: folder) }
    let past = await pastDays.read(
      files, since: start, upTo: Self.maximumRecords - now.count, where: isWanted)
    for problem in past.problems { report(problem, .reading) }
    let found = (now + past.records)
      .sorted { ($0.at, $0.kiosk?.text ?? "") > ($1.at, $1.kiosk?.text ?? "") }
    return (
      Array(found.prefix(Self.maximumRecords)),
      today.isCut || past.isCut || found.count > Self.maximumRecords
    )
  }

  private func current() -> ActivityLog {
    if let log { return log }
    let (stored, problem) = state.load()
    if let problem { report("\(problem)", .reading) }
    var log = stored ?? ActivityLog()
    if log.day != 0 {
      log.restore(open(log.day))
      (appended, hasCut) = (log.records.count, log.isCut)
    }
    self.log = log
    return log
  }

  /// Makes the file of a day the one to which the store appends, and returns its lines, or
  /// `Line.cut` if it cannot be read. Keeps what is no readable file under another name.
  private func open(_ day: Int64) -> [ActivityLog.Line] {
    let file = Self.file(of: day, in: folder)
    today = file
    do throws(StateError) { return try lines(of: file) } catch let problem {
      do throws(StateError) {
        let kept = try Disk.keepAside(file.path)
        report(
          "\(problem); it is kept as \(kept); \(Self.restoring(kept, to: file.path))", .reading)
        // The next start reads only the new file.
        try file.append([.cut])
      } catch {
        report("\(problem); \(error)", .reading)
      }
      return [.cut]
    }
  }

  /// Returns the command that adds the records of a kept file to the file of its day.
  static func restoring(_ kept: String, to path: String) -> String {
    "to restore its records: chmod 600 \(kept) && cat \(kept) >> \(path) && rm \(kept)"
  }

  /// Appends the records that the file does not have yet.
  private func append(isSynced: Bool) {
    guard let log, let today else { return }
    var lines = log.records.dropFirst(appended).map(ActivityLog.Line.record)
    if log.isCut, !hasCut { lines.append(.cut) }
    do throws(StateError) {
      try today.append(lines, isSynced: isSynced)
      (appended, hasCut, isUnsynced) = (log.records.count, log.isCut, !isSynced)
      (problems[.reading], problems[.records]) = (nil, nil)
    } catch {
      report("the history is not stored: \(error)", .records)
    }
  }

  private func save(at now: Timestamp) {
    guard let log, log.day != 0 else { return }
    (savedAt, hasChanged) = (now, false)
    append(isSynced: true)
    do throws(StateError) {
      try state.write(log)
      problems[.state] = nil
    } catch {
      report("the history is not stored: \(error)", .state)
    }
  }

  private func removeOld() {
    for day in days().dropLast(Self.retention) {
      do throws(StateError) { try Disk.remove(Self.file(of: day, in: folder).path) } catch {
        report("\(error)", .reading)
      }
    }
  }

  /// Returns the days that have a file, the earliest first.
  private func days() -> [Int64] {
    do throws(StateError) { return try Self.days(in: folder) } catch {
      report("\(error)", .reading)
      return []
    }
  }

  private static func days(in folder: StateFolder) throws(StateError) -> [Int64] {
    try Disk.names(in: folder.path(of: directory)).compactMap { day(of: $0) }
  }

  /// Returns the files of all days.
  static func files(
    in folder: StateFolder
  ) throws(StateError) -> [RecordFile<ActivityLog.Line>] {
    try days(in: folder).map { file(of: $0, in: folder) }
  }

  private func lines(
    of file: RecordFile<ActivityLog.Line>
  ) throws(StateError) -> [ActivityLog.Line] {
    let contents = try file.read(skipsDamage: true)
    if let problem = contents.problem { report("\(problem)", .reading) }
    return contents.records
  }

  private func report(_ text: String, _ part: Part) {
    if text != problems[part] { logger.error("\(text)") }
    problems[part] = text
  }

  /// Returns the day of a file, or `nil` for another file.
  private static func day(of name: String) -> Int64? {
    guard name.hasSuffix(".jsonl") else { return nil }
    return CivilDate(String(name.dropLast(6)))?.daysSinceEpoch
  }
}

/// Reads the files of past days for one page after the other, not on the actor of the store: a login
/// and a change wait until their record is stored.
private actor PastDays {
  private nonisolated let executor = DiskExecutor(label: "past days of the history")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Returns the wanted records of the files, until there are more than `limit`, and the problems of
  /// reading. `isCut` is true also if a file cannot be read.
  func read(
    _ files: [RecordFile<ActivityLog.Line>], since start: Timestamp, upTo limit: Int,
    where isWanted: @Sendable (ActivityLog.Record) -> Bool
  ) -> (records: [ActivityLog.Record], isCut: Bool, problems: [String]) {
    var records: [ActivityLog.Record] = []
    var (isCut, problems) = (false, [] as [String])
    for file in files where records.count <= limit {
      do throws(StateError) {
        let contents = try file.read(skipsDamage: true)
        if let problem = contents.problem { problems.append("\(problem)") }
        for line in contents.records {
          switch line {
          case .record(let record):
            if record.isInPeriod(since: start), isWanted(record) { records.append(record) }
          case .cut: isCut = true
          }
        }
      } catch {
        problems.append("\(error)")
        isCut = true
      }
    }
    return (records, isCut, problems)
  }
}

extension ActivityLog.Record {
  /// Returns whether the event ended at or after a time, or has not ended.
  fileprivate func isInPeriod(since start: Timestamp) -> Bool { end.map { $0 >= start } ?? true }
}
