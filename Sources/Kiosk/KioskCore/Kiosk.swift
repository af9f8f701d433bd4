import Devices
package import JuiceDomain
package import KioskProtocol
import TimeZones

/// The decision logic: takes a batch of deliveries, returns a `Decision`.
///
/// A value without I/O: it reads no clock, opens no file and awaits nothing.
///
/// ```swift
/// var next = kiosk.copy()
/// let parsed = filter.admit(deliveries, tracker: &tracker, at: now)
/// let repeats = try ledger.repeats(of: parsed.flatMap(\.repeatKeys))
/// let decision = next.decide(parsed, repeats: repeats, at: now)
/// try ledger.commit(decision.transaction)
/// kiosk = next
/// // Publish decision.answers, acknowledge the deliveries, publish the events.
/// ```
///
/// Each decision changes the value. If the commit fails, discard `next` and call `recover` with the
/// state of the ledger.
///
/// The type is noncopyable, because a copy retains many objects: an actor that reads a
/// computed property of a copyable value copies the whole value.
package struct Kiosk: ~Copyable, Sendable {
  /// Holds the settings by reference: a copy of the kiosk retains one object for all of them, and the
  /// compiler's check of a noncopyable type costs time for each part.
  private final class SettingsBox: Sendable {
    let settings: KioskSettings
    init(_ settings: KioskSettings) { self.settings = settings }
  }

  package var settings: KioskSettings { box.settings }
  private let box: SettingsBox
  package internal(set) var juiceMaker: JuiceMaker
  package var stock: FruitAmounts { juiceMaker.stock }
  /// Whether the kiosk takes orders: `switched` is open, and the last `updateHours` was within the hours.
  package var service: ServiceState { isWithinHours ? switched : .closed }
  /// The state that the last accepted service command has set; `open` before the first.
  var switched: ServiceState
  private(set) var isWithinHours: Bool
  /// The levels of the fruits whose level is not `ok`.
  private var levels: Journaled<Fruit.ID, StockAlert>
  /// The number of the last entry.
  package internal(set) var seq: Int
  /// The epoch of new entries; see `LedgerEntry`.
  package let epoch: Int
  package internal(set) var jobs: Jobs
  /// The schedule of machines' programs, or `nil` if no machine has a program.
  var programs: Programs?
  package internal(set) var charges: Charges
  package internal(set) var sensors: Sensors
  package internal(set) var batches: Batches
  package internal(set) var elapsed: ElapsedClock
  /// The last ticket number of each day, by days since 1970-01-01.
  var tickets: [Int: Int]
  private var debounce: Debounce
  private var marks: DeviceMarks
  private let feedback: [String: Feedback]
  package var counters: KioskHealth.Counters

  /// Creates a kiosk from the content of the ledger.
  ///
  /// - Parameters:
  ///   - state: The content of the ledger.
  ///   - counters: The counters to continue from, if this value replaces an earlier one in the same
  ///     process.
  package init(
    settings: KioskSettings, state: LedgerState, counters: KioskHealth.Counters = .init()
  ) {
    box = SettingsBox(settings)
    let held = settings.menu.fruits.compactMap { fruit in
      state.stock[fruit.id].map { (fruit: fruit.id, amount: $0) }
    }
    juiceMaker = JuiceMaker(
      menu: settings.menu,
      store: FruitStore(
        quantities: FruitAmounts(held), capacities: settings.stock.capacities))
    switched = state.service
    isWithinHours = true
    let stock = juiceMaker.stock
    // guard: a restart keeps the level of a fruit
    levels = Journaled(state.alerts.filter { stock[$0.key] != nil })
    seq = state.seq
    epoch = state.epoch
    tickets = state.tickets
    // guard: a restart keeps the debounce
    debounce = Debounce(state.presses)
    // guard: a restart keeps a device's counter
    marks = DeviceMarks(state.marks)
    jobs = Jobs(settings, state: state)
    programs = Programs(settings, records: state.programs)
    charges = Charges(settings, state: state)
    sensors = Sensors(settings, state: state)
    // guard: a restart keeps a block
    jobs.blocked = sensors.blocked
    batches = Batches(settings, state: state)
    elapsed = ElapsedClock(state)
    feedback = Dictionary(
      settings.panels.lazy.map { ($0.name, $0.feedback) }, uniquingKeysWith: { first, _ in first })
    self.counters = counters
    // Swift 6.2 permits no mutating call in the initializer of a noncopyable value.
    for (fruit, quantity) in stock {
      let level = settings.alert(of: fruit, quantity: quantity, previous: alert(of: fruit))
      levels[fruit] = level == .ok ? nil : level
    }
  }

  // The compiler does not require optional properties and those with a default here: copy each.
  private init(copying other: borrowing Kiosk) {
    (box, feedback) = (other.box, other.feedback)
    (juiceMaker, levels, tickets) = (other.juiceMaker, other.levels, other.tickets)
    (switched, isWithinHours) = (other.switched, other.isWithinHours)
    (seq, epoch) = (other.seq, other.epoch)
    (jobs, programs, charges) = (other.jobs, other.programs, other.charges)
    (sensors, batches, elapsed) = (other.sensors, other.batches, other.elapsed)
    (debounce, marks, counters) = (other.debounce, other.marks, other.counters)
  }

  /// Returns a copy.
  package func copy() -> Kiosk { Kiosk(copying: self) }

  /// Replaces the state by the content of the ledger, after an error of the ledger: a failed commit may be complete.
  /// Keeps a part of the state that the ledger does not store, such as the ages of orders, but not the timers of jobs.
  package mutating func recover(_ state: LedgerState) {
    var next = Kiosk(settings: settings, state: state, counters: counters)
    next.jobs.adoptAges(of: jobs)
    if let programs { next.programs?.adopt(programs) }
    next.jobs.closed = jobs.closed
    next.isWithinHours = isWithinHours
    next.charges.adoptAges(of: charges)
    next.sensors.adopt(sensors)
    next.batches.adopt(batches)
    next.elapsed = elapsed
    next.marks.adopt(marks)
    self = next
  }

  /// Replaces the settings. Keeps the state, also the part that the ledger does not store (debounce,
  /// timers of jobs), except `jobs.closed`, which the next `updateHours` determines.
  ///
  /// - Parameter state: The content of the ledger.
  package mutating func adopt(_ settings: KioskSettings, state: LedgerState) {
    var next = Kiosk(settings: settings, state: state, counters: counters)
    next.debounce = debounce
    // guard: a reload outside the hours is no closing
    next.isWithinHours = isWithinHours
    next.jobs.adopt(jobs)
    if let programs { next.programs?.adopt(programs) }
    next.charges.adopt(charges)
    next.sensors.adopt(sensors)
    next.batches.adopt(batches)
    next.elapsed = elapsed
    next.marks.adopt(marks)
    self = next
  }

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
    var decision = Decision()
    if !sensors.isEmpty {
      // guard: what is to be blocked now is not sold in this batch
      changeSensors(at: now, in: &decision) { $0.block(at: now, into: &$1) }
    }
    removeExpiredFruit(at: now, in: &decision)
    var answered = repeats
    answered.reserveCapacity(repeats.count + parsedDeliveries.count)
    for parsed in parsedDeliveries {
      decide(parsed, recorded: repeats, answered: &answered, at: now, in: &decision)
    }
    if !sensors.isEmpty {
      let hasEntries = !decision.transaction.records.isEmpty
      changeSensors(at: now, in: &decision) {
        $0.fire(at: now, hasEntries: hasEntries, into: &$1)
      }
    }
    if let paymentBefore {
      firePaymentTimers(at: now, in: &decision)
      decision.paymentChanged = !charges.reports.elementsEqual(paymentBefore, by: ==)
    }
    if let reportsBefore {
      fireTimers(at: now, in: &decision)
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
    answered: inout [RepeatKey: LedgerRow], at now: Moment, in decision: inout Decision
  ) {
    if let reading = parsed.reading {
      changeSensors(at: now, in: &decision) {
        $0.read(reading.value, of: reading.sensor, at: now, into: &$1)
      }
      return
    }
    guard marks.register(parsed.mark, at: now.timestamp) else {
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
      change(request, in: parsed, at: now, for: &decision)
      return
    }
    if handle(request.command, in: parsed, at: now, for: &decision) { return }
    if parsed.source.kind == .paid {
      handlePayment(request.command, in: parsed, recorded: recorded, at: now, for: &decision)
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
    if settings.payment != nil {
      replaceUnpaid(by: request, in: parsed, at: now, in: &decision)
    }
    let row = answer(request, in: parsed, at: now, in: &decision)
    if let key = parsed.key { answered[key] = row }
  }

  /// Executes a request that is not a repeat: records its entry and answer, then opens the job or
  /// charge that the entry requires, or executes the decision of a person.
  private mutating func answer(
    _ request: Request, in parsed: ParsedDelivery, at now: Moment, in decision: inout Decision
  ) -> LedgerRow {
    let row = execute(
      request, from: parsed.source, isRetained: parsed.isRetained, at: now)
    let seq = row.entry.seq
    count(row.entry.outcome)
    decision.record(row, answering: parsed)
    if case .sensor(let decided) = request.command, case .sensor = row.entry.outcome {
      // Before the entry takes the fruit out of the batches: that would end the block of the clock.
      if decided.sensor == .clock, decided.choice == .release { elapsed.accept() }
      changeSensors(at: now, in: &decision) { sensors, _ in sensors.decide(decided, at: now) }
    }
    applyLastEntry(at: now, in: &decision)
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
        payLimit: settings.payment?.payLimit ?? .zero)
      charges.add(
        Charge(
          number: number, device: device, sale: sale, amount: amount, at: now.timestamp,
          day: now.day, state: .queued), at: now.uptime)
    }
    switch request.command {
    case .job(let decided): execute(decided, in: row.entry, at: now, in: &decision)
    case .charge(let decided):
      execute(decided, in: row.entry, answering: parsed.reply, at: now, in: &decision)
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
  package mutating func reject(unrecordable parsed: ParsedDelivery, _ detail: String) -> Decision {
    var decision = Decision()
    counters.rejected += 1
    // Without a valid request, the id is omitted.
    let request = try? parsed.request?.get()
    decision.reject(parsed, Rejection(.notRecorded, detail, id: request?.id))
    return decision
  }

  /// Records a reconnect after the kiosk was offline for an unknown time, or longer than the
  /// maximum age of an order.
  package mutating func reconnected(at now: Timestamp) {
    marks.reconnected(at: now)
  }

  /// Returns the time until a timer of a machine, a payment device, a sensor or a batch of fruit
  /// expires, or `nil` if only a message can change something. Opening hours do not count.
  package func wait(at now: Moment) -> Duration? {
    [
      machineWait(at: now), charges.wait(at: now), sensors.wait(at: now), batches.wait(at: now),
      elapsed.hasChanged ? .zero : nil,
    ].compactMap(\.self).min()
  }

  /// Returns whether a timer has expired, or the opening hours have begun or ended since the last `updateHours`.
  package func isDue(at now: Moment) -> Bool {
    wait(at: now) == .zero || isWithinHours(at: now.timestamp) != isWithinHours
  }

  /// Determines how long the kiosk was off, whether it is within its hours, and the times of the
  /// sensors of an earlier process. Call it at the start of the process: then the monotonic clock
  /// measures their times, also while the kiosk is offline.
  package mutating func begin(at now: Moment) {
    updateClock(at: now)
    updateHours(at: now)
    sensors.begin(elapsed, at: now)
  }

  /// Applies a step of the wall clock to fruit, sensors and programs. Must be called often: the
  /// evidence of the clock must belong to the step.
  package mutating func updateClock(at now: Moment) {
    let step = elapsed.update(at: now)
    batches.update(step, at: now)
    programs?.apply(step, elapsed)
    sensors.apply(step, elapsed)
  }

  package mutating func updateHours(at now: Moment) {
    let before = isWithinHours
    isWithinHours = isWithinHours(at: now.timestamp)
    if programs != nil { updatePrograms(at: now, wasWithinHours: before) }
  }

  package func alert(of fruit: Fruit.ID) -> StockAlert { levels[fruit] ?? .ok }

  /// Returns the number of fruits with a level.
  package func fruits(at level: StockAlert) -> Int { stock.count { alert(of: $0.fruit) == level } }

  func isWithinHours(at now: Timestamp) -> Bool {
    guard let hours = settings.hours else { return true }
    let (day, minute) = settings.wallClock.reachedMinute(at: now)
    return hours.isOpen(day: day, minute: minute)
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

  /// Updates the alerts of all fruits, or only of those whose stock differs from `before`.
  private mutating func updateAlerts(since before: FruitAmounts? = nil) {
    guard stock != before else { return }
    for (fruit, quantity) in stock where before?[fruit] != quantity {
      let level = settings.alert(of: fruit, quantity: quantity, previous: alert(of: fruit))
      levels[fruit] = level == .ok ? nil : level
    }
  }
}

extension KioskSettings {
  fileprivate func alert(
    of fruit: Fruit.ID, quantity: Int, previous: StockAlert
  ) -> StockAlert {
    StockAlert(
      quantity: quantity, least: menu.recipeAmounts[fruit]?.lowerBound ?? 1,
      low: stock.lowMarks[fruit] ?? 0, previous: previous)
  }
}
