import JuiceDomain
import KioskProtocol

// Executes requests. Those about machines, payment, sensors and stock are in the folders of these names.
extension Kiosk {
  /// Executes a request: changes the state, and returns the row of its entry.
  mutating func execute(
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
    var entry = nextEntry(outcome, amount: amount, from: source, id: request.id, at: now)
    if case .restocked(let changes) = outcome, case .restock(let restock) = request.command {
      entry.batches = batches.brought(
        by: withTimes(restock), changes, seq: entry.seq, at: now.timestamp)
    }
    return LedgerRow(
      entry, stock: stock, detail: detail, message: message(about: outcome, for: amount))
  }

  /// Checks and applies a request.
  mutating func apply(
    _ request: Request, from source: Source, isRetained: Bool, at now: Moment
  ) throws(Rejection) -> LedgerEntry.Outcome {
    try checkIsCurrent(request, isRetained: isRetained, at: now)
    switch request.command {
    case .order(let order): return try make(order, from: source, at: now)
    case .restock(let restock):
      return try apply(withTimes(restock), undoing: request.id?.undone, at: now.timestamp)
    case .remove(let removal): return try apply(removal)
    case .service(let state):
      switched = state
      return .service(state)
    case .job(let decision): return try apply(decision)
    case .charge(let decision): return try apply(decision, on: now.day)
    case .program(let id): return try start(id)
    case .sensor(let decision): return try apply(decision)
    case .settings:
      throw Rejection(.malformed, "only an operator publishes this, on a topic of its own")
    case .paid, .inventory, .payment, .total:
      throw Rejection(.malformed, "only a payment device publishes this, on its own topics")
    case .made, .machine:
      throw Rejection(.malformed, "only a machine publishes this, on its own topics")
    }
  }

  /// Admits or rejects a change of the settings, which is not an entry of the ledger.
  mutating func change(
    _ request: Request, in parsed: ParsedDelivery, for decision: inout Decision
  ) {
    do throws(Rejection) {
      try checkIsCurrent(request, isRetained: parsed.isRetained, at: decision.now)
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
    let (isNeeded, machine) = assignment(of: juice.id, juice.recipe.amounts)
    // guard: a machine that cannot work gets no orders
    guard machine != nil || !isNeeded else {
      if isBlocked(juice.id, juice.recipe.amounts) {
        throw Rejection(.blocked, "a sensor has blocked \(order.juice) until a person decides")
      }
      if isCleaningDue(for: juice.id) {
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
      // guard: the tickets of each day are stored
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
}
