import JuiceDomain
package import KioskProtocol

/// The state of a machine's program as recorded in the ledger.
package struct ProgramRecord: Hashable, Sendable {
  /// The entry with which the program was last done, or the last entry before it was configured.
  package var seq: Int
  /// The time at which the program was last done, or was configured.
  package var at: Timestamp
  /// Whether the program was ever done.
  package var isDone: Bool
  /// The entry with which the program became due, or `nil` if it is not due.
  package var due: Due?
  /// The number of glasses that the machine has made since `at`, and the time of the last ones.
  package var glasses = 0
  package var madeAt: Timestamp?

  package struct Due: Hashable, Sendable {
    package let seq: Int
    package var at: Timestamp
    package let cause: MachineProgram.Cause

    package init(seq: Int, at: Timestamp, cause: MachineProgram.Cause) {
      self.seq = seq
      self.at = at
      self.cause = cause
    }
  }

  package init(seq: Int, at: Timestamp, isDone: Bool = false, due: Due? = nil) {
    self.seq = seq
    self.at = at
    self.isDone = isDone
    self.due = due
  }
}

extension ProgramRecord: StateRecord {
  package static let kind = StateKey.Kind.program

  package init(_ members: inout Members<Self>) throws(JSONError) {
    seq = try members.required("seq", \.seq)
    at = try members.required("at", \.at)
    isDone = members.flag("done", \.isDone)
    due = try members.optional("due", \.due)
    glasses = try members.required("glasses", \.glasses)
    madeAt = members.optional("made_at", \.madeAt)
  }
}

extension ProgramRecord.Due: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    seq = try members.required("seq", \.seq)
    at = try members.required("at", \.at)
    cause = try members.required("cause", \.cause)
  }
}

/// The schedule of the machines' programs: which are due, and since when.
///
/// A program is due when the time `every` has passed since it was last done, after `everyGlasses`
/// glasses, when the time `idle` has passed since the machine's last glass, and at opening or
/// closing. It stays due until it is done. While a `clean` is due for longer than its `grace`, the
/// machine takes no orders.
///
/// The monotonic clock measures durations, because the wall clock may be set, and `ElapsedClock`
/// measures a duration that began in an earlier process: the time for which the kiosk was off
/// counts, also for `grace`. If a time is later than the last record, its duration counts as longer
/// than any limit.
package struct Programs: Sendable {
  private let settings: [ProgramID: KioskSettings.Machine.Program]
  private(set) var records: Journaled<ProgramID, ProgramRecord>
  /// The times of the records as uptimes, and the uptime before which the kiosk does not request a
  /// program that failed. Not stored in the ledger.
  private var timers: [ProgramID: ProgramTimer] = [:]
  /// The uptimes of the last opening and closing by the hours, or `nil` if the kiosk has not
  /// determined them yet.
  var edges: [MachineProgram.Cause: Duration]?
  /// The wall clock minus the uptime, in milliseconds, with an error of at most two seconds.
  private var offset: Int64 = 0
  /// See `ElapsedClock.correction`.
  private var correction: Int64 = 0

  /// Time after a failed attempt until the kiosk requests the program again.
  static let retryInterval = Duration.seconds(300)

  private struct ProgramTimer: Sendable {
    var done: Duration
    var made: Duration?
    var due: Duration?
    var retry: Duration?
  }

  /// Creates a schedule.
  ///
  /// - Returns: The schedule, or `nil` if no machine has a program.
  init?(_ settings: KioskSettings, records: [ProgramID: ProgramRecord]) {
    var programs: [ProgramID: KioskSettings.Machine.Program] = [:]
    for machine in settings.machines {
      for (program, setting) in machine.programs {
        programs[ProgramID(machine: machine.name, program: program)] = setting
      }
    }
    if programs.isEmpty { return nil }
    self.settings = programs
    self.records = Journaled(records)
  }

  /// Copies the state that the ledger does not store.
  mutating func adopt(_ other: Programs) {
    for id in other.records.changed {
      // The ledger may lack a step of the clock.
      guard var record = records[id], let old = other.records[id], record.seq == old.seq,
        record.due?.seq == old.due?.seq, record.glasses == old.glasses
      else { continue }
      (record.at, record.madeAt, record.due) = (old.at, old.madeAt, old.due)
      records[id] = record
    }
    (edges, offset) = (other.edges, other.offset)
    timers = other.timers.filter { id, _ in
      let (own, old) = (records[id], other.records[id])
      return own?.seq == old?.seq && own?.due == old?.due
    }
  }

  /// Whether any program is due at opening or closing.
  var usesHours: Bool { settings.values.contains { $0.at != nil } }

  subscript(id: ProgramID) -> KioskSettings.Machine.Program? { settings[id] }

  /// Returns the configured programs of a machine, in the order in which they run.
  func ids(of machine: MachineID) -> [ProgramID] {
    MachineProgram.allCases.map { ProgramID(machine: machine, program: $0) }
      .filter { settings[$0] != nil }
  }

  // MARK: Time

  /// Converts the times of an earlier process to the monotonic clock, and adjusts the times that
  /// displays show after a step of the wall clock.
  mutating func update(at now: Moment) {
    let offset = now.timestamp.milliseconds - now.uptime.milliseconds
    if abs(offset - self.offset) > 2_000 { self.offset = offset }
    for (id, record) in records.records where settings[id] != nil && timers[id] == nil {
      timers[id] = ProgramTimer(
        done: uptime(of: record.at, now), made: record.madeAt.map { uptime(of: $0, now) })
      // guard: the time for which the kiosk was off counts as overdue
      let dueTime = dueTime(of: id)?.at ?? now.uptime
      let due = record.due.map { min(uptime(of: $0.at, now), dueTime) }
      timers[id]?.due = due
    }
    correction = 0
  }

  /// Moves the times of the records by a step of the clock, because the next start compares them
  /// with the clock. Makes the times of earlier starts older by a step that is time which has passed.
  mutating func apply(_ step: ElapsedClock.Step, _ elapsed: ElapsedClock) {
    // Before the first `update` the step belongs to the start.
    let isStart = timers.isEmpty
    correction = elapsed.correction + (isStart ? step.passed.milliseconds : 0)
    // While the clock is in doubt, a step forward may be time that has passed.
    let moved = step.ages > 0 ? min(step.milliseconds, 0) : step.milliseconds
    // At a start after the computer was off, the step is unknown.
    if moved != 0, !isStart || elapsed.correction != 0 {
      // guard: a clock that is set makes no program fresher at the next start
      move(by: moved)
      correction -= elapsed.correction
    }
    guard step.passed > .zero else { return }
    func older(_ time: Duration) -> Duration { elapsed.older(time, by: step) }
    timers = timers.mapValues { timer in
      var timer = timer
      timer.done = older(timer.done)
      (timer.made, timer.due) = (timer.made.map(older), timer.due.map(older))
      return timer
    }
  }

  private mutating func move(by step: Int64) {
    func moved(_ time: Timestamp) -> Timestamp {
      Timestamp(milliseconds: time.milliseconds + step)
    }
    for (id, record) in records.records {
      var record = record
      (record.at, record.madeAt) = (moved(record.at), record.madeAt.map(moved))
      if let due = record.due { record.due?.at = moved(due.at) }
      records[id] = record
    }
  }

  private func uptime(of time: Timestamp, _ now: Moment) -> Duration {
    let age = now.timestamp.since(time) + .milliseconds(correction)
    // guard: a clock that was set back makes nothing fresh
    return now.uptime - (age < .zero ? .unknownAge : age)
  }

  /// Returns the uptime at which a program becomes due by time, and the cause. Returns `nil` if no
  /// time is known, for example before the next glass.
  private func dueTime(of id: ProgramID) -> (at: Duration, cause: MachineProgram.Cause)? {
    guard let setting = settings[id], let timer = timers[id] else { return nil }
    var times: [(at: Duration, cause: MachineProgram.Cause)] = []
    if let hours = setting.every { times.append((timer.done + hours, .hours)) }
    if let idle = setting.idle, let made = timer.made { times.append((made + idle, .idle)) }
    if let edge = setting.at, let at = edges?[edge], at > timer.done { times.append((at, edge)) }
    return times.min { $0.at < $1.at }
  }

  /// Returns the programs that have become due, and their causes.
  ///
  /// - Returns: Also the uptime at which each program became due, which may be before the start.
  func newlyDue(
    at now: Moment
  ) -> [(id: ProgramID, cause: MachineProgram.Cause, since: Duration)] {
    var due: [(id: ProgramID, cause: MachineProgram.Cause, since: Duration)] = []
    for (id, record) in records.records where record.due == nil {
      let time = dueTime(of: id).flatMap { $0.at <= now.uptime ? $0 : nil }
      if let glasses = settings[id]?.everyGlasses, record.glasses >= glasses {
        due.append((id, .glasses, time?.at ?? now.uptime))
      } else if let time {
        due.append((id, time.cause, time.at))
      }
    }
    return due.sorted { $0.id.description < $1.id.description }
  }

  /// Returns the machines whose `clean` is overdue.
  func closedMachines(at now: Moment) -> Set<MachineID> {
    Set(records.records.keys.filter { isOverdue($0, at: now) }.map(\.machine))
  }

  private func isOverdue(_ id: ProgramID, at now: Moment) -> Bool {
    guard id.program == .clean, let setting = settings[id], let due = timers[id]?.due else {
      return false
    }
    // guard: an overdue cleaning closes the machine
    return now.uptime - due >= setting.grace
  }

  /// Returns whether the kiosk may request a program that is due.
  func isRequestable(_ id: ProgramID, at now: Moment) -> Bool {
    guard records[id]?.due != nil, settings[id]?.isAutomatic == true else { return false }
    // guard: a program that failed is not tried again at once
    return timers[id]?.retry.map { $0 <= now.uptime } ?? true
  }

  /// Returns the time until a program becomes due or overdue, or may be requested; or `nil` if only
  /// a message can cause that.
  ///
  /// - Parameter closed: The machines whose `clean` is overdue already.
  func wait(at now: Moment, closed: Set<MachineID>, canRun: (ProgramID) -> Bool) -> Duration? {
    var times: [Duration] = []
    for (id, record) in records.records {
      guard let setting = settings[id] else { continue }
      if record.due == nil {
        if let time = dueTime(of: id) { times.append(time.at) }
        continue
      }
      if id.program == .clean, let due = timers[id]?.due, !closed.contains(id.machine) {
        times.append(due + setting.grace)
      }
      if setting.isAutomatic, canRun(id) { times.append(timers[id]?.retry ?? now.uptime) }
    }
    return times.min().map { max($0 - now.uptime, .zero) }
  }

  // MARK: Changes

  mutating func becameDue(_ id: ProgramID, _ due: ProgramRecord.Due, at uptime: Duration) {
    records[id]?.due = due
    timers[id]?.due = uptime
  }

  /// Records the end of an attempt.
  ///
  /// - Parameter entry: The entry of a program that was done, or `nil` if it failed.
  mutating func ended(_ id: ProgramID, done entry: LedgerEntry?, at uptime: Duration) {
    guard records[id] != nil else { return }
    guard let entry else {
      timers[id]?.retry = uptime + Self.retryInterval
      return
    }
    records[id] = ProgramRecord(seq: entry.seq, at: entry.at, isDone: true)
    timers[id] = ProgramTimer(done: uptime)
  }

  /// Counts glasses that a machine has made.
  mutating func made(_ glasses: Int, by machine: MachineID, at now: Moment) {
    for id in ids(of: machine) {
      records[id]?.glasses += glasses
      records[id]?.madeAt = now.timestamp
      timers[id]?.made = now.uptime
    }
  }

  /// Adds to a transaction the changes since the last call.
  mutating func save(in transaction: inout LedgerTransaction) { records.save(in: &transaction) }

  // MARK: Reports

  /// Returns the published state of a program.
  ///
  /// - Parameter missing: Returns the part of an amount of fruit that the stock lacks.
  func report(
    of id: ProgramID, job: Job?, waiting: String?, isClosed: Bool,
    missing: (FruitAmounts) -> FruitAmounts
  ) -> MachineReport.Program {
    var report = MachineReport.Program(id.program)
    guard let setting = settings[id], let record = records[id] else { return report }
    let lacking = missing(setting.uses)
    report.last = record.isDone ? record.at : nil
    report.dueAt =
      record.due?.at
      ?? dueTime(of: id).map {
        Timestamp(milliseconds: offset + $0.at.milliseconds)
      }
    report.glassesLeft = setting.everyGlasses.map { max(0, $0 - record.glasses) }
    report.due = record.due?.cause
    report.isOverdue = id.program == .clean && isClosed
    report.isManual = !setting.isAutomatic
    report.missing = lacking.isEmpty ? nil : lacking
    (report.job, report.state, report.waiting) = (job?.number, job?.state, waiting)
    return report
  }
}

extension Duration {
  package var milliseconds: Int64 {
    components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
  }
}
