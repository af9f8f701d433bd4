import Devices
package import JuiceDomain
package import KioskProtocol

/// The decision logic: takes a batch of deliveries, returns a `Decision`.
///
/// A value without I/O: it reads no clock, opens no file and awaits nothing.
///
/// ```swift
/// var next = kiosk
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
package struct Kiosk: Sendable {
  package let settings: KioskSettings
  package internal(set) var juiceMaker: JuiceMaker
  package var stock: FruitAmounts { juiceMaker.stock }
  /// Whether the kiosk takes orders: no command has closed it, and the time is within its hours.
  package var service: ServiceState { isWithinHours ? switched : .closed }
  /// The state that the last service command has set.
  private var switched: ServiceState
  private(set) var isWithinHours = true
  package private(set) var alerts: [Fruit.ID: StockAlert] = [:]
  /// The number of the last entry.
  package internal(set) var seq: Int
  /// The epoch of new entries; see `LedgerEntry`.
  package let epoch: Int
  package internal(set) var jobs: Jobs
  /// The schedule of machines' programs, or `nil` if no machine has a program.
  var programs: Programs?
  package internal(set) var charges: Charges
  package internal(set) var sensors: Sensors
  package var batches: Batches
  /// The last ticket number of each day, by days since 1970-01-01.
  private var tickets: [Int: Int]
  private var debounce: Debounce
  /// The last value of each device counter and contact, by its key.
  private var marks: [String: String]
  /// The time of the last reconnect after the kiosk was offline for longer than the maximum age of
  /// an order. A press before that reconnect must not count.
  private var reconnectedAt: Timestamp?
  /// The keys of the marks of devices that repeat their last message, and have sent a message since
  /// the reconnect.
  private var receivedSinceReconnect: Set<String> = []
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
    self.settings = settings
    let held = settings.menu.fruits.compactMap { fruit in
      state.stock[fruit.id].map { (fruit: fruit.id, amount: $0) }
    }
    juiceMaker = JuiceMaker(
      menu: settings.menu,
      store: FruitStore(
        quantities: FruitAmounts(held), capacities: settings.stock.capacities))
    switched = state.service
    seq = state.seq
    epoch = state.epoch
    tickets = state.tickets
    // guard: the debounce outlives a restart
    debounce = Debounce(state.presses)
    // guard: a device's counter outlives a restart
    marks = state.marks
    jobs = Jobs(settings, state: state)
    programs = Programs(settings, records: state.programs)
    charges = Charges(settings, state: state)
    sensors = Sensors(settings, state: state)
    // guard: a block outlives a restart
    jobs.blocked = sensors.blocked
    batches = Batches(settings, state: state)
    feedback = Dictionary(
      settings.panels.lazy.map { ($0.name, $0.feedback) }, uniquingKeysWith: { first, _ in first })
    self.counters = counters
    updateAlerts()
  }

  /// Replaces the state by the content of the ledger, after an error that leaves unknown whether a
  /// transaction was committed. Keeps times that the ledger does not store, such as ages of orders.
  package mutating func recover(_ state: LedgerState) {
    var next = Kiosk(settings: settings, state: state, counters: counters)
    next.jobs.adoptAges(of: jobs)
    if let programs { next.programs?.adopt(programs) }
    next.jobs.closed = jobs.closed
    next.isWithinHours = isWithinHours
    next.charges.adoptAges(of: charges)
    next.sensors.adopt(sensors)
    next.batches.adopt(batches)
    self = next
  }

  /// Replaces the settings. Keeps the state, including the part that the ledger does not record
  /// (debounce, timers of jobs, alerts).
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
    (next.reconnectedAt, next.receivedSinceReconnect) = (reconnectedAt, receivedSinceReconnect)
    next.alerts = alerts.filter { next.stock[$0.key] != nil }
    next.updateAlerts()
    self = next
  }

  /// Returns a transaction that adds the configured fruits, machines and programs that the ledger
  /// does not have yet, and ends the time outside the limits of sensors that are no longer
  /// configured.
  ///
  /// - Returns: The transaction, or `nil` if the ledger needs none of this.
  package static func opening(
    settings: KioskSettings, state: LedgerState, at now: Moment
  ) -> LedgerTransaction? {
    let new = settings.menu.fruits.filter { state.stock[$0.id] == nil }
    var transaction = LedgerTransaction()
    let makers = settings.makers(recorded: state.makers)
    if makers != state.makers { transaction.makers = makers }
    for machine in settings.machines {
      for program in machine.programs.keys {
        let id = ProgramID(machine: machine.name, program: program)
        guard state.programs[id] == nil else { continue }
        transaction.programs[id] = ProgramRecord(seq: state.seq, at: now.timestamp)
      }
    }
    for (name, var record) in state.sensors
    where record.outside != nil && record.state != .blocked
      && !settings.sensors.contains(where: { $0.name == name })
    {
      // The values of a sensor are unknown while it is not configured.
      record.outside = nil
      transaction.sensors[name] = record
    }
    guard !new.isEmpty else { return transaction.isEmpty ? nil : transaction }
    let amounts = FruitAmounts(
      new.map { (fruit: $0.id, amount: settings.stock.initial[$0.id] ?? 0) })
    var entry = LedgerEntry(
      seq: state.seq + 1, epoch: state.epoch, at: now.timestamp, source: nil, id: nil,
      outcome: .opened(amounts))
    entry.batches = Batches.brought(
      by: amounts, bestBefore: [:], keeps: Batches.keeps(of: settings.menu), seq: entry.seq,
      at: now.timestamp)
    for change in entry.batches {
      transaction.batches[change.id] = Batch(
        quantity: change.amount, expires: change.expires ?? now.timestamp, at: now.timestamp)
    }
    transaction.records = [.init(LedgerRow(entry))]
    return transaction
  }

  /// Decides the deliveries of a batch, in the order of arrival.
  ///
  /// - Parameter repeats: The rows that the ledger has recorded for the repeat keys of the
  ///   deliveries.
  package mutating func decide(
    _ parsedDeliveries: [ParsedDelivery], repeats: [RepeatKey: LedgerRow], at now: Moment
  ) -> Decision {
    let (before, stockBefore) = (switched, stock)
    let reportsBefore = settings.machines.isEmpty && jobs.open.isEmpty ? nil : machineReports
    updateHours(at: now)
    let paymentBefore = settings.payment == nil ? nil : charges.reports
    var decision = Decision()
    if !sensors.isEmpty {
      // guard: what is to be blocked now is not sold in this batch
      changeSensors(at: now, in: &decision) { $0.block(at: now, into: &$1) }
    }
    var answered = repeats
    answered.reserveCapacity(repeats.count + parsedDeliveries.count)
    for parsed in parsedDeliveries {
      if let reading = parsed.reading {
        changeSensors(at: now, in: &decision) {
          $0.read(reading.value, of: reading.sensor, at: now, into: &$1)
        }
        continue
      }
      updateBatches(at: now, in: &decision)
      guard register(parsed.mark, at: now.timestamp, in: &decision) else {
        if parsed.request != nil { counters.duplicates += 1 }
        continue
      }
      let request: Request
      switch parsed.request {
      case nil:
        continue
      case .failure(let rejection):
        counters.rejected += 1
        decision.reject(parsed, rejection)
        continue
      case .success(let admitted):
        request = admitted
      }
      if case .settings = request.command {
        change(request, in: parsed, at: now, for: &decision)
        continue
      }
      if handle(request.command, in: parsed, at: now, for: &decision) { continue }
      if parsed.source.kind == .paid {
        handlePayment(request.command, in: parsed, recorded: repeats, at: now, for: &decision)
        continue
      }
      if let row = parsed.repeatKeys.lazy.compactMap({ answered[$0] }).first {
        counters.duplicates += 1
        // This batch may hold a later answer about the same order.
        let last = decision.transaction.records.last {
          $0.row.entry.answeredOrder == row.entry.seq
        }
        decision.repeatAnswer(last?.row ?? row, to: parsed)
        continue
      }
      if case .order(let order) = request.command, request.id == nil, !parsed.isRetained,
        let original = debounce.original(
          of: order, from: parsed.source, at: now, seq: seq + 1,
          window: parsed.debounce)
      {
        counters.duplicates += 1
        // This delivery arrived after the delivery of the original entry. So it counts as
        // acknowledged together with the delivery of the next entry.
        // guard: a delivery that the debounce swallowed is remembered
        // guard: a press that bounced tells nothing of what was acknowledged
        decision.repeatEntry(original, for: parsed, acknowledgedWith: seq + 1)
        continue
      }
      if paymentBefore != nil {
        replaceUnpaid(by: request, in: parsed, at: now, in: &decision)
        updateBatches(at: now, in: &decision)
      }
      seq += 1
      let row = execute(
        request, from: parsed.source, isRetained: parsed.isRetained, at: now)
      count(row.entry.outcome)
      if let key = parsed.key { answered[key] = row }
      decision.record(row, answering: parsed)
      appendFeedback(of: row, in: &decision)
      if case .accepted(let order, let used, let ticket, let machine, _) = row.entry.outcome {
        let job = Job(
          seq: seq, number: seq, machine: machine, work: .order(order, ticket), used: used,
          amount: row.entry.amount, source: parsed.source, id: request.id, at: now.timestamp,
          state: .queued, reply: parsed.reply, terms: terms(of: order, on: machine))
        jobs.add(job, at: now.uptime)
        decision.transaction.jobs[seq] = .some(job)
      }
      if case .program(let step) = row.entry.outcome {
        openJob(step, row.entry, at: now, in: &decision)
      }
      if case .awaitingPayment(let order, let used, let ticket, let number, let device) =
        row.entry.outcome, let amount = row.entry.amount
      {
        let sale = Charge.Sale(
          seq: seq, order: order, ticket: ticket, used: used, source: parsed.source,
          id: request.id, reply: parsed.reply, juiceName: name(of: order.juice) ?? order.juice.text,
          payLimit: settings.payment?.payLimit ?? .zero)
        open(
          Charge(
            number: number, device: device, sale: sale, amount: amount, at: now.timestamp,
            day: now.day, state: .queued), at: now, in: &decision)
      }
      switch request.command {
      case .job(let decided): execute(decided, in: row.entry, at: now, in: &decision)
      case .charge(let decided): execute(decided, in: row.entry, at: now, in: &decision)
      case .sensor(let decided):
        guard case .sensor = row.entry.outcome else { break }
        changeSensors(at: now, in: &decision) { $0.decide(decided, at: now, into: &$1) }
      default: break
      }
    }
    updateBatches(at: now, in: &decision)
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
    updateBatches(at: now, in: &decision)
    batches.save(in: &decision.transaction, at: now.uptime)
    if switched != before { decision.transaction.service = switched }
    updateAlerts(since: stockBefore)
    return decision
  }

  /// Adds the feedback for the panel that sent the order, if any is configured.
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
    // A request that cannot be read has no id.
    let request = try? parsed.request?.get()
    decision.reject(parsed, Rejection(.notRecorded, detail, id: request?.id))
    return decision
  }

  /// Records a reconnect after the kiosk was offline for longer than the maximum age of an order.
  package mutating func reconnected(at now: Timestamp) {
    reconnectedAt = now
    receivedSinceReconnect = []
  }

  /// Stores the mark of a message.
  ///
  /// - Returns: Whether the message counts: it has no mark; or its mark is for one key, has a new
  ///   value and is stored, and the message cannot be a repeat of an old press.
  private mutating func register(
    _ mark: PanelMessage.Mark?, at now: Timestamp, in decision: inout Decision
  ) -> Bool {
    guard let mark else { return true }
    guard !mark.isForAll else {
      for key in marks.keys where key.utf8.starts(with: mark.key.utf8) {
        marks[key] = mark.value
        decision.transaction.marks[key] = mark.value
      }
      return false
    }
    let known = [mark.key, mark.alternateKey].compactMap(\.self)
    let isFirst = marks[mark.key] == nil
    // guard: a device's counter that has not moved is no press
    guard !known.contains(where: { marks[$0] == mark.value }) else {
      if mark.repetition != nil { receivedSinceReconnect.insert(mark.key) }
      if isFirst { store(mark, in: &decision) }
      return false
    }
    guard store(mark, in: &decision) else { return false }
    guard let repetition = mark.repetition else { return true }
    // The first message of such a device, and the first since the reconnect, may repeat a press
    // that is hours old.
    let isFirstSince = receivedSinceReconnect.insert(mark.key).inserted
    guard !isFirst else { return false }
    guard let reconnectedAt, now.isWithin(repetition, of: reconnectedAt) else { return true }
    return !isFirstSince
  }

  /// Stores a mark, unless its key is new and the kiosk has `maximumMarks` keys already: a device
  /// that sends ever new keys must not exhaust the memory.
  ///
  /// - Returns: Whether the mark is stored.
  @discardableResult
  private mutating func store(
    _ mark: PanelMessage.Mark, in decision: inout Decision
  ) -> Bool {
    guard marks[mark.key] != nil || marks.count < Self.maximumMarks else { return false }
    marks[mark.key] = mark.value
    decision.transaction.marks[mark.key] = mark.value
    return true
  }

  static let maximumMarks = 10_000

  private mutating func execute(
    _ request: Request, from source: Source, isRetained: Bool, at now: Moment
  ) -> LedgerRow {
    let outcome: LedgerEntry.Outcome
    var detail: String?
    do throws(Rejection) {
      outcome = try apply(request, from: source, isRetained: isRetained, at: now)
    } catch {
      var rejected: Order?
      if case .order(let order) = request.command { rejected = order }
      outcome = .rejected(error.reason, order: rejected)
      detail = error.detail
    }
    var stock: FruitAmounts?
    if ![.service, .job, .program].contains(source.kind) { stock = juiceMaker.stock }
    let amount = amount(of: outcome)
    var entry = LedgerEntry(
      seq: seq, epoch: epoch, at: now.timestamp, source: source, id: request.id, outcome: outcome,
      amount: amount)
    if case .restocked(let changes) = outcome, case .restock(let restock) = request.command {
      entry.batches = batches.brought(by: restock, changes, seq: seq, at: now.timestamp)
    }
    return LedgerRow(
      entry, stock: stock, detail: detail, message: message(about: outcome, for: amount))
  }

  mutating func apply(
    _ request: Request, from source: Source, isRetained: Bool, at now: Moment
  ) throws(Rejection) -> LedgerEntry.Outcome {
    try checkIsCurrent(request, isRetained: isRetained, at: now)
    switch request.command {
    case .order(let order): return try make(order, from: source, at: now)
    case .restock(let restock): return try apply(restock, at: now.timestamp)
    case .remove(let removal): return try apply(removal)
    case .service(let state):
      switched = state
      return .service(state)
    case .job(let decision): return try apply(decision)
    case .charge(let decision): return try apply(decision)
    case .program(let id): return try start(id)
    case .sensor(let decision): return try apply(decision)
    case .settings:
      throw Rejection(.malformed, "only an operator publishes this, on a topic of its own")
    case .paid, .payment, .total:
      throw Rejection(.malformed, "only a payment device publishes this, on its own topics")
    case .made, .machine:
      throw Rejection(.malformed, "only a machine publishes this, on its own topics")
    }
  }

  /// Admits or rejects a change of the settings, which is not an entry of the ledger.
  private mutating func change(
    _ request: Request, in parsed: ParsedDelivery, at now: Moment, for decision: inout Decision
  ) {
    do throws(Rejection) {
      try checkIsCurrent(request, isRetained: parsed.isRetained, at: now)
      decision.change(parsed)
    } catch {
      counters.rejected += 1
      decision.reject(parsed, Rejection(error.reason, error.detail, id: request.id))
    }
  }

  private func checkIsCurrent(
    _ request: Request, isRetained: Bool, at now: Moment
  ) throws(Rejection) {
    // guard: a retained command is not carried out
    guard !isRetained else {
      throw Rejection(.retained, "publish commands without the retain flag")
    }
    if let sentAt = request.sentAt {
      let (age, limit) = (now.timestamp.since(sentAt), settings.orders.maximumAge)
      // guard: a command that is too old is not carried out
      guard age <= limit else {
        throw Rejection(
          .stale,
          "sent \(age.components.seconds) seconds ago; the limit is \(limit.components.seconds)")
      }
    }
  }

  /// Returns whether the opening hours have begun or ended since the last batch.
  package func hoursHaveChanged(at now: Moment) -> Bool {
    isWithinHours(at: now.timestamp) != isWithinHours
  }

  /// Determines whether the kiosk is within its hours, and starts the timers of sensors. Call it at
  /// the start of the process: then the monotonic clock measures the time that a sensor is outside
  /// its limits, also while the kiosk is offline.
  package mutating func begin(at now: Moment) {
    updateHours(at: now)
    sensors.begin(at: now)
  }

  package mutating func updateHours(at now: Moment) {
    let before = isWithinHours
    isWithinHours = isWithinHours(at: now.timestamp)
    if programs != nil { updatePrograms(at: now, wasWithinHours: before) }
  }

  func isWithinHours(at now: Timestamp) -> Bool {
    guard let hours = settings.hours else { return true }
    let (day, minute) = settings.wallClock.minute(at: now)
    return hours.isOpen(day: day, minute: minute)
  }

  private mutating func make(
    _ order: Order, from source: Source, at now: Moment
  ) throws(Rejection) -> LedgerEntry.Outcome {
    // guard: the closed kiosk makes nothing
    guard service == .open else {
      throw Rejection(
        .closed, isWithinHours ? "the kiosk takes no orders now" : "it is outside the opening hours"
      )
    }
    guard let juice = settings.menu.juice(order.juice) else {
      throw Rejection(.unknownJuice, "there is no \(order.juice) on the menu")
    }
    guard (1...settings.orders.maximumQuantity).contains(order.quantity) else {
      throw Rejection(
        .quantityOutOfRange,
        "quantity must be 1 to \(settings.orders.maximumQuantity), not \(order.quantity)")
    }
    let (isNeeded, machine) = jobs.assignment(of: juice.id, juice.recipe.amounts)
    // guard: a machine that cannot work gets no orders
    guard machine != nil || !isNeeded else {
      if jobs.isBlocked(juice.id, juice.recipe.amounts) {
        throw Rejection(.blocked, "a sensor has blocked \(order.juice) until a person decides")
      }
      if jobs.isCleaningDue(for: juice.id) {
        throw Rejection(.cleaningDue, "the machine that makes \(order.juice) must be cleaned")
      }
      throw Rejection(.machineDown, "no machine that makes \(order.juice) is available")
    }
    var device: PaymentDeviceID?
    if charges.arePaid(at: source.name), let price = price(of: order), price.units > 0 {
      device = charges.device(for: source.name)
      // guard: without a payment device that works no order is taken
      guard device != nil, price.units <= JSON.maximumUnits else {
        throw Rejection(.paymentDown, "no payment device for \(source.name) is available")
      }
    }
    switch juiceMaker.make(juice, quantity: order.quantity) {
    case .ready(let used):
      // Each day has its own count, because a clock that is set back may return to a day that has
      // tickets.
      let ticket = Ticket(day: now.day, number: tickets[now.day, default: 0] + 1)
      // guard: the tickets of each day are remembered
      tickets[ticket.day] = ticket.number
      if let device {
        return .awaitingPayment(
          order, used: used, ticket: ticket, charge: charges.nextNumber(at: now.timestamp),
          device: device)
      }
      guard let machine else { return .ready(order, used: used, ticket: ticket) }
      return .accepted(
        order, used: used, ticket: ticket, machine: machine, place: jobs.count(of: machine) + 1)
    case .outOfStock(let missing):
      return .outOfStock(order, missing: missing)
    }
  }

  mutating func count(_ outcome: LedgerEntry.Outcome) {
    switch outcome {
    case .ready, .made: counters.orders += 1
    // An order that was not paid is no failure of the kiosk.
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
      alerts[fruit] = StockAlert(
        quantity: quantity, least: settings.menu.recipeAmounts[fruit]?.lowerBound ?? 1,
        low: settings.stock.lowMarks[fruit] ?? 0,
        previous: alerts[fruit] ?? .ok)
    }
  }
}
