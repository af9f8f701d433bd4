import JuiceDomain
import KioskProtocol

// Answers, statuses and totals of payment devices.
extension Kiosk {
  /// Handles a message of a payment device.
  ///
  /// - Parameter recorded: The rows of the ledger, by the charges of the answers.
  mutating func handlePayment(
    _ command: Command, in parsed: ParsedDelivery, recorded: [RepeatKey: LedgerRow],
    for decision: inout Decision
  ) {
    let name = parsed.source.name
    guard let device = PaymentDeviceID(name), charges.has(device) else {
      return reject(
        parsed, Rejection(.unknownDevice, "the configuration has no payment device \(name)"),
        in: &decision)
    }
    switch command {
    case .payment(let status):
      charges.record(status, from: device, isRetained: parsed.isRetained)
    case .total(let total):
      record(total, of: device, in: &decision)
    case .inventory(let epoch):
      // guard: a retained message does not end the question what a payment device holds
      guard !parsed.isRetained else { break }
      charges.markResponsive(device)
      charges.inventoried(device, epoch: epoch)
    case .paid(let answer):
      // guard: a retained answer of a payment device moves nothing
      guard !parsed.isRetained else {
        return reject(
          parsed, Rejection(.retained, "publish answers without the retain flag"), in: &decision)
      }
      charges.answered(answer.charge, by: device)
      // guard: a payment device answers for its own charges only
      guard let charge = charges[answer.charge], charge.device == device else {
        let row = recorded[.charge(answer.charge)]
        return handleEnded(answer, of: device, row, in: parsed, for: &decision)
      }
      if let flaw = apply(answer, to: charge, in: &decision) {
        reject(parsed, flaw, in: &decision)
      }
    default:
      reject(parsed, Rejection(.malformed, "a payment device does not publish this"), in: &decision)
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
  /// - Returns: The rejection of the answer, or `nil` if the kiosk applies or ignores the answer.
  private mutating func apply(
    _ answer: PaymentAnswer, to charge: Charge, in decision: inout Decision
  ) -> Rejection? {
    let now = decision.now
    // guard: an answer about a charge that the device did not receive does not count
    guard charge.state != .queued else {
      return Rejection(.unknownCharge, "charge \(charge.number) was not sent yet")
    }
    switch answer.status {
    case .waiting(let isPresented):
      // The device still prompts the customer, although the kiosk has requested the release.
      if charge.state == .releasing { charges.unfinished(charge, failure: nil, at: now.uptime) }
      guard charge.state == .sent || charge.state == .waiting else { return nil }
      if charge.state == .sent { save(charge.with(.waiting), in: &decision) }
      charges.prompted(charge, isPresented: isPresented, at: now.uptime)
    case .held(let money): return hold(money, answer, charge, in: &decision)
    case .declined, .released: released(answer, charge, in: &decision)
    case .captured(let money): return captured(money, answer, charge, in: &decision)
    case .refunded(let money): return refunded(money, answer, charge, in: &decision)
    case .unknown: unknown(answer, charge, in: &decision)
    }
    return nil
  }

  private mutating func hold(
    _ money: Money, _ answer: PaymentAnswer, _ charge: Charge, in decision: inout Decision
  ) -> Rejection? {
    let now = decision.now
    var charge = charge
    let isWrong = money != charge.amount
    let wrong = Rejection(
      .wrongAmount, "charge \(charge.number) is for \(charge.amount), and not for \(money)")
    switch charge.state {
    case .sent, .waiting:
      // guard: a customer who pays too late gets the money back
      guard !charges.isTooLate(charge, at: now) else {
        endUnpaid(charge, .notPaid, in: &decision)
        charge = charges[charge.number] ?? charge
        return hold(money, answer, charge, in: &decision)
      }
      charge.held = money
      // guard: another amount than asked for starts nothing
      guard !isWrong else {
        record(.held, of: charge, money, answer, reason: "wrong_amount", in: &decision)
        endUnpaid(charge, .wrongAmount, in: &decision)
        return wrong
      }
      begin(charge, answer, in: &decision)
    case .releasing:
      // The kiosk records a hold once, and not for a charge that it had closed before.
      guard charge.held == nil, charge.sale != nil else {
        charges.unfinished(charge, failure: answer.reason, at: now.uptime)
        break
      }
      record(.held, of: charge, money, answer, reason: "too late", in: &decision)
      charge.held = money
      save(charge, in: &decision)
      // The hold is new, so the kiosk releases it at once.
      charges.beginAgain(charge, at: now.uptime)
    case .capturing:
      if isWrong { return wrong }
      charges.notDone(charge)
      charges.unfinished(charge, failure: answer.reason, at: now.uptime)
    case .undecided where charge.captured == nil && !charge.isRefunded:
      // A person decides about a charge without an order, and about one whose hold has ended: this
      // answer is older than that end. Otherwise the device's answer counts.
      guard charge.sale != nil, charge.held != nil || charge.goal != .capturing else { break }
      // The device has answered before that it could not execute the request.
      guard charge.reason != charges.failure(of: charge) else {
        charges.notDone(charge)
        break
      }
      if charge.held == nil {
        record(.held, of: charge, money, answer, in: &decision)
        charge.held = money
      }
      save(charge.with(charge.goal), in: &decision)
      if charge.goal == .capturing { charges.mayHaveBegun(charge) }
    case .held where isWrong: return wrong
    case .queued, .held, .gone, .captured, .refunding, .undecided: break
    }
    return nil
  }

  /// Handles the answer that the device holds no amount.
  private mutating func released(
    _ answer: PaymentAnswer, _ charge: Charge, in decision: inout Decision
  ) {
    var charge = charge
    switch charge.goal {
    case .sent, .waiting:
      charges.noteDecline(charge, answer.reason ?? "declined", at: decision.now.uptime)
      endUnpaid(charge, .declined, answer.reason, isOver: true, in: &decision)
    case .held, .capturing:
      guard charge.captured == nil, charge.held != nil else { break }
      record(.released, of: charge, charge.held, answer, in: &decision)
      charge.held = nil
      if charge.state == .held,
        let job = charge.sale.flatMap({ jobs.job(ofOrder: $0.seq) }), job.state == .queued
      {
        save(charge.with(.gone), in: &decision)
        giveBack(job, .paymentLost, in: &decision)
      } else if charge.state == .held {
        save(charge.with(.gone), in: &decision)
      } else {
        save(charge.undecided(.capturing, "made, not paid"), in: &decision)
      }
    case .releasing:
      guard charge.captured == nil else { break }
      if charge.held != nil {
        record(.released, of: charge, charge.held, answer, in: &decision)
      }
      close(charge, in: &decision)
    case .queued, .gone, .captured, .refunding, .undecided: break
    }
  }

  private mutating func captured(
    _ money: Money, _ answer: PaymentAnswer, _ charge: Charge, in decision: inout Decision
  ) -> Rejection? {
    // The device has refunded the amount before the end of the order: this answer is older.
    if charge.isRefunded { return nil }
    // A device that takes money at once, such as a coin box: the amount was held and is captured.
    if charge.state == .sent || charge.state == .waiting {
      let flaw = hold(money, answer, charge, in: &decision)
      guard let held = charges[charge.number] else { return flaw }
      return captured(money, answer, held, in: &decision) ?? flaw
    }
    var charge = charge
    if charge.captured != nil {
      guard charge.state == .refunding else { return nil }
      // guard: an answer that may be older than the refund does not refuse it
      if charges.wasAsked(charge, .refund) {
        charges.refused(charge, answer.reason)
      } else if let reason = charges.refusal(of: charge) {
        let refusal = reason.isEmpty ? "the device cannot refund" : reason
        // guard: a refund that the device refuses is for a person
        save(charge.undecided(.refunding, refusal), in: &decision)
      } else {
        charges.notDone(charge)
        charges.unfinished(charge, failure: answer.reason, at: decision.now.uptime)
      }
      return nil
    }
    record(.captured, of: charge, money, answer, in: &decision)
    charge.captured = money
    switch charge.goal {
    case .held:
      save(charge, in: &decision)
    case .capturing:
      // guard: another amount captured than asked for is for a person
      guard money == charge.wanted else {
        save(charge.undecided(.capturing, "captured \(money)"), in: &decision)
        return Rejection(
          .wrongAmount,
          "charge \(charge.number): \(charge.wanted ?? charge.amount) was to be captured")
      }
      save(charge.with(.captured), in: &decision)
    case .gone:
      save(charge.with(.held), in: &decision)
    case .releasing, .queued, .sent, .waiting, .captured, .refunding, .undecided:
      let reason = charge.wanted == nil ? "captured, not made" : "captured, written off"
      save(charge.undecided(.releasing, reason), in: &decision)
    }
    return nil
  }

  private mutating func refunded(
    _ money: Money, _ answer: PaymentAnswer, _ charge: Charge, in decision: inout Decision
  ) -> Rejection? {
    // A person decides about the rest of a partial refund, or about a wrong amount.
    guard charge.goal != .undecided else { return nil }
    var charge = charge
    // guard: a refund of more than was captured is for a person
    if let captured = charge.captured, !money.isPart(of: captured) {
      save(charge.undecided(.undecided, "refunded \(money)"), in: &decision)
      return Rejection(
        .wrongAmount, "of charge \(charge.number) \(captured) was captured, and not \(money)")
    }
    if charge.captured == nil {
      record(.captured, of: charge, money, answer, in: &decision)
      charge.captured = money
    }
    record(.refunded, of: charge, money, answer, in: &decision)
    if charge.state == .sent || charge.state == .waiting {
      endUnpaid(charge, .unknown, isOver: true, in: &decision)
    } else if charge.state == .held || charge.state == .gone {
      let rest = charge.captured.map { Money(units: $0.units - money.units, $0.currency) }
      // guard: the rest of a refund before the end of the order stays captured
      (charge.held, charge.captured) = (nil, rest.flatMap { $0.units > 0 ? $0 : nil })
      var gone = charge.with(.gone)
      // The device does not refund again.
      gone.goal = .undecided
      save(gone, in: &decision)
    } else if let captured = charge.captured, money != captured {
      charge.captured = Money(units: captured.units - money.units, captured.currency)
      save(charge.undecided(.undecided, "refunded \(money)"), in: &decision)
    } else {
      close(charge, in: &decision)
    }
    return nil
  }

  private mutating func unknown(
    _ answer: PaymentAnswer, _ charge: Charge, in decision: inout Decision
  ) {
    let reason = answer.reason ?? "unknown"
    switch charge.state {
    case .sent, .waiting:
      endUnpaid(charge, .unknown, in: &decision)
      let open = charges[charge.number] ?? charge
      save(open.undecided(.releasing, reason), in: &decision)
    case .capturing, .releasing, .refunding:
      save(charge.undecided(charge.state, reason), in: &decision)
    case .undecided where charges.isRepeated(charge):
      save(charge.undecided(charge.goal, reason), in: &decision)
    case .queued, .held, .gone, .captured, .undecided: break
    }
  }

  /// Handles an answer about a charge that is not open at this device.
  ///
  /// - Parameter row: The refund of the charge, or else the last row of the ledger about it; or `nil`
  ///   if the ledger does not have the charge.
  private mutating func handleEnded(
    _ answer: PaymentAnswer, of device: PaymentDeviceID, _ row: LedgerRow?,
    in parsed: ParsedDelivery, for decision: inout Decision
  ) {
    let now = decision.now
    let number = answer.charge
    let isNew = decision.transaction.records.contains { $0.row.entry.charge == number }
    guard charges[number] == nil, let money = answer.status.money else {
      if charges[number] != nil || row == nil && !isNew {
        reject(parsed, unknownCharge(answer), in: &decision)
      }
      return
    }
    var foreign = Charge(
      number: number, device: device, sale: nil, amount: money, at: now.timestamp, day: now.day,
      state: .releasing)
    if let owner = row?.entry.outcome.device ?? (isNew ? device : nil) {
      guard owner == device else { return }
      let last = isNew ? nil : row?.entry.status
      // The last row is `release` if the charge had no hold to record as released.
      // guard: the answer about an ended charge counts only if that can still have money
      let isUnpaid =
        isNew || last == .awaitingPayment || last == .release || last == .released
        || last == .writtenOff
      switch answer.status {
      case .held where isUnpaid, .captured where isUnpaid && !isNew:
        // guard: the ended charges that a device opens again are bounded
        guard charges.mayOpenForeign(number, at: device, at: now.uptime) else {
          return reject(
            parsed, Rejection(.rateLimited, "too many charges without an order"), in: &decision)
        }
        // The order has ended, so the kiosk releases the hold.
        guard case .captured = answer.status else { return charges.add(foreign, at: now.uptime) }
        record(.captured, of: foreign, money, answer, in: &decision)
        foreign.captured = money
        charges.add(
          foreign.undecided(
            .releasing, last == .writtenOff ? "captured, written off" : "captured, not made"),
          at: now.uptime)
      // The kiosk had already closed the charge at the end of its day.
      case .refunded
      where last == .captured || last == .refund || last == .kept || last == .paidBack:
        guard row?.entry.amount.map({ money.isPart(of: $0) }) ?? true else {
          return reject(
            parsed, Rejection(.wrongAmount, "charge \(number) was captured for less"), in: &decision
          )
        }
        record(.refunded, of: foreign, money, answer, in: &decision)
      default: break
      }
      return
    }
    guard case .held = answer.status,
      charges.mayOpenForeign(number, at: device, at: now.uptime)
    else {
      return reject(parsed, unknownCharge(answer), in: &decision)
    }
    // The ledger was restored from an older backup, or the device is wrong: a person decides.
    record(.held, of: foreign, money, answer, reason: "no order", in: &decision)
    foreign.held = money
    charges.add(foreign.undecided(.releasing, "no order"), at: now.uptime)
    reject(parsed, unknownCharge(answer), in: &decision)
  }

  private func unknownCharge(_ answer: PaymentAnswer) -> Rejection {
    Rejection(.unknownCharge, "the ledger has no charge \(answer.charge) at this device")
  }

  /// Records the total that a device has published at the end of its day. Ignores a total that exceeds the
  /// device's limit of entries: the next one is then not compared.
  private mutating func record(
    _ total: PaymentTotal, of device: PaymentDeviceID, in decision: inout Decision
  ) {
    guard let difference = charges.close(total, of: device, at: decision.now.uptime) else { return }
    record(.total(total, device: device, difference: difference), in: &decision)
  }
}

extension Money {
  /// Returns whether the amount is at most `whole`, in the same currency.
  fileprivate func isPart(of whole: Money) -> Bool {
    currency == whole.currency && units <= whole.units
  }
}
