import JuiceDomain
import KioskCore
import KioskProtocol
import MessageBroker

// Checks of jobs and machines: each change in the ledger needs a reason.
extension Auditor {
  var openJobs: [MachineModel.Job] {
    machineModel.jobs.values.filter { $0.end == nil }.sorted { $0.number < $1.number }
  }

  /// Whether a job must still end without a person.
  var hasUnfinishedJobs: Bool { openJobs.contains { !$0.state.isUndecided } }

  func maker(_ name: String) -> MachineConfiguration? {
    rules.makers.first { $0.name == name }
  }

  func answers(_ status: String, of job: MachineModel.Job) -> [MachineModel.Answer] {
    (machineModel.answers[.init(machine: job.machine, job: job.number)] ?? []).filter {
      $0.status == status
    }
  }

  /// Returns whether an order has waited too long, or `nil` if that is unknown: the clock was set, and
  /// the kiosk started again (at most a second before the auditor read the order), or the time is
  /// within a second of the limit.
  func isTooOld(
    _ job: MachineModel.Job, at now: Duration, wallClock: Int64
  ) -> Bool? {
    let limit = Duration.seconds(Model.maximumAge)
    guard let lastJump, lastJump + .seconds(1) >= job.uptime else {
      return .milliseconds(wallClock - job.at) > limit
    }
    let age = now - job.uptime
    let isNear = age > limit - .seconds(1) && age < limit + .seconds(1)
    return startedAt + .seconds(1) >= job.uptime || isNear ? nil : age > limit
  }

  // MARK: Deliveries

  mutating func kioskReceived(_ deliveries: [Delivery], at now: Duration) {
    receivedReadings(deliveries, at: now)
    (machineModel.lostBatch, machineModel.batch) = ([], [])
    (payments.lostBatch, payments.batch) = (.init(), .init())
    for message in deliveries.map(\.message) {
      let levels = message.topic.split(separator: "/").map(String.init)
      receivedPayment(levels, message)
      if levels.count == 5, levels[2] == "machine" {
        machineModel.batch.append(
          .status(text(message.payload), of: levels[3], isRetained: message.retain))
      } else if levels.count == 4, levels[2] == "made",
        let json = try? JSON.parse(message.payload), case .integer(let job) = json["job"],
        case .string(let status) = json["status"]
      {
        var answer = MachineModel.Answer(status: status)
        if case .string(let reason) = json["reason"] { answer.reason = reason }
        answer.used = json["used"]?.amounts.map { [String: Int]($0) }
        let key = MachineModel.JobKey(machine: levels[3], job: job)
        machineModel.answers[key, default: []].append(answer)
        machineModel.batch.append(.answer(answer, to: key))
        trace.append("\(levels[3]): \(status) \(job)")
      }
    }
    machineModel.endedInBatch = [:]
  }

  /// Records that the batch may be committed or not.
  mutating func batchIsLost() {
    (machineModel.lostBatch, machineModel.batch) = (machineModel.batch, [])
    (payments.lostBatch, payments.batch) = (payments.batch, .init())
  }

  /// Records that the kiosk has given up a batch that it could not commit.
  mutating func batchIsAbandoned() {
    batchIsLost()
    sensor.batchIsAbandoned()
  }

  mutating func batchIsOver() {
    machineModel.batch = []
    payments.batch = .init()
    sensor.before = nil
  }

  // MARK: Permitted outcomes

  /// Returns the job number that a person chooses: an undecided job if there is one.
  func job(_ pick: Int) -> Int {
    let waiting = openJobs.filter(\.state.isUndecided)
    let jobs = waiting.isEmpty ? openJobs : waiting
    return pick == 3 || jobs.isEmpty ? seq - pick : jobs[pick % jobs.count].number
  }

  func work(for message: Sent, at now: Duration, wallClock: Int64) -> Model.Work {
    var work = Model.Work()
    switch message.sending.content {
    case .order(let juice, _):
      let makers = rules.makers.filter { $0.makes(juice) }
      work.isNeeded = !makers.isEmpty && model.variant.recipes[juice] != nil
      for maker in makers
      where mayWork(maker.name) && !mustBeClosed(maker.name, at: now, wallClock: wallClock)
        && isBlocked(machine: maker.name) != .yes
      {
        work.places[maker.name] = places(maker.name)
      }
      work.mayBeDown = makers.allSatisfy {
        mayBeDown($0.name) || isBlocked(machine: $0.name) != .no
      }
      let closed = makers.filter { mayBeClosed($0.name, at: now, wallClock: wallClock) }
      work.mayBeCleaning =
        closed.contains { mayWork($0.name) }
        && makers.allSatisfy { maker in
          mayBeDown(maker.name) || isBlocked(machine: maker.name) != .no
            || closed.contains { $0.name == maker.name }
        }
    case .decide(_, _, let used):
      // A decision names an attempt, and counts only for that one.
      guard let job = openJobs.first(where: { $0.number == message.expected }) else { break }
      work.job = job.seq
      work.cost = cost(of: job, saying: used.map { ["kiwi": $0] })
      work.isFlawed = used.map { !canHaveUsed(["kiwi": $0], job) } ?? false
      work.mayNeedDecision = job.state.isUndecided || isMentioned(job)
      work.mayNotNeedDecision = !job.state.isUndecided || isMentioned(job)
    case .run(let program, let machine):
      if let machine = MachineID(machine) {
        work.steps = outcomes(of: ProgramID(machine: machine, program: program))
      }
    case .remove(let fruit, _): work.expired = batches.expiredAmount(of: fruit)
    case .settle, .judge, .restock, .bring, .service, .junk: break
    }
    return work
  }

  func isMentioned(_ job: MachineModel.Job) -> Bool {
    isInBatch {
      if case .answer(_, let key) = $0 { key.job == job.number } else { false }
    }
  }

  private func places(_ machine: String) -> ClosedRange<Int> {
    let own = openJobs.filter { $0.machine == machine }
    let least = own.count { !$0.state.isUndecided && !isMentioned($0) }
    return least + 1...own.count + 1
  }

  private func isInBatch(_ matches: (MachineModel.MachineMessage) -> Bool) -> Bool {
    (machineModel.batch + machineModel.lostBatch).contains(where: matches)
  }

  func mayWork(_ machine: String) -> Bool {
    let record = machineModel.records[machine]
    let saysOnline = isInBatch {
      if case .status("online", machine, _) = $0 { true } else { false }
    }
    let saysDone = isInBatch {
      if case .answer(let answer, let to) = $0 {
        to.machine == machine && answer.status == "done"
      } else {
        false
      }
    }
    return (record?.status == .online || saysOnline)
      && (record?.failures ?? 0 < 3 || saysOnline || saysDone)
  }

  func mayBeDown(_ machine: String) -> Bool {
    guard let record = machineModel.records[machine], record.status == .online else { return true }
    let failures = (machineModel.batch + machineModel.lostBatch).count {
      if case .answer(let answer, let to) = $0 {
        to.machine == machine && answer.status == "failed"
      } else {
        false
      }
    }
    return record.failures + failures >= 3 || machineModel.maybeSilent.contains(machine)
      || isInBatch {
        if case .status(let text, machine, _) = $0 { text != "online" } else { false }
      }
  }

  /// Returns the fruit that is lost with an attempt.
  func cost(of job: MachineModel.Job, saying used: [String: Int]?) -> [String: Int] {
    guard let used else { return maker(job.machine)?.returnsFruit == false ? job.used : [:] }
    return used.filter { $0.value > 0 }
  }

  func canHaveUsed(_ used: [String: Int]?, _ job: MachineModel.Job) -> Bool {
    (used ?? [:]).allSatisfy { (0...job.used[$0.key, default: 0]).contains($0.value) }
  }

  func left(of job: MachineModel.Job, without cost: [String: Int]) -> [String: Int] {
    job.used.merging(cost) { $0 - $1 }.filter { $0.value > 0 }
  }

  // MARK: Entries

  mutating func follow(_ entry: LedgerEntry, _ outcome: Model.Outcome, at now: Duration) {
    switch (outcome, entry.outcome.order) {
    case (.accepted(let used, _, let ticket, let machine, _), let order?):
      machineModel.jobs[entry.seq] = MachineModel.Job(
        seq: entry.seq, machine: machine, order: (order.juice.text, order.quantity),
        ticket: ticket, used: used, numbers: [entry.seq], at: entry.at.milliseconds,
        uptime: now, state: .queued, since: now)
    case (.program(let step), _): follow(step, entry, at: now)
    case (.decided(let choice, let number, _), _):
      guard var job = machineModel.jobs[number] else { return fail(.decision, "no job \(number)") }
      if choice == "again" {
        job.numbers.append(entry.seq)
        (job.at, job.uptime) = (entry.at.milliseconds, now)
        (job.state, job.since) = (.queued, now)
        machineModel.jobs[number] = job
      } else {
        var used: [String: Int]?
        if let index = lastDecider(entry),
          case .decide(_, _, let amount) = sent[index].sending.content
        {
          used = amount.map { ["kiwi": $0] }
        }
        let left = left(of: job, without: cost(of: job, saying: used))
        machineModel.decision = (entry.seq, number, choice, left)
      }
    default: break
    }
  }

  /// Returns the message that has become an entry.
  private func lastDecider(_ entry: LedgerEntry) -> Int? {
    sent.indices.last { sent[$0].seq == entry.seq }
  }

  mutating func checkEnd(
    _ entry: LedgerEntry, _ outcome: Model.Outcome, of number: Int, at now: Duration
  ) {
    guard let end = entry.outcome.end, var job = machineModel.jobs[end.job] else {
      return checkUnpaidEnd(entry, outcome, of: number, at: now)
    }
    if let first = job.endSeq {
      return fail(.twice, "job \(job.seq) ends with entry \(first) and entry \(entry.seq)")
    }
    let ordered = entries[job.seq]?.number
    if number != ordered || end.ticket.number != job.ticket || end.machine?.text != job.machine
      || end.order.juice.text != job.order.juice || end.order.quantity != job.order.quantity
    {
      fail(.ledger, "entry \(entry.seq) tells otherwise of job \(job.seq): \(end)")
    }
    let decision = machineModel.decision.flatMap {
      $0.seq == entry.seq - 1 && $0.job == job.seq ? $0 : nil
    }
    if !isValid(outcome, of: job, after: decision.map { ($0.choice, $0.left) }, entry.at, now) {
      fail(.decision, "entry \(entry.seq) has no reason: \(outcome), \(job)")
    }
    if case .made = outcome { noteGlasses(job.order.quantity, by: job.machine, at: now) }
    if decision != nil {
      machineModel.decision = nil
    } else if case .made = outcome {
      job.isMadeByMachine = true
      machineModel.endedInBatch[job.number] = "done"
    } else if case .failed = outcome {
      machineModel.endedInBatch[job.number] = "failed"
    }
    (job.end, job.endSeq, job.sentBefore) = (outcome, entry.seq, sent.count)
    machineModel.jobs[job.seq] = job
  }

  private func isValid(
    _ outcome: Model.Outcome, of job: MachineModel.Job,
    after decision: (choice: String, left: [String: Int])?, _ at: Timestamp, _ now: Duration
  ) -> Bool {
    let hasLeft = job.state != .queued
    let isCancelled =
      (job.state == .sent || job.state == .lost) && !answers("cancelled", of: job).isEmpty
    switch outcome {
    case .made:
      return decision?.choice == "poured" || hasLeft && !answers("done", of: job).isEmpty
    case .failed(_, let reason, let changes):
      return hasLeft
        && answers("failed", of: job).contains {
          ($0.reason ?? "failed") == reason && canHaveUsed($0.used, job)
            && left(of: job, without: cost(of: job, saying: $0.used)) == changes
        }
    case .returned(_, "cleaning", job.used):
      return !hasLeft && isTooOld(job, at: now, wallClock: at.milliseconds) != false
        && machineModel.jobs.values.contains {
          $0.machine == job.machine && $0.program != nil && $0.number < job.number
            && ($0.end == nil || $0.endSeq ?? 0 >= seq - 20)
        }
    case .returned(_, "given_back", let changes):
      return decision?.choice == "give_back" && decision?.left == changes
    case .returned(_, "waited_too_long", job.used):
      return hasLeft
        ? isCancelled : isTooOld(job, at: now, wallClock: at.milliseconds) != false
    case .returned(_, "expired", job.used):
      return (!hasLeft || isCancelled) && hasExpired(at: now)
    case .returned(_, "blocked", job.used):
      return hasLeft
        ? isCancelled && job.mayBeBlocked : mayBeBlocked(used: job.used, makers: [job.machine])
    case .returned(_, "payment_lost", job.used):
      guard !hasLeft, let charge = payments.charge(ofOrder: job.seq) else { return false }
      return ["declined", "released", "refunded"].contains { payments.has(charge, $0) }
    default: return false
    }
  }

  /// Returns whether the job of an entry had ended before a message was sent, so that its answer
  /// must report the end.
  func hasJobEnded(_ seq: Int, before number: Int) -> Bool {
    // A repeated request for a program gets its answer again.
    if let job = machineModel.jobs[seq], job.program != nil { return false }
    if let job = machineModel.jobs[seq] { return job.end != nil && number >= job.sentBefore }
    guard let order = payments.charge(ofOrder: seq).flatMap({ payments.charges[$0]?.order }) else {
      return false
    }
    return order.end != nil && number >= order.sentBefore
  }

  // MARK: State of jobs and machines

  mutating func noteSilence(at now: Duration) {
    for job in openJobs {
      guard let maker = maker(job.machine) else { continue }
      let limit = job.state == .sent ? maker.start : job.state == .started ? maker.finish : .max / 2
      if (now - job.since).components.seconds >= limit {
        machineModel.maybeSilent.insert(job.machine)
      }
    }
  }

  mutating func compare(
    _ jobs: [Job], _ machines: [MachineID: MachineRecord], at now: Duration, wallClock: Int64
  ) {
    if let decision = machineModel.decision {
      fail(.ledger, "job \(decision.job) goes on after \(decision.choice)")
    }
    let open = openJobs
    if jobs.map(\.seq) != open.map(\.seq) {
      fail(.ledger, "jobs \(jobs.map(\.seq)) are open, and not \(open.map(\.seq))")
      return
    }
    // A job that is lost, or needs a decision because its time limit has passed, makes its machine
    // silent, even if the kiosk's batch contains a later message of that machine.
    var overdue: Set<String> = []
    for (job, stored) in zip(open, jobs) {
      if stored.number != job.number {
        fail(.ledger, "job \(job.seq) has the number \(stored.number), and not \(job.number)")
      }
      if stored.state == .queued || stored.state == .sent, job.program == nil,
        isBlocked(job.used) == .yes || isBlocked(machine: job.machine) == .yes
      {
        fail(.forbidden, "job \(job) is \(stored.state), and blocked")
      }
      guard stored.state != job.state else { continue }
      if !isValid(stored.state, for: job, at: now, wallClock) {
        fail(.decision, "job \(job) is \(stored.state) without a reason")
      }
      trace.append("job \(job.seq) of \(job.machine): \(stored.state)")
      if stored.state == .lost
        || stored.state == .needsDecision && machineModel.maybeSilent.contains(job.machine)
      {
        overdue.insert(job.machine)
      }
      machineModel.jobs[job.seq]?.state = stored.state
      machineModel.jobs[job.seq]?.since = now
      let others = openJobs.filter { $0.machine == job.machine && $0.seq != job.seq }
      let hasMore =
        1 + others.count { $0.state == .sent || $0.state == .started }
      let isBlocked = others.contains { other in
        if other.number > job.number { return false }
        if job.program != nil { return other.state == .sent || other.state == .started }
        return other.program != nil && other.mayRun
      }
      if stored.state == .sent, isBlocked {
        fail(.decision, "\(job.machine) has \(job) besides \(others)")
      }
      if stored.state == .sent, hasMore > maker(job.machine)?.atOnce ?? 0 {
        fail(.decision, "\(job.machine) has \(hasMore) jobs at a time")
      }
    }
    replay(machines)
    noteSilence(at: now)
    machineModel.maybeSilent.formUnion(overdue)
  }

  private func isValid(
    _ state: JobState, for job: MachineModel.Job, at now: Duration, _ wallClock: Int64
  ) -> Bool {
    guard let maker = maker(job.machine) else { return false }
    let waited = now - job.since
    switch state {
    case .queued: return false
    case .sent: return job.state == .queued
    case .started:
      return (job.state == .sent || job.state == .lost) && !answers("started", of: job).isEmpty
    case .lost:
      // The auditor may read the ledger after the order was sent, and then blocked.
      let isBarred = job.program == nil && (job.mayBeBlocked || hasExpired(job, at: now))
      return (job.state == .queued || job.state == .sent) && isBarred
        || job.state == .sent && waited >= .seconds(maker.start)
          && isTooOld(job, at: now, wallClock: wallClock) != false
    case .needsDecision:
      return job.state != .queued && !answers("unknown", of: job).isEmpty
        || job.state != .queued
          && answers("failed", of: job).contains { !canHaveUsed($0.used, job) }
        || !answers("started", of: job).isEmpty && !answers("cancelled", of: job).isEmpty
        || job.state == .started && waited >= .seconds(maker.finish)
    }
  }

  /// Applies the current batch to the machine records, and compares the result with the ledger.
  private mutating func replay(_ machines: [MachineID: MachineRecord]) {
    let known = Dictionary(uniqueKeysWithValues: machines.map { ($0.key.text, $0.value) })
    defer { machineModel.records = known }
    guard !machineModel.batch.isEmpty else { return }
    var records = machineModel.records
    for saying in machineModel.batch {
      switch saying {
      case .status(let text, let machine, let isRetained):
        guard let status = MachineStatus(text.isEmpty ? "offline" : text) else { continue }
        var record = records[machine] ?? MachineRecord(status: .offline)
        if status == .online, record.status != .online || !isRetained {
          record.failures = min(record.failures, 2)
          machineModel.maybeSilent.remove(machine)
        }
        record.status = status
        records[machine] = record
      case .answer(let answer, let key):
        machineModel.maybeSilent.remove(key.machine)
        guard machineModel.endedInBatch[key.job] == answer.status else { continue }
        machineModel.endedInBatch[key.job] = nil
        if answer.status == "done" { records[key.machine]?.failures = 0 }
        if answer.status == "failed" { records[key.machine]?.failures += 1 }
      }
    }
    machineModel.batch = []
    if records != known { fail(.ledger, "machines are \(known), and not \(records)") }
  }

  // MARK: Messages to machines

  mutating func check(_ message: Message, at now: Duration, wallClock: Int64) {
    let levels = message.topic.split(separator: "/").map(String.init)
    trace.append("\(levels.dropFirst(2).joined(separator: "/")): \(text(message.payload))")
    guard let json = try? JSON.parse(message.payload), case .integer(let number) = json["job"],
      let job = openJobs.first(where: { $0.number == number }), job.machine == levels[3]
    else { return fail(.forbidden, "a machine received what the ledger does not have: \(message)") }
    guard message.topic.hasSuffix("/cancel") else {
      // The broker must not deliver the order to a machine that was offline after the order's
      // maximum age.
      let end = now + .seconds(Int64(message.expiry ?? .max) - 2)
      if isTooOld(job, at: end, wallClock: wallClock + (end - now).milliseconds) == true {
        fail(.forbidden, "the order to make job \(job.number) does not expire")
      }
      return check(order: json, for: job, at: now, wallClock)
    }
    if job.state == .queued
      || job.state == .sent && isTooOld(job, at: now, wallClock: wallClock) == false
    {
      fail(.forbidden, "job \(job) is cancelled")
    }
  }

  private mutating func check(
    order json: JSON, for job: MachineModel.Job, at now: Duration, _ wallClock: Int64
  ) {
    if job.state != .sent {
      fail(.forbidden, "\(job.machine) is to make job \(job.number), which is \(job.state)")
    }
    if isTooOld(job, at: now, wallClock: wallClock) == true {
      fail(.forbidden, "job \(job.number) has waited too long, and is to be made")
    }
    if let program = job.program {
      if json["program"] != .string(program.rawValue) || json["juice"] != nil
        || json["recipe"]?.amounts.map({ [String: Int]($0) }) != job.used
      {
        fail(.decision, "\(job.machine) is to make \(json), and job \(job) was requested")
      }
      return
    }
    let recipe = json["recipe"]?.amounts.map { [String: Int]($0) }
    if json["ticket"] != .integer(job.ticket) || json["juice"] != .string(job.order.juice)
      || json["quantity"] != .integer(job.order.quantity)
      || !(ConfigurationVariant.allCases.map { $0.recipes[job.order.juice] ?? [:] }.contains(
        recipe ?? [:]))
    {
      fail(.decision, "\(job.machine) is to make \(json), and job \(job) was ordered")
    }
  }

  // MARK: Displays

  /// Returns whether the juice can be made, according to the displayed state of its machines.
  func isMade(_ juice: String) -> Bool {
    let makers = rules.makers.filter { $0.makes(juice) }
    if isBlocked(model.variant.recipes[juice] ?? [:]) == .yes { return false }
    return makers.isEmpty || makers.contains { report(of: $0)?.takesOrders == true }
  }

  private func report(of maker: MachineConfiguration) -> MachineReport? {
    display["machine/\(maker.name)"].flatMap { try? MachineReport(payload: Array($0.utf8)) }
  }

  mutating func checkMachines(at now: Duration, wallClock: Int64) {
    for maker in rules.makers {
      let topic = "machine/\(maker.name)"
      guard let report = report(of: maker) else {
        fail(.display, "\(topic) shows \(display[topic] ?? "nothing")")
        continue
      }
      let own = openJobs.filter { $0.machine == maker.name }
      let orders = own.filter { $0.program == nil }
      let queue = orders.count { $0.state == .queued }
      let expected = orders.prefix(MachineReport.limit).map(\.shown)
      if report.queue != queue || !report.jobs.map(\.description).elementsEqual(expected) {
        fail(.display, "\(topic) shows \(display[topic] ?? ""), and not \(own)")
      }
      checkPrograms(report, own, of: maker, at: now, wallClock: wallClock)
      if !isRight(report, own, of: maker.name, at: now) {
        fail(
          .display, "\(topic) shows \(report.state), not \(machineModel.records[maker.name] as Any)"
        )
      }
    }
  }

  private func isRight(
    _ report: MachineReport, _ own: [MachineModel.Job], of machine: String, at now: Duration
  ) -> Bool {
    if isBlocked(machine: machine) == .yes {
      return report.state == .fault && report.reason == "blocked by a sensor"
    }
    guard let record = machineModel.records[machine] else { return report.state == .unknown }
    switch record.status {
    case .offline: return report.state == .offline
    case .fault(let reason): return report.state == .fault && report.reason == reason
    case .online, .out:
      if report.state == .silent { return machineModel.maybeSilent.contains(machine) }
      if record.failures >= 3 { return report.state == .failing }
      if own.contains(where: { $0.program != nil && ($0.state == .sent || $0.state == .started) }) {
        return report.state == .cleaning
      }
      if report.state == .cleaningDue { return mayBeClosed(machine, at: now, wallClock: nil) }
      if mustBeClosed(machine, at: now, wallClock: nil) { return false }
      let isBusy = own.contains { $0.state == .sent || $0.state == .started }
      return report.state == (isBusy ? .busy : .idle)
    }
  }

  // MARK: Pours

  mutating func checkPours(of machines: [Machine]) {
    for machine in machines where machine.keepsContract {
      let jobs = machineModel.jobs.values.filter { $0.machine == machine.name }
      let numbers = Set(jobs.flatMap(\.numbers))
      for (number, count) in machine.poured.sorted(by: { $0.key < $1.key }) {
        if count > 1 { fail(.twice, "\(machine.name) has poured job \(number) \(count) times") }
        if !numbers.contains(number) {
          fail(.forbidden, "\(machine.name) has poured \(number), which is no job")
        }
      }
      for job in jobs {
        let isPoured = machine.poured[job.number] != nil
        if job.isMadeByMachine, !isPoured { fail(.lost, "job \(job) was never poured") }
        if job.hasWaitedTooLong, isPoured {
          fail(.forbidden, "job \(job) was poured, and returned")
        }
      }
    }
  }
}

extension MachineModel.Job {
  /// Whether the machine may be at work on the job.
  fileprivate var mayRun: Bool {
    state == .sent || state == .started || state == .needsDecision
  }

  fileprivate var hasWaitedTooLong: Bool {
    switch end {
    case .returned(_, let reason, _):
      reason == "waited_too_long" || reason == "cleaning" || reason == "expired"
        || reason == "blocked"
    case .program(let step): step.reason == "waited_too_long"
    default: false
    }
  }

  fileprivate var shown: String {
    "\(seq), ticket \(ticket): \(order.quantity) \(order.juice), \(state)"
  }
}

extension MachineReport.Job {
  fileprivate var description: String {
    "\(job), ticket \(ticket): \(quantity) \(juice), \(state)"
  }
}
