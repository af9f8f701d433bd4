import JuiceDomain
import KioskProtocol
package import MessageBroker

// Orders that customers pay for at a device: held when ordered, captured when made, released when
// not.
extension Kiosk {
  // MARK: Messages of devices

  /// Handles a message of a payment device.
  ///
  /// - Parameter recorded: The rows of the ledger, by the charges of the answers.
  mutating func handlePayment(
    _ command: Command, in parsed: ParsedDelivery, recorded: [RepeatKey: LedgerRow],
    at now: Moment, for decision: inout Decision
  ) {
    let name = parsed.source.name
    guard let device = PaymentDeviceID(name), charges.has(device) else {
      return reject(
        parsed, Rejection(.unknownDevice, "the configuration has no payment device \(name)"),
        in: &decision)
    }
    switch command {
    case .payment(let status):
      let record = charges.record(status, from: device, isRetained: parsed.isRetained)
      if let record { decision.transaction.paymentDevices[device] = record }
    case .total(let total):
      record(total, of: device, at: now, in: &decision)
    case .paid(let answer):
      // guard: a retained answer of a payment device moves nothing
      guard !parsed.isRetained else {
        return reject(
          parsed, Rejection(.retained, "publish answers without the retain flag"), in: &decision)
      }
      charges.markResponsive(device)
      // guard: a payment device answers for its own charges only
      guard let charge = charges[answer.charge], charge.device == device else {
        let row = recorded[.charge(answer.charge)]
        return handleEnded(answer, of: device, row, in: parsed, at: now, for: &decision)
      }
      if let flaw = apply(answer, to: charge, at: now, in: &decision) {
        reject(parsed, flaw, in: &decision)
      }
    default:
      reject(
        parsed, Rejection(.malformed, "a payment device does not publish this"), in: &decision)
    }
  }

  private mutating func reject(
    _ parsed: ParsedDelivery, _ rejection: Rejection, in decision: inout Decision
  ) {
    counters.rejected += 1
    decision.reject(parsed, rejection)
  }

  /// Applies an answer about an open charge.
  ///
  /// - Returns: The rejection of the answer, or `nil` if it is possible.
  private mutating func apply(
    _ answer: PaymentAnswer, to charge: Charge, at now: Moment, in decision: inout Decision
  ) -> Rejection? {
    // guard: what a device says about a charge that it was not given does not count
    guard charge.state != .queued else {
      return Rejection(.unknownCharge, "charge \(charge.number) was not sent yet")
    }
    switch answer.status {
    case .waiting(let isPresented):
      guard charge.state == .sent || charge.state == .waiting else { return nil }
      if charge.state == .sent { save(charge.with(.waiting), at: now, in: &decision) }
      charges.prompted(charge, isPresented: isPresented, at: now.uptime)
    case .held(let money): return hold(money, answer, charge, at: now, in: &decision)
    case .declined, .released: released(answer, charge, at: now, in: &decision)
    case .captured(let money): return captured(money, answer, charge, at: now, in: &decision)
    case .refunded(let money): refunded(money, answer, charge, at: now, in: &decision)
    case .unknown: unknown(answer, charge, at: now, in: &decision)
    }
    return nil
  }

  private mutating func hold(
    _ money: Money, _ answer: PaymentAnswer, _ charge: Charge, at now: Moment,
    in decision: inout Decision
  ) -> Rejection? {
    var charge = charge
    let isWrong = money != charge.amount
    let wrong = Rejection(
      .wrongAmount, "charge \(charge.number) is for \(charge.amount), and not for \(money)")
    switch charge.state {
    case .sent, .waiting:
      // guard: a customer who pays too late gets the money back
      guard !charges.isTooLate(charge, at: now) else {
        endUnpaid(charge, .notPaid, at: now, in: &decision)
        charge = charges[charge.number] ?? charge
        return hold(money, answer, charge, at: now, in: &decision)
      }
      charge.held = money
      // guard: another amount than asked for starts nothing
      guard !isWrong else {
        record(.held, of: charge, money, answer, reason: "wrong_amount", at: now, in: &decision)
        endUnpaid(charge, .wrongAmount, at: now, in: &decision)
        return wrong
      }
      begin(charge, answer, at: now, in: &decision)
    case .releasing:
      guard charge.held == nil else { break }
      record(.held, of: charge, money, answer, reason: "too late", at: now, in: &decision)
      charge.held = money
      save(charge, at: now, in: &decision)
      // The hold is new, so it is given back at once.
      charges.requestAgain(charge)
    case .capturing:
      if isWrong { return wrong }
      charges.notDone(charge)
    case .undecided where charge.booked == nil:
      if charge.held == nil {
        record(.held, of: charge, money, answer, at: now, in: &decision)
        charge.held = money
      }
      // A person decides about a charge without an order, and the device knows more about others.
      guard charge.sale != nil else { break }
      save(charge.with(charge.goal), at: now, in: &decision)
      if charge.goal == .capturing { charges.mayHaveBegun(charge) }
    case .held where isWrong: return wrong
    case .queued, .held, .gone, .captured, .refunding, .undecided: break
    }
    return nil
  }

  /// Handles an answer that nothing is held.
  private mutating func released(
    _ answer: PaymentAnswer, _ charge: Charge, at now: Moment, in decision: inout Decision
  ) {
    var charge = charge
    switch charge.state == .undecided ? charge.goal : charge.state {
    case .sent, .waiting:
      charges.noteDecline(charge, answer.reason ?? "declined", at: now.uptime)
      endUnpaid(charge, .declined, answer.reason, isOver: true, at: now, in: &decision)
    case .held, .capturing:
      guard charge.booked == nil, charge.held != nil else { break }
      record(.released, of: charge, charge.held, answer, at: now, in: &decision)
      charge.held = nil
      if charge.state == .held,
        let job = charge.sale.flatMap({ jobs.job(ofOrder: $0.seq) }), job.state == .queued
      {
        save(charge.with(.gone), at: now, in: &decision)
        giveBack(job, "payment_lost", at: now, in: &decision)
      } else if charge.state == .held {
        save(charge.with(.gone), at: now, in: &decision)
      } else {
        save(charge.undecided(.capturing, "made, not paid"), at: now, in: &decision)
      }
    case .releasing:
      guard charge.booked == nil else { break }
      if charge.held != nil {
        record(.released, of: charge, charge.held, answer, at: now, in: &decision)
      }
      close(charge, in: &decision)
    case .queued, .gone, .captured, .refunding, .undecided: break
    }
  }

  private mutating func captured(
    _ money: Money, _ answer: PaymentAnswer, _ charge: Charge, at now: Moment,
    in decision: inout Decision
  ) -> Rejection? {
    var charge = charge
    if charge.booked != nil {
      guard charge.state == .refunding else { return nil }
      if charges.wasAsked(charge, .refund) {
        // The refund was not possible.
        var kept = charge.with(.captured)
        kept.reason = answer.reason
        save(kept, at: now, in: &decision)
      } else {
        charges.notDone(charge)
      }
      return nil
    }
    record(.captured, of: charge, money, answer, at: now, in: &decision)
    charge.booked = money
    switch charge.state == .undecided ? charge.goal : charge.state {
    case .sent, .waiting:
      endUnpaid(charge, .unknown, at: now, in: &decision)
      save(charge.undecided(.releasing, "booked, not made"), at: now, in: &decision)
    case .held:
      save(charge, at: now, in: &decision)
    case .capturing:
      // guard: another amount booked than asked for is for a person
      guard money == charge.wanted else {
        save(charge.undecided(.capturing, "booked \(money)"), at: now, in: &decision)
        return Rejection(
          .wrongAmount,
          "charge \(charge.number): \(charge.wanted ?? charge.amount) was to be captured")
      }
      save(charge.with(.captured), at: now, in: &decision)
    case .gone:
      save(charge.with(.held), at: now, in: &decision)
    case .releasing, .queued, .captured, .refunding, .undecided:
      save(charge.undecided(.releasing, "booked, not made"), at: now, in: &decision)
    }
    return nil
  }

  private mutating func refunded(
    _ money: Money, _ answer: PaymentAnswer, _ charge: Charge, at now: Moment,
    in decision: inout Decision
  ) {
    var charge = charge
    if charge.booked == nil {
      record(.captured, of: charge, money, answer, at: now, in: &decision)
      charge.booked = money
    }
    record(.refunded, of: charge, money, answer, at: now, in: &decision)
    if charge.state == .sent || charge.state == .waiting {
      endUnpaid(charge, .unknown, isOver: true, at: now, in: &decision)
    } else if charge.state == .held || charge.state == .gone {
      (charge.held, charge.booked) = (nil, nil)
      save(charge.with(.gone), at: now, in: &decision)
    } else if money != charge.booked {
      save(charge.undecided(.refunding, "refunded \(money)"), at: now, in: &decision)
    } else {
      close(charge, in: &decision)
    }
  }

  private mutating func unknown(
    _ answer: PaymentAnswer, _ charge: Charge, at now: Moment, in decision: inout Decision
  ) {
    let reason = answer.reason ?? "unknown"
    switch charge.state {
    case .sent, .waiting:
      endUnpaid(charge, .unknown, at: now, in: &decision)
      let open = charges[charge.number] ?? charge
      save(open.undecided(.releasing, reason), at: now, in: &decision)
    case .capturing, .releasing, .refunding:
      save(charge.undecided(charge.state, reason), at: now, in: &decision)
    case .undecided where charge.reason == Charges.noAnswer:
      save(charge.undecided(charge.goal, reason), at: now, in: &decision)
    case .queued, .held, .gone, .captured, .undecided: break
    }
  }

  /// Handles an answer about a charge that is not open.
  ///
  /// - Parameter row: The last row of the ledger about the charge, or `nil` if the ledger does not
  ///   have the charge.
  private mutating func handleEnded(
    _ answer: PaymentAnswer, of device: PaymentDeviceID, _ row: LedgerRow?,
    in parsed: ParsedDelivery, at now: Moment, for decision: inout Decision
  ) {
    let number = answer.charge
    let isNew = decision.transaction.records.contains { $0.row.entry.charge?.number == number }
    guard charges[number] == nil, let money = answer.status.money else {
      if charges[number] != nil || row == nil && !isNew {
        reject(parsed, unknownCharge(answer), in: &decision)
      }
      return
    }
    var foreign = Charge(
      number: number, device: device, sale: nil, amount: money, at: now.timestamp, day: now.day,
      state: .releasing)
    if let known = row?.entry.charge ?? (isNew ? (number, device) : nil) {
      guard known.device == device else { return }
      let last = isNew ? nil : row?.entry.status
      // guard: the answer about an ended charge counts only if that can still have money
      let isUnpaid = isNew || last == .awaitingPayment || last == .released
      switch answer.status {
      // The order is over, so the hold is given back.
      case .held where isUnpaid: open(foreign, at: now, in: &decision)
      case .captured where isUnpaid && !isNew:
        record(.captured, of: foreign, money, answer, at: now, in: &decision)
        foreign.booked = money
        open(foreign.undecided(.releasing, "booked, not made"), at: now, in: &decision)
      // The day of the charge has ended in between.
      case .refunded where last == .captured || last == .refund || last == .kept:
        record(.refunded, of: foreign, money, answer, at: now, in: &decision)
      default: break
      }
      return
    }
    guard case .held = answer.status, charges.hasPlaceForForeign(at: device) else {
      return reject(parsed, unknownCharge(answer), in: &decision)
    }
    // The ledger is older than the charge, or the device is wrong: a person decides.
    record(.held, of: foreign, money, answer, reason: "no order", at: now, in: &decision)
    foreign.held = money
    open(foreign.undecided(.releasing, "no order"), at: now, in: &decision)
    reject(parsed, unknownCharge(answer), in: &decision)
  }

  private func unknownCharge(_ answer: PaymentAnswer) -> Rejection {
    Rejection(.unknownCharge, "the ledger has no charge \(answer.charge) at this device")
  }

  /// Records the end of a device's day.
  private mutating func record(
    _ total: PaymentTotal, of device: PaymentDeviceID, at now: Moment, in decision: inout Decision
  ) {
    guard let (record, difference) = charges.close(total, of: device) else { return }
    decision.transaction.paymentDevices[device] = record
    seq += 1
    let entry = LedgerEntry(
      seq: seq, epoch: epoch, at: now.timestamp, source: nil, id: nil,
      outcome: .total(total, device: device, difference: difference))
    decision.transaction.records.append(.init(LedgerRow(entry)))
  }

  // MARK: Charges

  mutating func open(_ charge: Charge, at now: Moment, in decision: inout Decision) {
    charges.add(charge, at: now.uptime)
    decision.transaction.charges[charge.number] = .some(charge)
  }

  private mutating func save(_ charge: Charge, at now: Moment, in decision: inout Decision) {
    charges.set(charge, at: now.uptime)
    decision.transaction.charges[charge.number] = .some(charge)
  }

  private mutating func close(_ charge: Charge, in decision: inout Decision) {
    charges.remove(charge)
    decision.transaction.charges[charge.number] = .some(nil)
  }

  /// Records a step that moved money.
  private mutating func record(
    _ kind: PaymentStep.Kind, of charge: Charge, _ amount: Money?, _ answer: PaymentAnswer,
    reason: String? = nil, at now: Moment, in decision: inout Decision
  ) {
    seq += 1
    let entry = LedgerEntry(
      seq: seq, epoch: epoch, at: now.timestamp, source: nil, id: nil,
      outcome: .payment(charge.step(kind, answer.receipt, reason: reason ?? answer.reason)),
      amount: amount)
    decision.transaction.records.append(.init(LedgerRow(entry)))
    count(kind, amount, at: charge.device, in: &decision)
  }

  private mutating func count(
    _ kind: PaymentStep.Kind, _ amount: Money?, at device: PaymentDeviceID,
    in decision: inout Decision
  ) {
    let record = charges.count(kind, amount, at: device)
    if let record { decision.transaction.paymentDevices[device] = record }
  }

  // MARK: Orders

  /// Begins a paid order: a machine gets it, or it is ready.
  private mutating func begin(
    _ charge: Charge, _ answer: PaymentAnswer, at now: Moment, in decision: inout Decision
  ) {
    guard let sale = charge.sale, let end = charge.end else { return }
    let (isNeeded, machine) = jobs.assignment(of: sale.order.juice, sale.recipe)
    guard let machine, isNeeded else {
      record(.held, of: charge, charge.held, answer, at: now, in: &decision)
      guard !isNeeded else {
        return endUnpaid(
          charge, text: RejectionReason.machineDown.rawValue,
          message: CustomerMessage.machineDown(in: settings.language), at: now, in: &decision)
      }
      save(charge.with(.held), at: now, in: &decision)
      endOrder(sale, .made(end), amount: charge.amount, at: now, in: &decision)
      return settle(order: sale.seq, glasses: sale.order.quantity, at: now, in: &decision)
    }
    save(charge.with(.held), at: now, in: &decision)
    seq += 1
    let entry = LedgerEntry(
      seq: seq, epoch: epoch, at: now.timestamp, source: sale.source, id: sale.id,
      outcome: .payment(
        charge.step(
          .held, answer.receipt, machine: machine, place: jobs.count(of: machine) + 1)),
      amount: charge.held)
    let row = LedgerRow(
      entry,
      message: CustomerMessage.accepted(
        sale.juiceName, ticket: sale.ticket.number, in: settings.language))
    decision.record(row, answering: sale.reply, on: settings.topics)
    var terms = terms(of: sale.order, on: machine)
    terms.juiceName = sale.juiceName
    let job = Job(
      seq: sale.seq, number: seq, machine: machine, order: sale.order, ticket: sale.ticket,
      used: sale.used, amount: charge.amount, source: sale.source, id: sale.id, at: now.timestamp,
      state: .queued, reply: sale.reply, terms: terms)
    jobs.add(job, at: now.uptime)
    decision.transaction.jobs[sale.seq] = .some(job)
  }

  /// Ends an order that was not paid, and gives back what may be held.
  ///
  /// - Parameter isOver: Whether the device holds nothing and never will.
  private mutating func endUnpaid(
    _ charge: Charge, _ reason: PaymentEnd, _ detail: String? = nil, isOver: Bool = false,
    at now: Moment, in decision: inout Decision
  ) {
    endUnpaid(
      charge, text: reason.rawValue,
      message: CustomerMessage.notPaid(reason, detail, in: settings.language), detail: detail,
      isOver: isOver, at: now, in: &decision)
  }

  private mutating func endUnpaid(
    _ charge: Charge, text: String, message: String, detail: String? = nil, isOver: Bool = false,
    at now: Moment, in decision: inout Decision
  ) {
    guard let sale = charge.sale, let end = charge.end else { return }
    // A charge that the device never got needs no release.
    let isOver = isOver || (charges[charge.number]?.state ?? charge.state) == .queued
    if isOver {
      close(charge, in: &decision)
    } else {
      save(charge.with(.releasing), at: now, in: &decision)
    }
    endOrder(
      sale, .returned(end, reason: text, changes: sale.used), message: message, detail: detail,
      at: now, in: &decision)
  }

  /// Ends an order that no machine got.
  private mutating func endOrder(
    _ sale: Charge.Sale, _ outcome: LedgerEntry.Outcome, amount: Money? = nil,
    message: String? = nil, detail: String? = nil, at now: Moment, in decision: inout Decision
  ) {
    juiceMaker.giveBack(outcome.changes)
    seq += 1
    let row = LedgerRow(
      LedgerEntry(
        seq: seq, epoch: epoch, at: now.timestamp, source: sale.source, id: sale.id,
        outcome: outcome, amount: amount),
      stock: juiceMaker.stock, detail: detail,
      message: message ?? self.message(about: outcome, of: sale.juiceName))
    count(outcome)
    decision.record(row, answering: sale.reply, on: settings.topics)
    appendFeedback(of: row, in: &decision)
  }

  /// Captures what was made of an order, and gives back the rest.
  mutating func settle(
    order seq: Int, glasses: Int, at now: Moment, in decision: inout Decision
  ) {
    guard var charge = charges.charge(ofOrder: seq) else { return }
    let price = glasses == charge.sale?.order.quantity ? charge.amount : charge.price(of: glasses)
    charge.wanted = price
    switch (price, charge.state, charge.booked) {
    case (let price?, _, let booked?):
      let isRight = price == booked
      save(
        isRight ? charge.with(.captured) : charge.undecided(.capturing, "booked \(booked)"),
        at: now, in: &decision)
    case (nil, _, _?):
      save(charge.undecided(.releasing, "booked, not made"), at: now, in: &decision)
    case (_?, .gone, nil):
      save(charge.undecided(.capturing, "made, not paid"), at: now, in: &decision)
    case (nil, .gone, nil): close(charge, in: &decision)
    case (_?, _, nil): save(charge.with(.capturing), at: now, in: &decision)
    case (nil, _, nil): save(charge.with(.releasing), at: now, in: &decision)
    }
  }

  /// Ends the order of the same panel whose customer has not presented a card, if this is another
  /// one that the kiosk takes.
  mutating func replaceUnpaid(
    by request: Request, in parsed: ParsedDelivery, at now: Moment, in decision: inout Decision
  ) {
    guard case .order = request.command, let first = charges.replaceable(from: parsed.source),
      let sale = first.sale
    else { return }
    var trial = self
    trial.juiceMaker.giveBack(sale.used)
    let outcome = try? trial.apply(
      request, from: parsed.source, isRetained: parsed.isRetained, at: now)
    guard case .awaitingPayment = outcome else { return }
    endUnpaid(first, .replaced, at: now, in: &decision)
  }

  // MARK: A person decides

  /// Applies the decision of a person about a charge.
  func apply(_ decided: ChargeDecision) throws(Rejection) -> LedgerEntry.Outcome {
    guard let charge = charges[decided.charge], let kind = charge.allows(decided.choice) else {
      throw Rejection(
        .noDecisionNeeded,
        charges[decided.charge].map { "charge \($0.number) is \($0.state.rawValue)" }
          ?? "charge \(decided.charge) is not open: a refund is possible on the same day, once")
    }
    return .payment(charge.step(kind, reason: charge.reason))
  }

  /// Changes the charge that an entry decides about.
  mutating func execute(
    _ decided: ChargeDecision, in entry: LedgerEntry, at now: Moment, in decision: inout Decision
  ) {
    guard case .payment(let step) = entry.outcome, var charge = charges[decided.charge] else {
      return
    }
    count(step.kind, entry.amount, at: charge.device, in: &decision)
    // guard: what a person requests is asked about first if it may have happened
    defer { if charge.state == .undecided { charges.mayHaveBegun(charge) } }
    switch step.kind {
    case .refund: save(charge.with(.refunding), at: now, in: &decision)
    case .capture:
      charge.wanted = charge.held
      save(charge.with(.capturing), at: now, in: &decision)
    case .release: save(charge.with(.releasing), at: now, in: &decision)
    case .captured, .kept:
      charge.booked = charge.booked ?? entry.amount
      save(charge.with(.captured), at: now, in: &decision)
    case .released, .refunded, .held: close(charge, in: &decision)
    }
  }

  // MARK: Time

  mutating func firePaymentTimers(at now: Moment, in decision: inout Decision) {
    let overdue = charges.overdue(at: now)
    for charge in overdue.unpaid { endUnpaid(charge, .notPaid, at: now, in: &decision) }
    for charge in overdue.unanswered {
      save(charge.undecided(charge.state, Charges.noAnswer), at: now, in: &decision)
    }
    for charge in overdue.settled { close(charge, in: &decision) }
    for charge in charges.dispatch(at: now) {
      decision.transaction.charges[charge.number] = .some(charge)
    }
  }

  /// Returns the requests to payment devices that are due. Call it only after the commit.
  package mutating func messagesForPaymentDevices(at now: Moment) -> [Message] {
    guard settings.payment != nil else { return [] }
    return charges.requests(at: now).map { request in
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
      // The broker may keep the message for an offline device until the customer has left.
      return Message(
        topic: settings.topics.charge(by: charge.device), payload: order.payload,
        expiry: UInt32(clamping: max(1, request.rest.components.seconds)))
    }
  }

  /// The longest time until an order is ready, by the limits of its machine.
  private func readySeconds(of sale: Charge.Sale) -> Int {
    guard let machine = jobs.assignment(of: sale.order.juice, sale.recipe).machine else { return 0 }
    let limit = terms(of: sale.order, on: machine).finishLimit.components.seconds
    return Int(clamping: limit) * (jobs.count(of: machine) + 1)
  }
}

extension Charge {
  /// The largest amount of one charge in smallest units.
  static let maximumUnits = 1_000_000_000_000

  func step(
    _ kind: PaymentStep.Kind, _ receipt: Receipt = Receipt(), machine: MachineID? = nil,
    place: Int? = nil, reason: String? = nil
  ) -> PaymentStep {
    PaymentStep(
      kind, charge: number, device: device, job: sale?.seq, order: sale?.order,
      ticket: sale?.ticket, machine: machine, place: place, receipt: receipt, reason: reason)
  }

  /// Returns the step that a person's decision means, or `nil` if the state does not allow it.
  func allows(_ choice: ChargeDecision.Choice) -> PaymentStep.Kind? {
    let isBooked = booked != nil
    switch (choice, state) {
    case (.refund, .captured), (.refund, .undecided): return isBooked ? .refund : nil
    case (.capture, .undecided): return held != nil && !isBooked ? .capture : nil
    case (.release, .undecided): return isBooked ? nil : .release
    case (.captured, .undecided): return isBooked ? .kept : .captured
    case (.released, .undecided): return isBooked ? nil : .released
    case (.refunded, .undecided): return isBooked ? .refunded : nil
    default: return nil
    }
  }

  /// The amount of a step that a person decides, or `nil` if it moves nothing.
  func amount(of kind: PaymentStep.Kind) -> Money? {
    switch kind {
    case .captured: wanted ?? held ?? amount
    case .released: held
    case .refunded: booked
    case .held, .capture, .release, .refund, .kept: nil
    }
  }
}

extension LedgerEntry {
  /// The charge that the entry is about, or `nil` if it is about none.
  fileprivate var charge: (number: Int, device: PaymentDeviceID)? {
    switch outcome {
    case .awaitingPayment(_, _, _, let charge, let device): (charge, device)
    case .payment(let step): (step.charge, step.device)
    default: nil
    }
  }
}
