import JuiceDomain
package import KioskProtocol

/// The open jobs of a kiosk, and the machines that are to do them.
///
/// A job is made once at most, by two rules. A machine never begins a number that is not above the
/// last one it has begun; it keeps that one over a power cut. The kiosk says *make* only while it has
/// heard nothing of the job: from `started` on it asks with *cancel*, which begins nothing and is
/// answered with what became of the job.
///
/// The fruit goes back only if the machine cannot have begun: the job never left the kiosk, or the
/// machine has said `cancelled` or `failed`. What nobody can know is asked of a person.
package struct Jobs: Sendable {
  private let settings: [KioskSettings.Machine]
  private let maximumAge: Duration
  /// In the order of their numbers.
  package private(set) var open: [Job]
  private var records: [MachineID: MachineRecord]
  /// What this process knows beside that; gone with it.
  private var timers: [Int: JobTimer] = [:]
  private var silent: Set<MachineID> = []
  private var ready: [MachineID: [Int]] = [:]

  /// So many failures in a row close a machine.
  static let maximumFailures = 3

  /// By the clock that nobody sets.
  private struct JobTimer: Sendable {
    /// When this process has first seen the job in its present state.
    var since: Duration
    /// When the machine was asked last; `nil`: it is to be asked now.
    var requestedAt: Duration?
  }

  init(_ settings: KioskSettings, state: LedgerState) {
    self.settings = settings.machines
    maximumAge = settings.orders.maximumAge
    open = state.jobs
    records = state.machines
  }

  /// Goes on under other rules.
  mutating func adopt(_ other: Jobs) {
    (timers, silent, ready) = (other.timers, other.silent, other.ready)
  }

  // MARK: Machines

  func has(_ machine: MachineID) -> Bool { self[machine] != nil }

  private subscript(machine: MachineID) -> KioskSettings.Machine? {
    settings.first { $0.name == machine }
  }

  /// Whether a machine gets jobs.
  func isAvailable(_ machine: MachineID) -> Bool {
    // guard: a machine that has failed three times gets no more jobs
    guard let record = records[machine], record.failures < Self.maximumFailures else {
      return false
    }
    return record.status == .online && !silent.contains(machine) && has(machine)
  }

  /// Whether the juice is made by machines, and by which one an order is to be made now: the one with
  /// the shortest queue.
  func assignment(of juice: Juice.ID) -> (isNeeded: Bool, machine: MachineID?) {
    if settings.isEmpty { return (false, nil) }
    let makers = settings.lazy.filter { $0.makes(juice) }.map(\.name)
    let best = makers.filter { isAvailable($0) }.min { count(of: $0) < count(of: $1) }
    return (!makers.isEmpty, best)
  }

  /// Jobs before a new one.
  func count(of machine: MachineID) -> Int {
    open.count { $0.machine == machine && !$0.state.isUndecided }
  }

  /// - Parameter isRetained: the broker had kept it.
  /// - Returns: its record, if that is another one now.
  mutating func record(
    _ status: MachineStatus, from machine: MachineID, isRetained: Bool
  ) -> MachineRecord? {
    let before = records[machine]
    var record = before ?? MachineRecord(status: status)
    record.status = status
    // guard: a status that the broker has kept opens no machine
    if status == .online, before?.status != .online || !isRetained {
      silent.remove(machine)
      // One try: a success opens it for good, a failure closes it again.
      record.failures = min(record.failures, Self.maximumFailures - 1)
      for job in open where job.machine == machine { timers[job.seq]?.requestedAt = nil }
    }
    records[machine] = record
    return record == before ? nil : record
  }

  // MARK: The life of a job

  mutating func add(_ job: Job) { open.append(job) }

  func job(number: Int, of machine: MachineID) -> Job? {
    open.first { $0.number == number && $0.machine == machine }
  }

  /// The job that a person may decide on.
  func undecided(_ seq: Int) -> Job? {
    // guard: a person decides only what no machine can say
    open.first { $0.seq == seq && $0.state.isUndecided }
  }

  /// It answers, though it may be of a job that is over.
  mutating func markResponsive(_ machine: MachineID) { silent.remove(machine) }

  /// The machine has said something of a job.
  ///
  /// - Returns: its record, if that is another one now.
  mutating func record(_ answer: MachineAnswer, from machine: MachineID) -> MachineRecord? {
    guard let before = records[machine] else { return nil }
    var record = before
    switch answer.status {
    case .done: record.failures = 0
    case .failed: record.failures += 1
    case .started, .cancelled, .unknown: break
    }
    records[machine] = record
    return record == before ? nil : record
  }

  /// - Parameter uptime: when the machine has told so; `nil`: it is to be told, or asked.
  /// - Returns: the job as it is now.
  mutating func set(_ job: Job, to state: JobState, receivedAt uptime: Duration? = nil) -> Job {
    var job = job
    job.state = state
    if let index = open.firstIndex(where: { $0.seq == job.seq }) { open[index] = job }
    timers[job.seq] = uptime.map { JobTimer(since: $0, requestedAt: $0) }
    return job
  }

  /// It is made once more, under its new number.
  mutating func requeue(_ job: Job) {
    // A machine begins no number below one that it has begun: it goes behind all that wait.
    open.removeAll { $0.seq == job.seq }
    timers[job.seq] = nil
    open.append(job)
  }

  mutating func remove(_ job: Job, isMade: Bool) {
    open.removeAll { $0.seq == job.seq }
    timers[job.seq] = nil
    guard isMade else { return }
    let tickets = [job.ticket.number] + (ready[job.machine] ?? [])
    ready[job.machine] = Array(tickets.prefix(MachineReport.maximumReadyTickets))
  }

  /// The jobs whose turn has come, which machines have from now on.
  mutating func dispatch(at now: Timestamp) -> [Job] {
    var dispatched: [Job] = []
    for machine in settings where isAvailable(machine.name) {
      let own = open.filter { $0.machine == machine.name }
      // guard: a machine has no more jobs at a time than it takes
      let free = machine.atOnce - own.count { $0.state == .sent || $0.state == .started }
      let waiting = own.filter { $0.state == .queued && !isTooOld($0, at: now) }
      dispatched += waiting.prefix(max(0, free)).map { set($0, to: .sent) }
    }
    return dispatched
  }

  // MARK: Time

  private func isTooOld(_ job: Job, at now: Timestamp) -> Bool { now.since(job.at) > maximumAge }

  /// What the time has changed.
  struct Overdue {
    /// They have waited in the kiosk for too long.
    var waiting: [Job] = []
    /// They have waited for too long for a machine that is away.
    var lost: [Job] = []
    /// A machine has begun them, and not ended them in its time.
    var started: [Job] = []
  }

  mutating func overdue(at now: Moment) -> Overdue {
    var overdue = Overdue()
    for job in open {
      if job.state == .queued {
        if isTooOld(job, at: now.timestamp) { overdue.waiting.append(job) }
        continue
      }
      let timer = timers[job.seq] ?? JobTimer(since: now.uptime)
      timers[job.seq] = timer
      guard let limit = limit(of: job), now.uptime - timer.since >= limit else { continue }
      silent.insert(job.machine)
      if job.state == .started {
        overdue.started.append(job)
      } else if isTooOld(job, at: now.timestamp) {
        overdue.lost.append(job)
      }
    }
    return overdue
  }

  /// Within which the machine has to say something; `nil`: it need not.
  private func limit(of job: Job) -> Duration? {
    // A machine that the kiosk does not have any more says nothing.
    switch job.state {
    case .sent: self[job.machine]?.startLimit ?? .zero
    case .started: self[job.machine]?.finishLimit ?? .zero
    case .queued, .lost, .needsDecision: nil
    }
  }

  /// Until the time changes something, or a machine is to be told something; `nil`: until somebody
  /// says something.
  package func wait(at now: Moment) -> Duration? {
    open.compactMap { wait(for: $0, at: now) }.min().map { max($0, .zero) }
  }

  private func wait(for job: Job, at now: Moment) -> Duration? {
    let age = maximumAge - now.timestamp.since(job.at) + .milliseconds(1)
    if job.state == .queued { return age }
    guard let timer = timers[job.seq] else { return .zero }
    let isAway = records[job.machine]?.status == .offline || !has(job.machine)
    if !isAway, timer.requestedAt == nil { return .zero }
    guard let limit = limit(of: job) else { return nil }
    let rest = timer.since + limit - now.uptime
    if rest > .zero || job.state == .started { return rest }
    // Who is away is not asked again, but waited for.
    return isAway ? age : (timer.requestedAt ?? now.uptime) + limit - now.uptime
  }

  /// What machines are to be told now, which counts as told.
  mutating func messages(
    at now: Moment, menu: Menu
  ) -> [(machine: MachineID, job: Int, order: MachineOrder?, rest: Duration)] {
    var messages: [(machine: MachineID, job: Int, order: MachineOrder?, rest: Duration)] = []
    for job in open where job.state != .queued {
      // Who is away is told when it comes back.
      guard let machine = self[job.machine], records[job.machine]?.status != .offline else {
        continue
      }
      var timer = timers[job.seq] ?? JobTimer(since: now.uptime)
      if let requestedAt = timer.requestedAt {
        guard job.state == .sent, now.uptime - requestedAt >= machine.startLimit else { continue }
      }
      timer.requestedAt = now.uptime
      timers[job.seq] = timer
      var order: MachineOrder?
      // guard: what a machine has begun is only asked about
      // guard: what has waited too long is not made
      if job.state == .sent, !isTooOld(job, at: now.timestamp) {
        order = MachineOrder(
          job: job.number, ticket: job.ticket.number, juice: job.order.juice,
          quantity: job.order.quantity,
          recipe: menu.juice(job.order.juice)?.recipe.amounts ?? [:])
      }
      messages.append((job.machine, job.number, order, maximumAge - now.timestamp.since(job.at)))
    }
    return messages
  }

  /// What was on its way may not have arrived.
  mutating func connectionLost() {
    for seq in timers.keys { timers[seq]?.requestedAt = nil }
  }

  // MARK: What displays show

  package var reports: [(machine: MachineID, report: MachineReport)] {
    settings.map { ($0.name, report(of: $0)) }
  }

  private func report(of settings: KioskSettings.Machine) -> MachineReport {
    let machine = settings.name
    let own = open.filter { $0.machine == machine }
    var reason: String?
    var state = MachineReport.State.unknown
    switch records[machine]?.status {
    case .offline: state = .offline
    case .fault(let said): (state, reason) = (.fault, said.isEmpty ? nil : said)
    case .online:
      let isBusy = own.contains { $0.state == .sent || $0.state == .started }
      state =
        !isAvailable(machine)
        ? silent.contains(machine) ? .silent : .failing
        : isBusy ? .busy : .idle
    case nil: break
    }
    return MachineReport(
      state: state, reason: reason, queue: own.count { $0.state == .queued },
      juices: settings.juices?.sorted(),
      jobs: own.prefix(MachineReport.limit).map {
        MachineReport.Job(
          job: $0.seq, ticket: $0.ticket.number, juice: $0.order.juice,
          quantity: $0.order.quantity, state: $0.state, at: $0.at)
      }, ready: ready[machine] ?? [])
  }
}
