import JuiceDomain
import KioskProtocol

/// The open jobs of a kiosk, and the machines that make them.
///
/// | state of a job | next state |
/// |---|---|
/// | `queued` | `sent` when its machine can take another job; returned if too old, blocked, or without fresh fruit |
/// | `sent` | `started` when the machine has begun; `lost` if too old and unanswered, blocked, or without fresh fruit |
/// | `started` | made, failed; `needsDecision` after `finishLimit`, not counting pauses |
/// | `lost`, `needsDecision` | ends, or is `queued` again, by an answer or a decision; `lost` also `started` |
///
/// A job is too old after `orders.maximumAge`. From every state but `queued`, the answers `done`
/// and `failed` end the job. The answer `cancelled` returns the fruit of a `sent` or `lost` job.
/// For an order, `unknown`, and `cancelled` after `started`, lead to `needsDecision`.
///
/// A job is made at most once, by two rules. A machine never begins a job unless its number is
/// above the last one that it has begun, and it stores that number across power cuts. The kiosk
/// publishes *make* only for a `sent` job that is not too old. Otherwise it publishes *cancel*,
/// which begins nothing; the machine answers with the state of the job.
///
/// The kiosk returns fruit only if the machine cannot have used it: the job was never sent, or the
/// machine has answered `cancelled` or `failed`. If the use is unknown, a person decides.
package struct Jobs: Sendable {
  private let settings: [KioskSettings.Machine]
  private let maximumAge: Duration
  /// The open jobs, in the order of their numbers.
  package var open: [Job] { jobs.all }
  private var jobs: OpenRecords<Job>
  private var records: Journaled<MachineID, MachineRecord>
  /// The timers of jobs, by `Job.seq`. Not stored in the ledger.
  private var timers: [Int: JobTimer] = [:]
  /// The uptimes at which jobs were accepted or queued again, by `Job.seq`. Not stored in the ledger.
  private var acceptedAt: [Int: Duration] = [:]
  private var silent: Set<MachineID> = []
  private var ready: [MachineID: [Int]] = [:]

  /// The number of consecutive failures after which a machine gets no jobs.
  static let maximumFailures = 3

  /// Times of a job, as uptimes.
  private struct JobTimer: Sendable {
    /// The time at which the job got its present state or this process created the timer, plus ended pauses.
    var since: Duration
    /// The time of the last request to the machine, or of its report of this state; or `nil` if a request is due.
    var requestedAt: Duration?
    /// The reason why the machine waits with the job, and the beginning of the wait, which does not
    /// count toward the limit; or `nil` if the machine does not wait.
    var pause: (reason: String, since: Duration)?
  }

  init(_ settings: KioskSettings, state: LedgerState) {
    self.settings = settings.machines
    maximumAge = settings.orders.maximumAge
    jobs = OpenRecords(state.jobs)
    records = Journaled(state.machines)
  }

  /// Copies the state that the ledger does not store.
  mutating func adopt(_ other: Jobs) {
    (timers, silent, ready) = (other.timers, other.silent, other.ready)
    adoptAges(of: other)
  }

  /// Copies the uptimes at which the orders were accepted.
  mutating func adoptAges(of other: Jobs) { acceptedAt = other.acceptedAt }

  // MARK: Machines

  func has(_ machine: MachineID) -> Bool { self[machine] != nil }

  private subscript(machine: MachineID) -> KioskSettings.Machine? {
    settings.first { $0.name == machine }
  }

  /// Returns whether a machine can get jobs, but not whether it takes orders.
  func isAvailable(_ machine: MachineID) -> Bool {
    // guard: a machine with three failures in a row gets no jobs
    guard let record = records[machine], record.failures < Self.maximumFailures else {
      return false
    }
    return record.status.isOnline && !silent.contains(machine)
      && self[machine]?.isEnabled == true
  }

  /// Returns the open job of a machine's program, or `nil` if there is none.
  func program(of machine: MachineID) -> Job? {
    open.first { $0.machine == machine && $0.program != nil }
  }

  /// Returns the reason why a machine waits with a job, or `nil` if it does not.
  func waitingReason(of job: Job) -> String? { timers[job.seq]?.pause?.reason }

  /// Returns whether a machine has the fruits of a recipe.
  func has(_ machine: MachineID, _ recipe: FruitAmounts) -> Bool {
    let missing = records[machine]?.status.missingFruits ?? []
    return missing.isEmpty || recipe.allSatisfy { !missing.contains($0.fruit) }
  }

  /// Returns the number of a machine's jobs that come before a new job.
  func count(of machine: MachineID) -> Int {
    open.count { $0.machine == machine && !$0.state.isUndecided }
  }

  /// Records a status that a machine published.
  ///
  /// - Parameter isRetained: Whether the broker had retained the message.
  mutating func record(
    _ status: MachineStatus, from machine: MachineID, isRetained: Bool, at uptime: Duration
  ) {
    let before = records[machine]
    var record = before ?? MachineRecord(status: status)
    record.status = status
    // guard: a status that the broker has kept opens no machine
    if status.isOnline, before?.status.isOnline != true || !isRetained {
      silent.remove(machine)
      // The machine gets one attempt: it is available after a success, unavailable after a failure.
      record.failures = min(record.failures, Self.maximumFailures - 1)
      for job in open where job.machine == machine { timers[job.seq]?.requestedAt = nil }
    }
    // An offline machine does not wait for a person, so the time counts toward the limit again.
    if status == .offline {
      for job in open where job.machine == machine { resume(job, at: uptime) }
    }
    records[machine] = record
  }

  /// Adds to a transaction the changes since the last call.
  mutating func save(in transaction: inout LedgerTransaction) {
    jobs.save(in: &transaction)
    records.save(in: &transaction)
  }

  // MARK: Jobs

  mutating func add(_ job: Job, at uptime: Duration) {
    jobs[job.seq] = job
    acceptedAt[job.seq] = uptime
  }

  func job(number: Int, of machine: MachineID) -> Job? {
    open.first { $0.number == number && $0.machine == machine }
  }

  /// Returns an open job that a person may decide about, or `nil` if there is none.
  ///
  /// - Parameter number: The number of the attempt. A decision about an earlier attempt may be
  ///   wrong for this one.
  func undecided(_ number: Int) -> Job? {
    // guard: a person decides only what no machine can report
    open.first { $0.number == number && $0.state.isUndecided }
  }

  /// Returns the open job of an order, or `nil` if there is none.
  func job(ofOrder seq: Int) -> Job? { jobs[seq] }

  /// Returns the number of the present attempt of an order, or `nil` if the order has no open job.
  func attempt(ofOrder seq: Int) -> Int? { jobs[seq]?.number }

  /// Records that a machine has answered, even if the job has ended.
  mutating func markResponsive(_ machine: MachineID) { silent.remove(machine) }

  /// Records an answer of a machine about a job.
  mutating func record(_ answer: MachineAnswer, from machine: MachineID) {
    switch answer.status {
    case .done: records[machine]?.failures = 0
    case .failed: records[machine]?.failures += 1
    case .started, .waiting, .cancelled, .unknown: break
    }
  }

  /// Changes the state of a job.
  ///
  /// - Parameters:
  ///   - uptime: The uptime at which the machine reported the state, or `nil` if the kiosk has set the
  ///     state by itself. Then the next request to the machine is due.
  ///   - reason: The reason why the order is `lost`, or `nil` if it is too old.
  mutating func set(
    _ job: Job, to state: JobState, receivedAt uptime: Duration? = nil,
    because reason: OrderFailure? = nil
  ) {
    jobs[job.seq]?.state = state
    jobs[job.seq]?.lostReason = reason
    timers[job.seq] = uptime.map { JobTimer(since: $0, requestedAt: $0) }
  }

  /// Stops the timer of a job while its machine waits.
  mutating func pause(_ job: Job, _ reason: String, at uptime: Duration) {
    let since = timers[job.seq]?.pause?.since ?? uptime
    timers[job.seq, default: JobTimer(since: uptime)].pause = (reason, since)
  }

  /// Continues the timer of a job after a pause.
  mutating func resume(_ job: Job, at uptime: Duration) {
    guard let pause = timers[job.seq]?.pause else { return }
    timers[job.seq]?.since += uptime - pause.since
    timers[job.seq]?.pause = nil
  }

  /// Puts a job that is to be made again at the end of the queue, under its new number.
  mutating func requeue(_ job: Job, at uptime: Duration) {
    // A machine begins only numbers above the last one, so the job goes behind all others.
    timers[job.seq] = nil
    add(job, at: uptime)
  }

  mutating func remove(_ job: Job, isMade: Bool) {
    jobs[job.seq] = nil
    timers[job.seq] = nil
    acceptedAt[job.seq] = nil
    guard isMade, case .order(_, let ticket) = job.work else { return }
    let tickets = [ticket.number] + (ready[job.machine] ?? [])
    ready[job.machine] = Array(tickets.prefix(MachineReport.maximumReadyTickets))
  }

  /// Changes queued jobs to `sent` if their machines can take another job.
  mutating func dispatch(at now: Moment) {
    for machine in settings where isAvailable(machine.name) {
      let own = open.filter { $0.machine == machine.name }
      let busy = own.filter { $0.state == .sent || $0.state == .started }
      // guard: the number of jobs of a machine at a time is limited
      var free = machine.atOnce - busy.count
      // guard: a machine whose program runs or needs a decision gets nothing else
      if own.contains(where: { $0.program != nil && $0.state.mayRun }) { free = 0 }
      var waiting = own.filter { $0.state == .queued && !isTooOld($0, at: now) }
      // A machine begins jobs in the order of their numbers, so the jobs behind a program wait.
      if let index = waiting.firstIndex(where: { $0.program != nil }) {
        // guard: a program starts when the machine has nothing else
        waiting.removeSubrange((index == 0 && busy.isEmpty ? 1 : index)...)
      }
      for job in waiting.prefix(max(0, free)) { set(job, to: .sent) }
    }
  }

  // MARK: Time

  /// Returns the age of an order by the monotonic clock, because the wall clock may be set while
  /// the order waits. Uses the wall clock for an order of an earlier process. If that clock shows a
  /// time before the order, the age is unknown, and the order counts as older than any limit.
  private func age(of job: Job, at now: Moment) -> Duration {
    if let acceptedAt = acceptedAt[job.seq] { return now.uptime - acceptedAt }
    let age = now.timestamp.since(job.at)
    return age < .zero ? .unknownAge : age
  }

  /// Notes that the ages of the jobs up to an entry are unknown.
  mutating func forgetAges(through seq: Int, at now: Moment) {
    for job in open where job.number <= seq {
      acceptedAt[job.seq] = now.uptime - .unknownAge
    }
  }

  private func isTooOld(_ job: Job, at now: Moment) -> Bool { age(of: job, at: now) > maximumAge }

  /// Converts the ages of the orders of an earlier process to the monotonic clock.
  private mutating func noteAges(at now: Moment) {
    for job in open where acceptedAt[job.seq] == nil {
      acceptedAt[job.seq] = now.uptime - age(of: job, at: now)
    }
  }

  /// Jobs whose time limit has passed.
  struct Overdue {
    /// Jobs that were queued for too long.
    var waiting: [Job] = []
    /// Jobs that were sent and not answered, and that exceed the maximum age of orders.
    var lost: [Job] = []
    /// Jobs that a machine has begun and not completed in time.
    var started: [Job] = []
  }

  mutating func overdue(at now: Moment) -> Overdue {
    noteAges(at: now)
    var overdue = Overdue()
    for job in open {
      if job.state == .queued {
        if isTooOld(job, at: now) { overdue.waiting.append(job) }
        continue
      }
      let timer = timers[job.seq] ?? JobTimer(since: now.uptime)
      timers[job.seq] = timer
      guard timer.pause == nil, let limit = limit(of: job), now.uptime - timer.since >= limit
      else { continue }
      silent.insert(job.machine)
      if job.state == .started {
        overdue.started.append(job)
      } else if isTooOld(job, at: now) {
        overdue.lost.append(job)
      }
    }
    return overdue
  }

  /// Returns the time within which the machine must report, or `nil` if there is no limit.
  private func limit(of job: Job) -> Duration? {
    switch job.state {
    case .sent: job.terms.startLimit
    case .started: job.terms.finishLimit
    case .queued, .lost, .needsDecision: nil
    }
  }

  /// Returns the time until the next timer of a job expires or the next request to a machine is
  /// due.
  ///
  /// - Returns: The time, or `nil` if only a message can change something.
  func wait(at now: Moment) -> Duration? {
    open.compactMap { wait(for: $0, at: now) }.min().map { max($0, .zero) }
  }

  private func wait(for job: Job, at now: Moment) -> Duration? {
    let age = maximumAge - age(of: job, at: now) + .milliseconds(1)
    if job.state == .queued { return age }
    guard let timer = timers[job.seq] else { return .zero }
    let isAway = records[job.machine]?.status == .offline || !has(job.machine)
    if !isAway, timer.requestedAt == nil { return .zero }
    guard timer.pause == nil, let limit = limit(of: job) else { return nil }
    let rest = timer.since + limit - now.uptime
    if rest > .zero || job.state == .started { return rest }
    // An offline machine gets no requests, so only the age of the job counts.
    return isAway ? age : (timer.requestedAt ?? now.uptime) + limit - now.uptime
  }

  /// Returns the requests that are due, and records them as sent.
  ///
  /// - Returns: For each request the machine, the number of the job, the order to make or `nil` for
  ///   *cancel*, and the time until the order is too old.
  mutating func messages(
    at now: Moment
  ) -> [(machine: MachineID, job: Int, order: MachineOrder?, rest: Duration)] {
    noteAges(at: now)
    var messages: [(machine: MachineID, job: Int, order: MachineOrder?, rest: Duration)] = []
    for job in open where job.state != .queued {
      // An offline machine gets its request when it is online again.
      guard has(job.machine), records[job.machine]?.status != .offline else { continue }
      var timer = timers[job.seq] ?? JobTimer(since: now.uptime)
      if let requestedAt = timer.requestedAt {
        guard job.state == .sent, now.uptime - requestedAt >= job.terms.startLimit else { continue }
      }
      timer.requestedAt = now.uptime
      timers[job.seq] = timer
      var order: MachineOrder?
      // guard: what a machine has begun is only asked about
      // guard: an order that waited too long is not made
      if job.state == .sent, !isTooOld(job, at: now) {
        order = job.request
      }
      messages.append((job.machine, job.number, order, maximumAge - age(of: job, at: now)))
    }
    return messages
  }

  /// Makes all requests due again, because those in flight may be lost.
  mutating func connectionLost() {
    for seq in timers.keys { timers[seq]?.requestedAt = nil }
  }

  // MARK: Reports

  /// Returns the published state of a machine, without its programs.
  func report(
    of settings: KioskSettings.Machine, takesOrders: Bool, isBlocked: Bool
  ) -> MachineReport {
    let machine = settings.name
    let own = open.filter { $0.machine == machine }
    var reason: String?
    var state = MachineReport.State.unknown
    switch records[machine]?.status {
    case .offline: state = .offline
    case .fault(let said): (state, reason) = (.fault, said.isEmpty ? nil : said)
    case .online, .out:
      let isBusy = own.contains { $0.state == .sent || $0.state == .started }
      let program = program(of: machine)
      let pause = own.lazy.compactMap { timers[$0.seq]?.pause }.first
      if !isAvailable(machine) {
        state = silent.contains(machine) ? .silent : .failing
      } else if let pause {
        (state, reason) = (.waiting, pause.reason)
      } else if program?.state == .sent || program?.state == .started {
        state = .cleaning
      } else if !takesOrders {
        state = .cleaningDue
      } else {
        state = isBusy ? .busy : .idle
      }
    case nil: break
    }
    if isBlocked { (state, reason) = (.fault, "blocked by a sensor") }
    if !settings.isEnabled { (state, reason) = (.disabled, nil) }
    return MachineReport(
      state: state, reason: reason,
      out: records[machine]?.status.missingFruits.sorted() ?? [],
      queue: own.count { $0.state == .queued && $0.program == nil },
      juices: settings.juices?.sorted(),
      jobs: Array(
        own.lazy.compactMap { $0.report(waiting: waitingReason(of: $0)) }
          .prefix(MachineReport.limit)),
      ready: ready[machine] ?? [])
  }
}

extension Job {
  /// The request to the machine to make the job.
  fileprivate var request: MachineOrder {
    switch work {
    case .order(let order, let ticket):
      MachineOrder(
        job: number, ticket: ticket.number, juice: order.juice, quantity: order.quantity,
        recipe: recipe)
    case .program(let program): MachineOrder(job: number, program: program, recipe: used)
    }
  }

  /// Returns the job as displays show it, or `nil` for a program.
  fileprivate func report(waiting: String?) -> MachineReport.Job? {
    guard case .order(let order, let ticket) = work else { return nil }
    return MachineReport.Job(
      job: seq, attempt: number, ticket: ticket.number, juice: order.juice,
      quantity: order.quantity, state: state, at: at, waiting: waiting)
  }
}

extension JobState {
  /// Whether the machine may be making the job. A `lost` job does not count.
  fileprivate var mayRun: Bool { self == .sent || self == .started || self == .needsDecision }
}
