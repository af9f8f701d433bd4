import JuiceDomain
import KioskCore
import KioskProtocol

// Checks of machines' programs: each entry needs a cause, and an overdue cleaning closes.
extension Auditor {
  private func program(_ id: ProgramID) -> MachineConfiguration.Program? {
    maker(id.machine.text)?.programs[id.program]
  }

  private func openProgram(of machine: String) -> MachineModel.Job? {
    openJobs.first { $0.machine == machine && $0.program != nil }
  }

  private func uses(_ program: MachineConfiguration.Program) -> FruitAmounts {
    FruitAmounts(
      program.uses.compactMap { id, amount in Fruit.ID(id).map { (fruit: $0, amount: amount) } })
  }

  private func isShort(_ program: MachineConfiguration.Program) -> Bool {
    program.uses.contains { $0.value > model.shown[$0.key, default: 0] }
  }

  /// A program counts from the first start of a kiosk that has it.
  mutating func beginPrograms(at now: Duration) {
    for maker in rules.makers {
      guard let machine = MachineID(maker.name) else { continue }
      for program in maker.programs.keys {
        let id = ProgramID(machine: machine, program: program)
        machineModel.programs[id] = machineModel.programs[id] ?? .init(done: now)
      }
    }
  }

  /// Returns whether the kiosk may measure a time since `start` by another clock: the wall clock was
  /// set since.
  private func isUncertain(since start: Duration) -> Bool {
    lastJump.map { $0 + .seconds(1) >= start } ?? false
  }

  // MARK: Permitted outcomes

  /// Returns the permitted outcomes of a request.
  func outcomes(of id: ProgramID) -> [Model.Outcome] {
    guard let program = program(id) else { return [.rejected("unknown_machine")] }
    let machine = id.machine.text
    var outcomes: [Model.Outcome] = mayBeDown(machine) ? [.rejected("machine_down")] : []
    guard mayWork(machine) else { return outcomes }
    let open = openProgram(of: machine)
    if open != nil { outcomes.append(.rejected("conflict")) }
    guard open.map(isMentioned) ?? true else { return outcomes }
    return outcomes + [
      isShort(program)
        ? .rejected("conflict")
        : .program(ProgramStep(.requested, id, changes: uses(program).times(-1)))
    ]
  }

  /// Returns the ages of an overdue cleaning beyond its grace: the least and the greatest one that
  /// the kiosk may measure; or `nil` if the cleaning is not due.
  ///
  /// - Parameter wallClock: The wall clock, or `nil` if it is not known.
  private func excess(
    of machine: String, at now: Duration, wallClock: Int64?
  ) -> ClosedRange<Duration>? {
    guard let name = MachineID(machine), let program = maker(machine)?.programs[.clean],
      let known = machineModel.programs[ProgramID(machine: name, program: .clean)],
      let due = known.due
    else { return nil }
    let forever = Duration.seconds(1 << 30)
    if isUncertain(since: due.seen) { return .zero - forever...forever }
    let age = now - due.seen
    var ages = [age, wallClock.map { .milliseconds($0 - due.at) } ?? age]
    // The kiosk counts from the time at which the program became due, and may record it later.
    if let every = program.every { ages.append(now - known.done - .seconds(every)) }
    if let idle = program.idle, let made = known.made { ages.append(now - made - .seconds(idle)) }
    if let edge = edgeAge(of: program, at: due.at) { ages.append(age + edge) }
    ages.removeAll { $0 < .zero }
    let grace = Duration.seconds(program.grace)
    return (ages.min() ?? age) - grace...(ages.max() ?? age) - grace
  }

  func mustBeClosed(_ machine: String, at now: Duration, wallClock: Int64?) -> Bool {
    let open = openProgram(of: machine)
    if let open, open.state.isUndecided, !isMentioned(open) { return true }
    guard let excess = excess(of: machine, at: now, wallClock: wallClock) else { return false }
    return excess.lowerBound > .seconds(1) && !(open.map(isMentioned) ?? false)
  }

  func mayBeClosed(_ machine: String, at now: Duration, wallClock: Int64?) -> Bool {
    if let open = openProgram(of: machine), open.state.isUndecided || isMentioned(open) {
      return true
    }
    // A crash may have delayed the auditor.
    return excess(of: machine, at: now, wallClock: wallClock).map {
      $0.upperBound > .seconds(-1) || startedAt > .zero
    } ?? false
  }

  // MARK: Entries

  /// Checks an entry that is no answer.
  mutating func checkProgram(_ step: ProgramStep, _ entry: LedgerEntry, at now: Duration) {
    guard let program = program(step.id) else {
      return fail(.decision, "entry \(entry.seq) is about \(step.id), which is not configured")
    }
    var known = machineModel.programs[step.id] ?? .init()
    switch step.kind {
    case .due:
      if known.due != nil
        || !isCause(step.reason, of: program, known, at: now, entry.at.milliseconds)
      {
        fail(.decision, "entry \(entry.seq) has no cause: \(known)")
      }
      known.due = (now, entry.at.milliseconds)
      machineModel.programs[step.id] = known
    case .requested:
      let machine = step.id.machine.text
      if known.due == nil || !program.isAutomatic || !mayWork(machine) || isShort(program)
        || openProgram(of: machine) != nil || step.changes != uses(program).times(-1)
      {
        fail(.decision, "entry \(entry.seq) must not request \(step.id): \(known)")
      }
      follow(step, entry, at: now)
    case .done, .failed: checkEnd(step, entry, at: now)
    }
    model.apply(.program(step))
  }

  private func isCause(
    _ reason: String?, of program: MachineConfiguration.Program, _ known: MachineModel.Program,
    at now: Duration, _ wallClock: Int64
  ) -> Bool {
    func hasPassed(_ seconds: Int?, since start: Duration?) -> Bool {
      guard let seconds, let start else { return false }
      return now - start >= .seconds(seconds - 1) || isUncertain(since: start)
    }
    return switch reason {
    case "hours": hasPassed(program.every, since: known.done)
    case "idle": hasPassed(program.idle, since: known.made)
    case "glasses": program.glasses.map { known.glasses >= $0 } ?? false
    case let edge? where edge == program.at?.rawValue:
      edgeAge(of: program, at: wallClock).map { now - $0 > known.done } ?? false
        || isUncertain(since: known.done)
    default: false
    }
  }

  /// Returns the time since the last opening or closing, if the program runs then.
  private func edgeAge(
    of program: MachineConfiguration.Program, at wallClock: Int64
  ) -> Duration? {
    program.at.map { .milliseconds(wallClock - HoursModel.last($0, at: wallClock)) }
  }

  /// Returns whether a program must be due: its cause is older than the kiosk needs to notice it.
  private func mustBeDue(
    _ program: MachineConfiguration.Program, _ known: MachineModel.Program, at now: Duration,
    _ wallClock: Int64
  ) -> Bool {
    guard hasNoticed(at: now), !isUncertain(since: .zero) else { return false }
    func hasPassed(_ seconds: Int?, since start: Duration?) -> Bool {
      guard let seconds, let start else { return false }
      return now - start > .seconds(seconds) + Self.notice
    }
    let edge = edgeAge(of: program, at: wallClock)
    return hasPassed(program.every, since: known.done)
      || hasPassed(program.idle, since: known.made)
      || program.glasses.map { known.glasses >= $0 } ?? false
      || edge.map { $0 > Self.notice && now - $0 > known.done } ?? false
  }

  /// Records a requested program.
  mutating func follow(_ step: ProgramStep, _ entry: LedgerEntry, at now: Duration) {
    machineModel.jobs[entry.seq] = MachineModel.Job(
      seq: entry.seq, machine: step.id.machine.text, order: ("", 1), ticket: 0,
      program: step.id.program, used: [String: Int](step.changes.times(-1)), numbers: [entry.seq],
      at: entry.at.milliseconds, uptime: now, state: .queued, since: now)
  }

  mutating func noteGlasses(_ glasses: Int, by machine: String, at now: Duration) {
    guard let name = MachineID(machine), let maker = maker(machine) else { return }
    for program in maker.programs.keys {
      let id = ProgramID(machine: name, program: program)
      machineModel.programs[id, default: .init()].glasses += glasses
      machineModel.programs[id]?.made = now
    }
  }

  private mutating func checkEnd(_ step: ProgramStep, _ entry: LedgerEntry, at now: Duration) {
    guard let seq = step.job, var job = machineModel.jobs[seq], job.program == step.id.program,
      job.machine == step.id.machine.text
    else { return fail(.decision, "entry \(entry.seq) ends a program that was not requested") }
    if let first = job.endSeq {
      return fail(.twice, "program \(seq) ends with entry \(first) and entry \(entry.seq)")
    }
    let decision = machineModel.decision.flatMap {
      $0.seq == entry.seq - 1 && $0.job == seq ? $0 : nil
    }
    let changes = [String: Int](step.changes)
    let hasLeft = job.state != .queued
    let isValid =
      switch (step.kind, step.reason) {
      case (.done, _): decision?.choice == "poured" || hasLeft && !answers("done", of: job).isEmpty
      case (_, "given_back"): decision?.choice == "give_back" && decision?.left == changes
      case (_, "unknown"):
        changes.isEmpty
          && !(answers("unknown", of: job).isEmpty && answers("cancelled", of: job).isEmpty)
      case (_, "waited_too_long"):
        changes == job.used
          && (hasLeft
            ? !answers("cancelled", of: job).isEmpty
            : isTooOld(job, at: now, wallClock: entry.at.milliseconds) != false)
      default:
        hasLeft
          && answers("failed", of: job).contains {
            ($0.reason ?? "failed") == step.reason && canHaveUsed($0.used, job)
              && left(of: job, without: cost(of: job, saying: $0.used)) == changes
          }
      }
    if !isValid { fail(.decision, "entry \(entry.seq) has no reason: \(step), \(job)") }
    if decision != nil {
      machineModel.decision = nil
    } else if step.kind == .done {
      job.isMadeByMachine = true
      machineModel.endedInBatch[job.number] = "done"
    } else if !answers("failed", of: job).isEmpty {
      machineModel.endedInBatch[job.number] = "failed"
    }
    if step.kind == .done { machineModel.programs[step.id] = .init(done: now) }
    (job.end, job.endSeq, job.sentBefore) = (.program(step), entry.seq, sent.count)
    machineModel.jobs[seq] = job
  }

  // MARK: Displays

  mutating func checkPrograms(
    _ report: MachineReport, _ own: [MachineModel.Job], of maker: MachineConfiguration,
    at now: Duration, wallClock: Int64
  ) {
    let expected = MachineProgram.allCases.filter { maker.programs[$0] != nil }
    guard report.programs.map(\.program) == expected, let machine = MachineID(maker.name) else {
      return fail(.display, "machine/\(maker.name) shows the programs \(report.programs)")
    }
    let open = own.first { $0.program != nil }
    for shown in report.programs {
      let known = machineModel.programs[ProgramID(machine: machine, program: shown.program)]
      let job = open?.program == shown.program ? open : nil
      if (shown.due != nil) != (known?.due != nil) || shown.job != job?.number
        || shown.state != job?.state
        || shown.isOverdue && !mayBeClosed(maker.name, at: now, wallClock: nil)
      {
        fail(.display, "machine/\(maker.name) shows \(shown), not \(known as Any), \(job as Any)")
      }
      if let program = maker.programs[shown.program], shown.due == nil,
        job == nil, mustBeDue(program, known ?? .init(), at: now, wallClock)
      {
        fail(.decision, "\(maker.name)/\(shown.program.rawValue) is not due: \(known as Any)")
      }
    }
  }
}
