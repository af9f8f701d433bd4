import JuiceDomain
package import KioskProtocol

/// The state of a machine's program as recorded in the ledger.
package struct ProgramRecord: Hashable, Sendable {
  /// The entry with which the program was last done, or the last entry before it was configured.
  package var seq: Int
  /// The time at which the program was last done, or was configured, by the wall clock of then.
  package var at: Timestamp
  /// The time of `at` as `ClockRecord.elapsed`, or `nil` until the first `Programs.apply` after the
  /// program was configured.
  package var elapsed: Duration?
  /// Whether the program was ever done.
  package var isDone: Bool
  /// The entry with which the program became due, or `nil` if it is not due.
  package var due: Due?
  /// The number of glasses that the machine has made since `at`, and the time of the last ones as
  /// `ClockRecord.elapsed`.
  package var glasses = 0
  package var made: Duration?

  package struct Due: Hashable, Sendable {
    package let seq: Int
    package let at: Timestamp
    package let cause: MachineProgram.Cause
    /// The time at which the program became due as `ClockRecord.elapsed`. It is before `at` if the
    /// kiosk was off then.
    package var elapsed: Duration

    package init(seq: Int, at: Timestamp, cause: MachineProgram.Cause, elapsed: Duration) {
      (self.seq, self.at, self.cause, self.elapsed) = (seq, at, cause, elapsed)
    }
  }

  package init(
    seq: Int, at: Timestamp, elapsed: Duration? = nil, isDone: Bool = false, due: Due? = nil
  ) {
    (self.seq, self.at, self.elapsed, self.isDone, self.due) = (seq, at, elapsed, isDone, due)
  }
}

extension ProgramRecord: StateRecord {
  package static let kind = StateKey.Kind.program

  package init(_ members: inout Members<Self>) throws(JSONError) {
    seq = try members.required("seq", \.seq)
    at = try members.required("at", \.at)
    elapsed = members.optional("elapsed_ms", \.elapsed)
    isDone = members.flag("done", \.isDone)
    due = try members.optional("due", \.due)
    glasses = try members.required("glasses", \.glasses)
    made = members.optional("made_ms", \.made)
  }
}

extension ProgramRecord.Due: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    seq = try members.required("seq", \.seq)
    at = try members.required("at", \.at)
    cause = try members.required("cause", \.cause)
    elapsed = try members.required("elapsed_ms", \.elapsed)
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
/// counts, also for `grace`. A time that is later than the wall clock showed at the start counts as
/// longer ago than any limit.
package struct Programs: Sendable {
  private let settings: [ProgramID: KioskSettings.Machine.Program]
  private(set) var records: Journaled<ProgramID, ProgramRecord>
  /// The uptimes before which the kiosk does not request programs that failed. Not stored in the
  /// ledger.
  private var retries: [ProgramID: Duration] = [:]
  /// The uptimes of the last opening and closing by the hours, or `nil` if the kiosk has not
  /// determined them yet.
  var edges: [MachineProgram.Cause: Duration]?
  /// The machines whose `clean` is overdue.
  private(set) var closed: Set<MachineID> = []
  /// The wall clock minus the uptime, in milliseconds, with an error of at most two seconds.
  private var offset: Int64 = 0
  /// See `ElapsedClock.base`. Is `nil` before the first `apply`.
  private var base: Duration?

  /// Time after a failed attempt until the kiosk requests the program again.
  static let retryInterval = Duration.seconds(300)

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
  ///
  /// - Parameter other: The programs of before, or `nil` if there were none.
  mutating func adopt(_ other: Programs?, _ clock: ElapsedClock) {
    base = clock.base
    guard let other else { return }
    for (id, old) in other.records.records {
      // The times of the ledger may be those before or after the last step of the clock.
      guard let own = records[id], own.seq == old.seq, own.due?.seq == old.due?.seq,
        own.glasses == old.glasses
      else { continue }
      records[id] = old
    }
    (edges, offset, closed) = (other.edges, other.offset, other.closed)
    retries = other.retries.filter { id, _ in records[id]?.seq == other.records[id]?.seq }
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

  /// Adjusts the times that displays show after a step of the wall clock, and the machines that take
  /// no orders.
  mutating func update(at now: Moment) {
    let offset = now.timestamp.milliseconds - now.uptime.milliseconds
    if abs(offset - self.offset) > 2_000 { self.offset = offset }
    updateClosed(at: now.uptime)
  }

  /// Continues on the clock of `ElapsedClock`, on which a step that is time without power makes
  /// older what earlier starts have recorded. Begins the intervals of new programs.
  mutating func apply(_ step: ElapsedClock.Step, _ clock: ElapsedClock, at now: Moment) {
    let isStart = base == nil
    base = clock.base
    if isStart {
      let longAgo = clock.base + clock.startedAt - .unknownAge
      // guard: a clock that was set back makes nothing fresh
      move { clock.isAgeUnknown(of: $1) ? min($1, longAgo) : $1 }
    }
    if step.passed > .zero {
      // guard: the hours by a clock in doubt are not those by the time of the network
      edges = nil
      // guard: what this start has recorded is not older by the time without power
      move { $0 > step.ages || !clock.isEarlier($1) ? $1 + step.passed : $1 }
      for (id, record) in records.records {
        guard let due = record.due, let time = dueTime(of: id) else { continue }
        let since = elapsed(at: time.at)
        // guard: the time without power counts as overdue also if it is known later
        records[id]?.due?.elapsed = min(due.elapsed, since)
      }
    }
    for (id, record) in records.records where record.elapsed == nil && settings[id] != nil {
      // The process that configured it may have ended before its first decision.
      let age = isStart ? max(.zero, now.timestamp.since(record.at)) : .zero
      let began = elapsed(at: now.uptime) - age
      records[id]?.elapsed = began
    }
  }

  /// Changes the times of the records.
  ///
  /// - Parameter moved: Returns the new time for the number of the entry and the time. Glasses were made
  ///   after the entry of their record.
  private mutating func move(_ moved: (_ seq: Int, _ time: Duration) -> Duration) {
    for (id, var record) in records.records {
      record.elapsed = record.elapsed.map { moved(record.seq, $0) }
      record.made = record.made.map { moved(record.seq, $0) }
      if let due = record.due { record.due?.elapsed = moved(due.seq, due.elapsed) }
      records[id] = record
    }
  }

  /// Returns the uptime at a time of `ClockRecord.elapsed`.
  private func uptime(at elapsed: Duration?) -> Duration? {
    guard let base, let elapsed else { return nil }
    return elapsed - base
  }

  private func elapsed(at uptime: Duration) -> Duration { uptime + (base ?? .zero) }

  /// Returns a time of `ClockRecord.elapsed` by the wall clock of now.
  ///
  /// - Parameter entry: The time of the entry, which counts if the age is unknown.
  private func shown(_ elapsed: Duration?, or entry: Timestamp) -> Timestamp {
    guard let uptime = uptime(at: elapsed), uptime + Duration.unknownAge / 2 > .zero else {
      return entry
    }
    return Timestamp(milliseconds: offset + uptime.milliseconds)
  }

  /// Returns the uptime at which a program becomes due by time, and the cause. Returns `nil` if no
  /// time is known, for example before the next glass.
  private func dueTime(of id: ProgramID) -> (at: Duration, cause: MachineProgram.Cause)? {
    guard let setting = settings[id], let record = records[id],
      let done = uptime(at: record.elapsed)
    else { return nil }
    var times: [(at: Duration, cause: MachineProgram.Cause)] = []
    if let hours = setting.every { times.append((done + hours, .hours)) }
    if let idle = setting.idle, let made = uptime(at: record.made) {
      times.append((made + idle, .idle))
    }
    if let edge = setting.at, let at = edges?[edge], at > done { times.append((at, edge)) }
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

  private mutating func updateClosed(at uptime: Duration) {
    closed = Set(records.records.keys.filter { isOverdue($0, at: uptime) }.map(\.machine))
  }

  private func isOverdue(_ id: ProgramID, at now: Duration) -> Bool {
    guard id.program == .clean, let setting = settings[id],
      let due = uptime(at: records[id]?.due?.elapsed)
    else { return false }
    // guard: an overdue cleaning closes the machine
    return now - due >= setting.grace
  }

  /// Returns whether the kiosk may request a program that is due.
  func isRequestable(_ id: ProgramID, at now: Moment) -> Bool {
    guard records[id]?.due != nil, settings[id]?.isAutomatic == true else { return false }
    // guard: a program that failed is not tried again at once
    return retries[id].map { $0 <= now.uptime } ?? true
  }

  /// Returns the time until a program becomes due or overdue, or may be requested, or a time must
  /// be stored; or `nil` if only a message can cause that.
  func wait(at now: Moment, canRun: (ProgramID) -> Bool) -> Duration? {
    guard records.isSaved else { return .zero }
    var times: [Duration] = []
    for (id, record) in records.records {
      guard let setting = settings[id] else { continue }
      if record.due == nil {
        if let time = dueTime(of: id) { times.append(time.at) }
        continue
      }
      if id.program == .clean, !closed.contains(id.machine),
        let due = uptime(at: record.due?.elapsed)
      {
        times.append(due + setting.grace)
      }
      if setting.isAutomatic, canRun(id) { times.append(retries[id] ?? now.uptime) }
    }
    return times.min().map { max($0 - now.uptime, .zero) }
  }

  // MARK: Changes

  /// Records that a program is due.
  ///
  /// - Parameter since: The uptime since which it is due, which may be before the start.
  mutating func becameDue(
    _ id: ProgramID, _ entry: LedgerEntry, _ cause: MachineProgram.Cause, since: Duration,
    at uptime: Duration
  ) {
    let due = ProgramRecord.Due(
      seq: entry.seq, at: entry.at, cause: cause, elapsed: elapsed(at: since))
    records[id]?.due = due
    updateClosed(at: uptime)
  }

  /// Records the end of an attempt.
  ///
  /// - Parameter entry: The entry of a program that was done, or `nil` if it failed.
  mutating func ended(_ id: ProgramID, done entry: LedgerEntry?, at uptime: Duration) {
    guard records[id] != nil else { return }
    retries[id] = entry == nil ? uptime + Self.retryInterval : nil
    guard let entry else { return }
    records[id] = ProgramRecord(
      seq: entry.seq, at: entry.at, elapsed: elapsed(at: uptime), isDone: true)
    updateClosed(at: uptime)
  }

  /// Counts glasses that a machine has made.
  mutating func made(_ glasses: Int, by machine: MachineID, at now: Moment) {
    let time = elapsed(at: now.uptime)
    for id in ids(of: machine) {
      records[id]?.glasses += glasses
      records[id]?.made = time
    }
  }

  /// Adds to a transaction the changes since the last call.
  mutating func save(in transaction: inout LedgerTransaction) { records.save(in: &transaction) }

  // MARK: Reports

  /// Returns the published state of a program.
  ///
  /// - Parameter missing: Returns the part of an amount of fruit that the stock lacks.
  func report(
    of id: ProgramID, job: Job?, waiting: String?, missing: (FruitAmounts) -> FruitAmounts
  ) -> MachineReport.Program {
    var report = MachineReport.Program(id.program)
    guard let setting = settings[id], let record = records[id] else { return report }
    let lacking = missing(setting.uses)
    report.last = record.isDone ? shown(record.elapsed, or: record.at) : nil
    report.dueAt =
      record.due.map { shown($0.elapsed, or: $0.at) }
      ?? dueTime(of: id).map {
        Timestamp(milliseconds: offset + $0.at.milliseconds)
      }
    report.glassesLeft = setting.everyGlasses.map { max(0, $0 - record.glasses) }
    report.due = record.due?.cause
    report.isOverdue = id.program == .clean && closed.contains(id.machine)
    report.isManual = !setting.isAutomatic
    report.missing = lacking.isEmpty ? nil : lacking
    (report.job, report.state, report.waiting) = (job?.number, job?.state, waiting)
    return report
  }
}
