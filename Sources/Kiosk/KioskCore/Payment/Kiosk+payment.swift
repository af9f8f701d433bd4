import JuiceDomain
import KioskProtocol
package import MessageBroker

// Orders that customers pay for at a device. The device holds the amount before the juice is made,
// captures it when the juice is made, and releases it when the juice is not made.
extension Kiosk {
  // MARK: Charges

  mutating func save(_ charge: Charge, in decision: inout Decision) {
    charges.set(charge, at: decision.now.uptime)
    answerRequester(of: charge.number, charge, in: &decision)
  }

  mutating func close(_ charge: Charge, in decision: inout Decision) {
    charges.remove(charge)
    answerRequester(of: charge.number, nil, in: &decision)
  }

  /// Records a step that a device has reported.
  mutating func record(
    _ kind: PaymentStep.Kind, of charge: Charge, _ amount: Money?, _ answer: PaymentAnswer,
    reason: String? = nil, in decision: inout Decision
  ) {
    record(
      .payment(charge.step(kind, answer.receipt, reason: reason ?? answer.reason)),
      amount: amount, in: &decision)
    charges.count(kind, amount, at: charge.device)
  }

  // MARK: Orders

  /// Begins the order of a charge whose amount is held: assigns a machine, or completes or ends the order.
  mutating func begin(_ charge: Charge, _ answer: PaymentAnswer, in decision: inout Decision) {
    let now = decision.now
    guard let sale = charge.sale, let end = charge.end else { return }
    let (isNeeded, machine) = assignment(of: sale.order.juice, sale.recipe)
    // guard: an order that was taken for a machine is not made without one
    let lacksMachine = (isNeeded || sale.needsMachine) && machine == nil
    if let (reason, message) = obstacle(to: sale, lacksMachine: lacksMachine) {
      record(.held, of: charge, charge.held, answer, in: &decision)
      let money = charge.moneyEnd(for: nil).text(settings.language)
      return endUnpaid(
        charge, text: reason.rawValue, message: "\(message) \(money)", in: &decision)
    }
    guard let machine else {
      record(.held, of: charge, charge.held, answer, in: &decision)
      save(charge.with(.held), in: &decision)
      endOrder(sale, .made(end), amount: charge.amount, in: &decision)
      return settle(order: sale.seq, glasses: sale.order.quantity, in: &decision)
    }
    save(charge.with(.held), in: &decision)
    let step = charge.step(
      .held, answer.receipt, machine: machine, place: jobs.count(of: machine) + 1)
    let entry = nextEntry(
      .payment(step), amount: charge.held, from: sale.source, id: sale.id, at: now)
    let row = LedgerRow(
      entry,
      message: CustomerMessage.accepted(
        sale.juiceName, ticket: sale.ticket.number, in: settings.language))
    record(row, answering: sale.reply, in: &decision)
    var terms = terms(of: sale.order, on: machine)
    terms.juiceName = sale.juiceName
    let job = Job(
      seq: sale.seq, number: entry.seq, machine: machine, work: .order(sale.order, sale.ticket),
      used: sale.used, amount: charge.amount, source: sale.source, id: sale.id, at: now.timestamp,
      state: .queued, reply: sale.reply, terms: terms)
    jobs.add(job, at: now.uptime)
  }

  /// Returns the reason why a paid order cannot be made, and the text for the customer; or `nil` if
  /// it can be made.
  private func obstacle(
    to sale: Charge.Sale, lacksMachine: Bool
  ) -> (reason: OrderFailure, message: String)? {
    // guard: an order whose fruit has expired before it was paid is not made
    if batches.fresh(sale.used, of: sale.seq) != sale.used {
      return (.expired, CustomerMessage.blocked(in: settings.language))
    }
    guard lacksMachine else { return nil }
    if isBlocked(sale.order.juice, sale.recipe) {
      return (.blocked, CustomerMessage.blocked(in: settings.language))
    }
    if isCleaningDue(for: sale.order.juice) {
      return (.cleaning, CustomerMessage.cleaningDue(in: settings.language))
    }
    return (.machineDown, CustomerMessage.machineDown(in: settings.language))
  }

  /// Ends an order that was not paid, and releases the amount that may be held.
  ///
  /// - Parameter isOver: Whether the device holds nothing and will not hold anything.
  mutating func endUnpaid(
    _ charge: Charge, _ reason: PaymentEnd, _ detail: String? = nil, isOver: Bool = false,
    in decision: inout Decision
  ) {
    endUnpaid(
      charge, text: reason.rawValue,
      message: CustomerMessage.notPaid(reason, detail, in: settings.language), detail: detail,
      isOver: isOver, in: &decision)
  }

  mutating func endUnpaid(
    _ charge: Charge, text: String, message: String, detail: String? = nil, isOver: Bool = false,
    in decision: inout Decision
  ) {
    guard let sale = charge.sale, let end = charge.end else { return }
    // A charge that was not sent to the device needs no release.
    let isOver = isOver || (charges[charge.number]?.state ?? charge.state) == .queued
    if isOver {
      close(charge, in: &decision)
    } else {
      save(charge.with(.releasing), in: &decision)
    }
    endOrder(
      sale, .returned(end, reason: text, changes: sale.used), message: message, detail: detail,
      in: &decision)
  }

  /// Ends an order that no machine got.
  private mutating func endOrder(
    _ sale: Charge.Sale, _ outcome: LedgerEntry.Outcome, amount: Money? = nil,
    message: String? = nil, detail: String? = nil, in decision: inout Decision
  ) {
    recordEnd(
      outcome, amount: amount, from: sale.source, id: sale.id, answering: sale.reply,
      detail: detail, message: message ?? self.message(about: outcome, of: sale.juiceName),
      in: &decision)
  }

  /// Captures the price of the glasses that were made of an order, or releases the hold if no glass was made. If
  /// the device has already captured another amount, or holds nothing for a glass that was made, a person decides.
  mutating func settle(order seq: Int, glasses: Int, in decision: inout Decision) {
    guard var charge = charges.charge(ofOrder: seq) else { return }
    // A device that has refunded before the end of the order does not refund again.
    let isRefunded = charge.goal == .undecided
    let price = glasses == charge.sale?.order.quantity ? charge.amount : charge.price(of: glasses)
    charge.wanted = price
    switch (price, charge.state, charge.captured) {
    case (let price?, _, let captured?):
      // A person still decides about a refund of more than was captured.
      var settled =
        price == captured && charge.state != .undecided
        ? charge.with(.captured)
        : charge.undecided(.capturing, charge.reason ?? "captured \(captured)")
      if isRefunded { settled.goal = .undecided }
      save(settled, in: &decision)
    case (nil, _, _?):
      save(
        charge.undecided(
          isRefunded ? .undecided : .releasing, charge.reason ?? "captured, not made"),
        in: &decision)
    case (_?, .gone, nil):
      save(
        charge.undecided(isRefunded ? .undecided : .capturing, "made, not paid"), in: &decision)
    case (nil, .gone, nil): close(charge, in: &decision)
    case (_?, _, nil): save(charge.with(.capturing), in: &decision)
    case (nil, _, nil): save(charge.with(.releasing), in: &decision)
    }
  }

  /// Ends the charge that `replaceable` returns, and its order, if the request is an order that the
  /// kiosk accepts and that must be paid.
  mutating func replaceUnpaid(
    by request: Request, in parsed: ParsedDelivery, in decision: inout Decision
  ) {
    guard case .order = request.command, let first = charges.replaceable(from: parsed.source),
      let sale = first.sale
    else { return }
    var trial = copy()
    trial.juiceMaker.giveBack(batches.fresh(sale.used, of: sale.seq))
    let outcome = try? trial.apply(
      request, from: parsed.source, isRetained: parsed.isRetained, at: decision.now)
    guard case .awaitingPayment = outcome else { return }
    endUnpaid(first, .replaced, in: &decision)
  }

  // MARK: Time

  mutating func firePaymentTimers(in decision: inout Decision) {
    let now = decision.now
    let overdue = charges.overdue(at: now)
    for charge in overdue.unpaid { endUnpaid(charge, .notPaid, in: &decision) }
    for charge in overdue.unfinished {
      let reason = charges.failure(of: charge) ?? Charges.noAnswer
      save(charge.undecided(charge.state, reason), in: &decision)
    }
    for charge in overdue.settled { close(charge, in: &decision) }
    charges.dispatch(at: now)
  }

  /// Returns the requests to payment devices that are due. Call it only after the commit.
  package mutating func messagesForPaymentDevices(at now: Moment) -> [Message] {
    guard settings.payment != nil else { return [] }
    var inventories: [Message] = []
    for device in charges.inventories(at: now) {
      for number in charges.unrecordedCharges(of: device) {
        inventories.append(
          Message(
            topic: settings.topics.charge(.state, by: device),
            payload: ChargeRequest.payload(about: number)))
      }
      inventories.append(
        Message(
          topic: settings.topics.charge(.open, by: device),
          payload: ChargeRequest.payload(epoch: epoch)))
    }
    return inventories
      + charges.requests(at: now).map { request in
        let charge = request.charge
        guard request.action == nil, let sale = charge.sale else {
          let action = request.action ?? .state
          return Message(
            topic: settings.topics.charge(action, by: charge.device),
            payload: ChargeRequest.payload(
              about: charge.number, amount: action == .capture ? charge.wanted : nil))
        }
        let order = ChargeRequest(
          charge: charge.number, ticket: sale.ticket.number, panel: sale.source.name,
          juice: sale.order.juice, quantity: sale.order.quantity, amount: charge.amount,
          language: settings.language, text: sale.juiceName,
          paySeconds: Int(clamping: sale.payLimit.components.seconds),
          readySeconds: readySeconds(of: sale))
        // Without an expiry, an offline device could receive the message after the customer has left.
        return Message(
          topic: settings.topics.charge(by: charge.device), payload: order.sendable.payload,
          expiry: UInt32(clamping: max(1, request.rest.components.seconds)))
      }
  }

  /// Returns an upper estimate of the time in seconds until a machine has made an order; 0 without a machine.
  private func readySeconds(of sale: Charge.Sale) -> Int {
    guard let machine = assignment(of: sale.order.juice, sale.recipe).machine else { return 0 }
    let limit = terms(of: sale.order, on: machine).finishLimit.components.seconds
    return Int(clamping: limit) * (jobs.count(of: machine) + 1)
  }
}

extension Charge {
  func step(
    _ kind: PaymentStep.Kind, _ receipt: Receipt = Receipt(), machine: MachineID? = nil,
    place: Int? = nil, reason: String? = nil
  ) -> PaymentStep {
    PaymentStep(
      kind, charge: number, device: device, job: sale?.seq, order: sale?.order,
      ticket: sale?.ticket, machine: machine, place: place, receipt: receipt, reason: reason)
  }
}
