import JuiceDomain
import KioskProtocol
import MessageBroker

// Decisions of people about charges.
extension Kiosk {
  /// Returns the outcome of a person's decision about a charge.
  func apply(_ decided: ChargeDecision, on day: Int) throws(Rejection) -> LedgerEntry.Outcome {
    // guard: a captured charge of an earlier day is not refunded
    guard let charge = charges[decided.charge], !charge.isSettled(on: day) else {
      throw Rejection(
        .noDecisionNeeded,
        "charge \(decided.charge) is not open: a refund is possible on the same day, once")
    }
    guard let kind = charge.allows(decided.choice) else {
      throw Rejection(
        .noDecisionNeeded, "charge \(charge.number) is \(charge.state.rawValue)")
    }
    return .payment(charge.step(kind, reason: decided.word ?? charge.reason))
  }

  /// Changes the charge after the entry of a decision about it.
  mutating func execute(
    _ decided: ChargeDecision, in entry: LedgerEntry, answering reply: Reply?,
    in decision: inout Decision
  ) {
    guard case .payment(let step) = entry.outcome, var charge = charges[decided.charge] else {
      return
    }
    // A person who requests something else gets no other answer.
    charges.requesters[charge.number] =
      decided.choice.isRequest
      ? Charges.Requester(kind: step.kind, source: entry.source, id: entry.id, reply: reply) : nil
    charges.count(step.kind, entry.amount, at: charge.device)
    // guard: what a person requests is asked about first if it may have happened
    defer {
      if charge.state == .undecided || charge.goal == .refunding { charges.mayHaveBegun(charge) }
    }
    switch step.kind {
    case .refund: save(charge.with(.refunding), in: &decision)
    case .capture:
      // guard: a person's capture takes the price of the glasses that were made
      charge.wanted = charge.wanted ?? charge.held
      save(charge.with(.capturing), in: &decision)
    case .release: save(charge.with(.releasing), in: &decision)
    case .captured, .kept:
      charge.captured = charge.captured ?? entry.amount
      var kept = charge.with(.captured)
      // A refund that was requested before may still have happened, or has happened in part.
      if charge.goal == .refunding || charge.goal == .undecided { kept.goal = charge.goal }
      save(kept, in: &decision)
    // The device may still hold the amount if it has not answered.
    case .writtenOff where charges.isRepeated(charge):
      save(charge.with(.releasing), in: &decision)
    case .released, .refunded, .paidBack, .writtenOff, .held: close(charge, in: &decision)
    }
  }

  /// Answers the person whose request about a charge has an outcome.
  ///
  /// - Parameter next: The charge in its new state, or `nil` if it is closed.
  mutating func answerRequester(of number: Int, _ next: Charge?, in decision: inout Decision) {
    guard let requester = charges.requesters[number] else { return }
    var result = CommandResult(status: .applied)
    switch next?.state {
    case .capturing, .releasing, .refunding: return
    // guard: a request of a person is done only if money has moved or was found moved
    case .undecided: (result.status, result.failure) = (.failed, next?.reason)
    default: break
    }
    charges.requesters[number] = nil
    result.id = requester.id
    result.device = next?.device
    result.amount = next?.captured
    guard let source = requester.source else { return }
    decision.answer([
      Message(
        topic: requester.reply?.topic ?? settings.topics.result(for: source),
        payload: result.payload, correlationData: requester.reply?.correlationData)
    ])
  }
}

extension Charge {
  /// Whether the charge is captured and its day is over, so that it is closed.
  func isSettled(on day: Int) -> Bool { state == .captured && self.day < day }

  /// Returns the step that a person's decision causes, or `nil` if the state does not allow it.
  func allows(_ choice: ChargeDecision.Choice) -> PaymentStep.Kind? {
    let isCaptured = captured != nil
    switch (choice, state) {
    case (.refund, .captured), (.refund, .undecided):
      return isCaptured && goal != .undecided ? .refund : nil
    case (.capture, .undecided): return held != nil && !isCaptured ? .capture : nil
    case (.release, .undecided): return isCaptured || isRefunded ? nil : .release
    case (.captured, .undecided): return isCaptured ? .kept : isRefunded ? nil : .captured
    case (.released, .undecided): return isCaptured ? nil : .released
    case (.refunded, .undecided): return isCaptured ? .refunded : nil
    case (.cash, .captured), (.cash, .undecided): return isCaptured ? .paidBack : nil
    case (.writeOff, .undecided):
      return goal == .capturing && !isCaptured || isRefunded ? .writtenOff : nil
    default: return nil
    }
  }

  /// Returns the amount of a step that a person decides, or `nil` if the step is a request.
  func amount(of kind: PaymentStep.Kind) -> Money? {
    switch kind {
    case .captured: wanted ?? held ?? amount
    case .released: held
    case .refunded, .paidBack, .kept: captured
    case .writtenOff: wanted ?? amount
    case .held, .capture, .release, .refund: nil
    }
  }
}
