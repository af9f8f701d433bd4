import JuiceDomain
import KioskProtocol

// Programs of machines: cleaning, rinsing, priming.
extension Kiosk {
  /// Updates the times of programs and the machines that take no orders.
  mutating func updatePrograms(at now: Moment, wasWithinHours: Bool) {
    guard var programs else { return }
    programs.update(at: now)
    if programs.usesHours {
      if programs.edges == nil {
        programs.edges = lastEdges(before: now)
      } else if wasWithinHours != isWithinHours {
        programs.edges?[isWithinHours ? .opening : .closing] = now.uptime
      }
    }
    self.programs = programs
  }

  /// Returns the uptimes of the last opening and closing by the hours, within eight days.
  private func lastEdges(before now: Moment) -> [MachineProgram.Cause: Duration] {
    var edges: [MachineProgram.Cause: Duration] = [:]
    // Opening hours begin and end at full minutes.
    let time = now.timestamp.milliseconds
    let uptime = now.uptime - .milliseconds(elapsed.behind)
    var age = Duration.milliseconds(time - time / 60_000 * 60_000)
    var later = isWithinHours
    for _ in 1...8 * 1_440 where edges.count < 2 {
      let isWithin = isWithinHours(at: Timestamp(milliseconds: time - age.milliseconds - 60_000))
      let edge = later ? MachineProgram.Cause.opening : .closing
      // guard: a program that was done after the opening is not done again
      if isWithin != later, edges[edge] == nil { edges[edge] = uptime - age }
      (later, age) = (isWithin, age + .seconds(60))
    }
    return edges
  }

  /// Decides a person's request to run a program. Takes the fruit of the program from the stock.
  mutating func start(_ id: ProgramID) throws(Rejection) -> LedgerEntry.Outcome {
    guard jobs.has(id.machine) else {
      throw Rejection(.unknownMachine, "the configuration has no machine \(id.machine)")
    }
    guard let setting = programs?[id] else {
      throw Rejection(
        .unknownMachine,
        "machine \(id.machine) has no program \(id.program.rawValue): configure it under 'programs'"
      )
    }
    guard jobs.isAvailable(id.machine) else {
      throw Rejection(.machineDown, "machine \(id.machine) cannot run a program now")
    }
    if let open = jobs.program(of: id.machine) {
      throw Rejection(.conflict, "machine \(id.machine) has a program already: job \(open.number)")
    }
    // guard: a program takes all its fruit or none
    let missing = juiceMaker.take(setting.uses)
    guard missing.isEmpty else {
      throw Rejection(.conflict, "the fruit for \(id) is missing: \(missing)")
    }
    return .program(ProgramStep(.requested, id, changes: setting.uses.times(-1)))
  }

  /// Opens the job of a requested program.
  mutating func openJob(_ step: ProgramStep, _ entry: LedgerEntry, at now: Moment) {
    guard step.kind == .requested, let setting = programs?[step.id] else { return }
    var terms = terms(named: step.id.program.rawValue, on: step.id.machine)
    terms.finishLimit = setting.finishLimit
    let job = Job(
      seq: entry.seq, number: entry.seq, machine: step.id.machine,
      work: .program(step.id.program), used: setting.uses, amount: nil, source: entry.source,
      id: nil, at: entry.at, state: .queued, reply: nil, terms: terms)
    jobs.add(job, at: now.uptime)
  }

  /// Records the programs that have become due, and requests those that the kiosk starts itself.
  mutating func runSchedule(in decision: inout Decision) {
    let now = decision.now
    guard let due = programs?.newlyDue(at: now) else { return }
    for (id, cause, since) in due {
      let entry = record(.program(ProgramStep(.due, id, reason: cause.rawValue)), in: &decision)
      // guard: the time for which the kiosk was off counts as overdue
      programs?.becameDue(id, entry, cause, since: since, at: now.uptime)
    }
    for machine in settings.machines {
      guard
        let programs,
        let id = programs.ids(of: machine.name).first(where: {
          programs.isRequestable($0, at: now) && canRun($0)
        }), let setting = programs[id], juiceMaker.take(setting.uses).isEmpty
      else { continue }
      let step = ProgramStep(
        .requested, id, reason: programs.records[id]?.due?.cause.rawValue,
        changes: setting.uses.times(-1))
      openJob(step, record(.program(step), in: &decision), at: now)
    }
  }

  /// Returns whether the kiosk can start a program: the machine is idle, and there is enough fruit.
  private func canRun(_ id: ProgramID) -> Bool {
    jobs.isAvailable(id.machine) && jobs.count(of: id.machine) == 0
      && jobs.program(of: id.machine) == nil
      && missing(programs?[id]?.uses ?? [:]).isEmpty
  }

  private func missing(_ amounts: FruitAmounts) -> FruitAmounts {
    var maker = juiceMaker
    return maker.take(amounts)
  }

  /// Ends the job of a program.
  mutating func endProgram(_ job: Job, _ step: ProgramStep, in decision: inout Decision) {
    jobs.remove(job, isMade: false)
    juiceMaker.giveBack(step.changes)
    let entry = record(.program(step), in: &decision)
    programs?.ended(step.id, done: step.kind == .done ? entry : nil, at: decision.now.uptime)
  }

  /// Returns the time until the next timer of a machine or a program expires, or `nil` if only a
  /// message can change something.
  func machineWait(at now: Moment) -> Duration? {
    let wait = jobs.wait(at: now)
    guard let programs else { return wait }
    let next = programs.wait(at: now, canRun: { canRun($0) })
    return [wait, next].compactMap(\.self).min()
  }

  /// Returns the published states of a machine's programs.
  func reports(of programs: Programs, on machine: MachineID) -> [MachineReport.Program] {
    let job = jobs.program(of: machine)
    return programs.ids(of: machine).map { id in
      let own = job.flatMap { $0.program == id.program ? $0 : nil }
      return programs.report(
        of: id, job: own, waiting: own.flatMap(jobs.waitingReason), missing: { missing($0) })
    }
  }
}
