import JuiceDomain
import KioskProtocol

extension Kiosk {
  /// Decides the deliveries of a batch, in the order of arrival, and fires expired timers.
  ///
  /// - Parameter repeats: The last row that the ledger has for each repeat key of the deliveries.
  package mutating func decide(
    _ parsedDeliveries: [ParsedDelivery], repeats: [RepeatKey: LedgerRow], at now: Moment
  ) -> Decision {
    let (before, stockBefore) = (switched, stock)
    let reportsBefore = settings.machines.isEmpty && jobs.open.isEmpty ? nil : machineReports
    updateClock(at: now)
    updateHours(at: now)
    let paymentBefore = settings.payment == nil ? nil : charges.reports
    var decision = Decision(at: now)
    if !sensors.isEmpty {
      // guard: what is to be blocked now is not sold in this batch
      changeSensors(in: &decision) { $0.block(at: now, into: &$1) }
    }
    removeExpiredFruit(in: &decision)
    var answered = repeats
    answered.reserveCapacity(repeats.count + parsedDeliveries.count)
    for parsed in parsedDeliveries {
      decide(parsed, recorded: repeats, answered: &answered, in: &decision)
    }
    if !sensors.isEmpty {
      let hasEntries = !decision.transaction.records.isEmpty
      changeSensors(in: &decision) {
        $0.fire(at: now, hasEntries: hasEntries, into: &$1)
      }
    }
    if let paymentBefore {
      firePaymentTimers(in: &decision)
      decision.paymentChanged = !charges.reports.elementsEqual(paymentBefore, by: ==)
    }
    if let reportsBefore {
      fireTimers(in: &decision)
      decision.machinesChanged = !machineReports.elementsEqual(reportsBefore, by: ==)
    }
    if switched != before { decision.transaction.service = switched }
    updateAlerts(since: stockBefore)
    save(in: &decision.transaction, at: now)
    decision.sensorsChanged = decision.transaction.changes(.sensor)
    return decision
  }

  /// Adds to a transaction the changes of the state since the last call.
  private mutating func save(in transaction: inout LedgerTransaction, at now: Moment) {
    levels.save(in: &transaction)
    marks.save(in: &transaction)
    jobs.save(in: &transaction)
    programs?.save(in: &transaction)
    charges.save(in: &transaction)
    sensors.save(in: &transaction)
    batches.save(in: &transaction, at: now)
    elapsed.save(in: &transaction, at: now)
  }

  /// Decides one delivery.
  ///
  /// - Parameters:
  ///   - recorded: The last row that the ledger has for each repeat key.
  ///   - answered: The rows of `recorded`, and those of this batch. The call adds its own row.
  private mutating func decide(
    _ parsed: ParsedDelivery, recorded: [RepeatKey: LedgerRow],
    answered: inout [RepeatKey: LedgerRow], in decision: inout Decision
  ) {
    let now = decision.now
    if let reading = parsed.reading {
      changeSensors(in: &decision) {
        $0.read(reading.value, of: reading.sensor, at: now, into: &$1)
      }
      return
    }
    guard marks.register(parsed.mark, at: now) else {
      if parsed.request != nil { counters.duplicates += 1 }
      return
    }
    let request: Request
    switch parsed.request {
    case nil:
      return
    case .failure(let rejection):
      counters.rejected += 1
      decision.reject(parsed, rejection)
      return
    case .success(let admitted):
      request = admitted
    }
    if case .settings = request.command {
      change(request, in: parsed, for: &decision)
      return
    }
    if handle(request.command, in: parsed, for: &decision) { return }
    if parsed.source.kind == .paid {
      handlePayment(request.command, in: parsed, recorded: recorded, for: &decision)
      return
    }
    if let row = parsed.repeatKeys.compactMap({ answered[$0] }).first {
      counters.duplicates += 1
      // This batch may contain a later answer about the same order.
      let last = decision.transaction.records.last {
        $0.row.entry.answeredOrder == row.entry.seq
      }
      decision.repeatAnswer(last?.row ?? row, to: parsed)
      return
    }
    if case .order(let order) = request.command, request.id == nil, !parsed.isRetained,
      let original = debounce.original(
        of: order, from: parsed.source, at: now, seq: seq + 1,
        window: parsed.debounce)
    {
      counters.duplicates += 1
      // This delivery arrived after the delivery of the original entry. So it counts as
      // acknowledged together with the delivery of the next entry.
      // guard: a delivery within the debounce is stored
      // guard: a press within the debounce proves no acknowledgement
      decision.repeatEntry(original, for: parsed, acknowledgedWith: seq + 1)
      return
    }
    let next = seq + 1
    if settings.payment != nil {
      replaceUnpaid(by: request, in: parsed, in: &decision)
    }
    let row = answer(request, in: parsed, in: &decision)
    // The end of a replaced order precedes the entry of the press.
    if row.entry.seq != next, case .order(let order) = request.command, request.id == nil {
      debounce.record(row.entry.seq, of: order, from: parsed.source)
    }
    if let key = parsed.key { answered[key] = row }
  }

  /// Executes a request that is not a repeat: records its entry and answer, then opens the job or
  /// charge that the entry requires, or executes the decision of a person.
  private mutating func answer(
    _ request: Request, in parsed: ParsedDelivery, in decision: inout Decision
  ) -> LedgerRow {
    let now = decision.now
    let row = execute(
      request, from: parsed.source, isRetained: parsed.isRetained, at: now)
    let seq = row.entry.seq
    count(row.entry.outcome)
    decision.record(row, answering: parsed)
    if case .sensor(let decided) = request.command, case .sensor = row.entry.outcome {
      // Before the entry takes the fruit out of the batches: that would end the block of the clock.
      if decided.sensor == .clock, decided.choice == .release { elapsed.accept() }
      changeSensors(in: &decision) { sensors, _ in sensors.decide(decided, at: now) }
    }
    applyLastEntry(in: &decision)
    appendFeedback(of: row, in: &decision)
    if case .accepted(let order, let used, let ticket, let machine, _) = row.entry.outcome {
      let job = Job(
        seq: seq, number: seq, machine: machine, work: .order(order, ticket), used: used,
        amount: row.entry.amount, source: parsed.source, id: request.id, at: now.timestamp,
        state: .queued, reply: parsed.reply, terms: terms(of: order, on: machine))
      jobs.add(job, at: now.uptime)
    }
    if case .program(let step) = row.entry.outcome { openJob(step, row.entry, at: now) }
    if case .awaitingPayment(let order, let used, let ticket, let number, let device) =
      row.entry.outcome, let amount = row.entry.amount
    {
      let sale = Charge.Sale(
        seq: seq, order: order, ticket: ticket, used: used, source: parsed.source,
        id: request.id, reply: parsed.reply, juiceName: name(of: order.juice) ?? order.juice.text,
        payLimit: settings.payment?.payLimit ?? .zero,
        needsMachine: assignment(of: order.juice, used).isNeeded)
      charges.add(
        Charge(
          number: number, device: device, sale: sale, amount: amount, at: now.timestamp,
          day: now.day, state: .queued), at: now.uptime)
    }
    switch request.command {
    case .job(let decided): execute(decided, in: row.entry, in: &decision)
    case .charge(let decided):
      execute(decided, in: row.entry, answering: parsed.reply, in: &decision)
    default: break
    }
    return row
  }

  /// Adds the feedback for the panel that sent the command, if any is configured for the outcome.
  mutating func appendFeedback(of row: LedgerRow, in decision: inout Decision) {
    guard let source = row.entry.source, let feedback = feedback[source.name] else { return }
    decision.answer(self.feedback(feedback, to: row))
  }

  /// Rejects a command that the ledger cannot record. The command has no effect.
  ///
  /// - Parameter detail: The reason why the ledger cannot record the command.
  package mutating func reject(
    unrecordable parsed: ParsedDelivery, _ detail: String, at now: Moment
  ) -> Decision {
    var decision = Decision(at: now)
    counters.rejected += 1
    // Without a valid request, the id is omitted.
    let request = try? parsed.request?.get()
    decision.reject(parsed, Rejection(.notRecorded, detail, id: request?.id))
    return decision
  }

  mutating func count(_ outcome: LedgerEntry.Outcome) {
    switch outcome {
    case .ready, .made: counters.orders += 1
    // An order that no machine got, for example because it was not paid, is no failure.
    case .returned(let end, _, _) where end.machine == nil: break
    case .failed, .returned: counters.failed += 1
    case .outOfStock: counters.outOfStock += 1
    case .restocked: counters.restocks += 1
    case .rejected(let reason, _):
      counters.rejected += 1
      if reason == .stale { counters.stale += 1 }
    case .opened, .service, .accepted, .decided, .awaitingPayment, .payment, .total, .program,
      .sensor, .expired, .removed:
      break
    }
  }
}
