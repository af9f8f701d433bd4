import JuiceDomain
import KioskProtocol
package import MessageBroker

// Orders that machines make.
extension Kiosk {
  /// Handles a message of a machine.
  ///
  /// - Returns: Whether the message needs no further decision.
  mutating func handle(
    _ command: Command, in parsed: ParsedDelivery, for decision: inout Decision
  ) -> Bool {
    let now = decision.now
    guard parsed.source.kind == .made else { return false }
    let name = parsed.source.name
    guard let machine = MachineID(name), jobs.has(machine) else {
      counters.rejected += 1
      decision.reject(
        parsed, Rejection(.unknownMachine, "the configuration has no machine \(name)"))
      return true
    }
    switch command {
    case .machine(let status):
      jobs.record(status, from: machine, isRetained: parsed.isRetained, at: now.uptime)
      return true
    case .made(let answer):
      if parsed.isRetained { return false }
      jobs.markResponsive(machine)
      // The kiosk ignores answers about jobs that have ended or were not sent.
      // guard: a machine answers for its own jobs only
      guard let job = jobs.job(number: answer.job, of: machine), job.state != .queued else {
        return true
      }
      if case .failed(_, let used, let made) = answer.status,
        let flaw = used.flatMap(job.flaw) ?? job.flaw(in: made)
      {
        counters.rejected += 1
        decision.reject(parsed, Rejection(.malformed, flaw))
        if job.state != .needsDecision {
          jobs.set(job, to: .needsDecision, receivedAt: now.uptime)
        }
        return true
      }
      jobs.record(answer, from: machine)
      apply(answer.status, to: job, in: &decision)
      return true
    default: return false
    }
  }

  private mutating func apply(
    _ status: MachineAnswer.Status, to job: Job, in decision: inout Decision
  ) {
    let now = decision.now
    switch (status, job.state) {
    case (.started, .sent), (.started, .lost):
      jobs.set(job, to: .started, receivedAt: now.uptime)
    case (.started, .started): jobs.resume(job, at: now.uptime)
    case (.waiting(let reason), .sent), (.waiting(let reason), .lost),
      (.waiting(let reason), .started):
      if job.state != .started { jobs.set(job, to: .started, receivedAt: now.uptime) }
      jobs.pause(job, reason, at: now.uptime)
    case (.done, _): end(job, job.made, in: &decision)
    case (.failed(let reason, let used, let made), _):
      let left = job.used.subtracting(usedFruit(of: job, reported: used))
      end(job, job.failed(reason, changes: left), made: made, in: &decision)
    case (.cancelled, .sent), (.cancelled, .lost):
      giveBack(job.used, of: job, job.lostReason ?? .waitedTooLong, in: &decision)
    // A program that may have run counts as not done: repeating it is harmless.
    case (.cancelled, .started) where job.program != nil, (.unknown, _) where job.program != nil:
      end(job, job.failed(OrderFailure.unknown.rawValue, changes: [:]), in: &decision)
    // The machine has no result, or contradicts its report that it had begun.
    case (.cancelled, .started), (.unknown, .sent), (.unknown, .started), (.unknown, .lost):
      jobs.set(job, to: .needsDecision, receivedAt: now.uptime)
    case (.started, _), (.waiting, _), (.cancelled, _), (.unknown, _): break
    }
  }

  /// Returns the fruit that an attempt has used up.
  private func usedFruit(of job: Job, reported used: FruitAmounts?) -> FruitAmounts {
    if let used { return FruitAmounts(used.filter { $0.amount > 0 }) }
    return job.terms.returnsFruit ? [:] : job.used
  }

  /// Checks the decision of a person about a job, and takes the fruit for another attempt.
  mutating func apply(_ decided: JobDecision) throws(Rejection) -> LedgerEntry.Outcome {
    guard let job = jobs.undecided(decided.job) else {
      let attempt = jobs.attempt(ofOrder: decided.job).flatMap { $0 == decided.job ? nil : $0 }
      throw Rejection(
        .noDecisionNeeded,
        attempt.map { "job \(decided.job) is now job \($0): decide about that" }
          ?? "no job \(decided.job) needs a decision")
    }
    if let flaw = decided.used.flatMap(job.flaw) { throw Rejection(.malformed, flaw) }
    var used: FruitAmounts = [:]
    if decided.choice == .again {
      used = usedFruit(of: job, reported: decided.used)
      let missing = juiceMaker.take(used)
      guard missing.isEmpty else {
        throw Rejection(.conflict, "the fruit for another attempt is missing: \(missing)")
      }
    }
    return .decided(decided.choice, job: job.seq, used: used)
  }

  /// Ends or requeues the job after the entry of a person's decision.
  mutating func execute(
    _ decided: JobDecision, in entry: LedgerEntry, in decision: inout Decision
  ) {
    guard case .decided = entry.outcome, let job = jobs.undecided(decided.job) else { return }
    switch decided.choice {
    case .poured: end(job, job.made, in: &decision)
    case .giveBack:
      let left = job.used.subtracting(usedFruit(of: job, reported: decided.used))
      giveBack(left, of: job, .givenBack, in: &decision)
    case .again:
      var again = job
      // guard: what is made again has a new number
      (again.number, again.at, again.state) = (entry.seq, entry.at, .queued)
      jobs.requeue(again, at: decision.now.uptime)
    }
  }

  /// Ends a job that no machine has, and returns its fruit.
  mutating func giveBack(_ job: Job, _ reason: OrderFailure, in decision: inout Decision) {
    giveBack(job.used, of: job, reason, in: &decision)
  }

  private mutating func giveBack(
    _ fruit: FruitAmounts, of job: Job, _ reason: OrderFailure, in decision: inout Decision
  ) {
    end(job, job.returned(reason, changes: fruit), in: &decision)
  }

  /// Ends a job. The entry has the source and the id of the order, because the kiosk creates the
  /// answer to the sender from the entry.
  private mutating func end(
    _ job: Job, _ outcome: LedgerEntry.Outcome, made glasses: Int = 0, in decision: inout Decision
  ) {
    let now = decision.now
    if case .program(let step) = outcome {
      return endProgram(job, step, in: &decision)
    }
    var isMade = false
    if case .made = outcome { isMade = true }
    jobs.remove(job, isMade: isMade)
    // A juice that was not made costs nothing.
    let made = isMade ? job.quantity : glasses
    if made > 0 { programs?.made(made, by: job.machine, at: now) }
    let amount = isMade ? job.amount : job.amount?.part(made, of: job.quantity)
    var message = message(about: outcome, of: job.terms.juiceName)
    if !isMade, amount != nil {
      message = CustomerMessage.partlyMade(
        job.terms.juiceName, made, of: job.quantity, in: settings.language)
    }
    // A free order has a price, and no charge.
    let money = charges.charge(ofOrder: job.seq)?.moneyEnd(for: amount)
    if !isMade, let money { message?.append(" \(money.text(settings.language))") }
    recordEnd(
      outcome, amount: amount, from: job.source, id: job.id, answering: job.reply,
      message: message, in: &decision)
    settle(order: job.seq, glasses: made, in: &decision)
  }

  /// Fires the expired timers of jobs and programs, and changes queued jobs of free machines to `sent`.
  mutating func fireTimers(in decision: inout Decision) {
    let now = decision.now
    let overdue = jobs.overdue(at: now)
    for job in overdue.waiting {
      let isBehind = jobs.program(of: job.machine).map { $0.number < job.number } ?? false
      giveBack(job.used, of: job, isBehind ? .cleaning : .waitedTooLong, in: &decision)
    }
    for job in jobs.open where job.state == .queued && job.program == nil {
      // guard: an order that waits for a blocked machine is given back
      let isBlocked = isBlocked(job)
      // The order cannot wait for the fruit, because a machine makes jobs only in the order of their
      // numbers.
      if isBlocked || !jobs.has(job.machine, job.used) {
        giveBack(job.used, of: job, isBlocked ? .blocked : .noFruit, in: &decision)
      } else if batches.fresh(job.used, of: job.seq) != job.used {
        // guard: an order whose fruit has expired in the queue is not made
        giveBack(job.used, of: job, .expired, in: &decision)
      }
    }
    for job in overdue.lost { jobs.set(job, to: .lost) }
    for job in jobs.open
    where job.state == .sent && job.program == nil
      && (isBlocked(job) || batches.fresh(job.used, of: job.seq) != job.used)
    {
      let reason: OrderFailure = isBlocked(job) ? .blocked : .expired
      // guard: the fruit of a sent order is not made after it was blocked or has expired
      jobs.set(job, to: .lost, because: reason)
    }
    for job in overdue.started { jobs.set(job, to: .needsDecision) }
    runSchedule(in: &decision)
    jobs.dispatch(at: now)
  }

  /// Makes all requests to machines and payment devices due again, because those in flight may be
  /// lost.
  package mutating func connectionLost() {
    jobs.connectionLost()
    charges.connectionLost()
  }

  /// Returns the requests to machines that are due. Call it only after the commit.
  package mutating func messagesForMachines(at now: Moment) -> [Message] {
    jobs.messages(at: now).map { machine, job, order, rest in
      guard let order else {
        return Message(
          topic: settings.topics.cancel(by: machine), payload: MachineOrder.cancel(job))
      }
      // Without an expiry, an offline machine could receive the message after the order has ended.
      return Message(
        topic: settings.topics.make(by: machine), payload: order.payload,
        expiry: UInt32(clamping: max(1, rest.components.seconds)))
    }
  }

  /// The number of glasses of each juice that can be made; 0 if blocked, or if none of its machines takes the order.
  var servings: [(juice: Juice.ID, count: Int)] {
    settings.menu.juices.map { ($0.id, servings(of: $0)) }
  }

  func servings(of juice: Juice.ID) -> Int? {
    settings.menu.juice(juice).map { servings(of: $0) }
  }

  private func servings(of juice: Juice) -> Int {
    let assignment = assignment(of: juice.id, juice.recipe.amounts)
    return assignment.isNeeded && assignment.machine == nil ? 0 : juice.servings(from: stock)
  }
}

extension Job {
  /// Returns the reason why a failed attempt cannot have made these glasses, or `nil` if it can.
  fileprivate func flaw(in glasses: Int) -> String? {
    glasses < quantity
      ? nil : "job \(number) has \(quantity) glasses, and cannot have failed after \(glasses)"
  }

  /// Returns the reason why an attempt cannot have used up this fruit, or `nil` if it can.
  fileprivate func flaw(in reported: FruitAmounts) -> String? {
    let impossible = reported.impossible(for: used)
    return impossible.isEmpty
      ? nil : "job \(number) took \(used), and cannot have used \(impossible)"
  }
}

extension FruitAmounts {
  /// Returns the difference, without the fruits of which nothing is left.
  fileprivate func subtracting(_ used: FruitAmounts) -> FruitAmounts {
    FruitAmounts(
      map { (fruit: $0.fruit, amount: $0.amount - (used[$0.fruit] ?? 0)) }.filter { $0.amount > 0 })
  }
}
