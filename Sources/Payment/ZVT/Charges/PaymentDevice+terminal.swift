import JuiceDomain
import KioskProtocol

// Events of the terminal and its connection.

extension PaymentDevice {
  /// Processes a new connection to the terminal.
  package mutating func connected(at now: Duration) -> [Action] {
    session.open()
    (isConnected, isRegistered, state, step) = (true, false, nil, nil)
    (pause, nextEnquiry, hasAborted) = (now, now, false)
    (otherCurrency, busySince, isBusy) = (nil, nil, false)
    (knowsRepeat, lastReceipt) = (settings.repeatsReceipt, nil)
    shortestPatience = nil
    (needsReview, evidence) = (true, Evidence())
    (capture, showsText) = (settings.capture, settings.showsText)
    var actions: [Action] = []
    proceed(at: now, &actions)
    return actions
  }

  /// Processes the end of the connection to the terminal, which was lost or dropped.
  package mutating func disconnected(at now: Duration) -> [Action] {
    var actions: [Action] = []
    perform(session.close(), at: now, &actions)
    isConnected = false
    // A capture, release or refund that the device has not sent stays requested. `perform` has
    // marked the charge whose result was lost as unclear.
    for record in journal.open where Self.mayBeUnclear(record) && !Self.needsCommand(record) {
      unclear.insert(record.charge)
    }
    prompt = nil
    step = nil
    proceed(at: now, &actions)
    return actions
  }

  /// Processes bytes of the terminal.
  package mutating func received(_ bytes: [UInt8], at now: Duration) -> [Action] {
    var actions: [Action] = []
    perform(session.receive(bytes, at: now), at: now, &actions)
    proceed(at: now, &actions)
    return actions
  }

  /// Fires expired timers; see `deadline`.
  package mutating func tick(at now: Duration) -> [Action] {
    var actions: [Action] = []
    perform(session.tick(at: now), at: now, &actions)
    if let prompt, prompt.hasBegun {
      if !prompt.isEnded, promptEnd(prompt) <= now, isPrompting(prompt.charge) {
        self.prompt?.hasTimedOut = true
        endPrompt(at: now, &actions)
      } else if prompt.isEnded, let next = prompt.nextAbort, next <= now {
        endPrompt(at: now, &actions)
      }
    }
    proceed(at: now, &actions)
    return actions
  }

  /// Returns whether the prompt for a card has no result yet.
  private func isPrompting(_ charge: Int) -> Bool {
    guard let record = journal.records[charge] else { return false }
    return record.held == nil && (record.state == .begun || record.state == .releasing)
  }

  /// Executes the actions of the session.
  mutating func perform(
    _ events: [TerminalSession.Action], at now: Duration, _ actions: inout [Action]
  ) {
    for event in events {
      switch event {
      case .send(let bytes): actions.append(.send(bytes))
      case .drop(let reason): actions.append(.disconnect(reason))
      case .accepted: accepted(at: now, &actions)
      case .progress(let code): progress(code, at: now, &actions)
      case .approved(let fields): approved(fields, at: now, &actions)
      case .ended(_, let outcome):
        let ended = step
        step = nil
        if let ended { end(ended, outcome, at: now, &actions) }
      }
    }
  }

  private mutating func accepted(at now: Duration, _ actions: inout [Action]) {
    switch step {
    case .register, .enquire, nil: break
    default: busySince = nil
    }
    guard case .begin(let charge) = step, let record = journal.records[charge] else { return }
    if record.state == .begun { actions.append(.publish(record.answer)) }
    // The release arrived before the terminal accepted the command.
    if record.state == .releasing { endPrompt(at: now, &actions) }
  }

  private mutating func progress(_ code: UInt8, at now: Duration, _ actions: inout [Action]) {
    guard case .begin(let charge) = step, var prompt, prompt.charge == charge,
      let record = journal.records[charge], record.state == .begun, Progress.isCustomer(code)
    else { return }
    prompt.last = now
    let isPresented = Progress.isPresented(code)
    let isNew = isPresented && !prompt.isPresented
    prompt.isPresented = prompt.isPresented || isPresented
    guard isNew || prompt.nextSign <= now else {
      self.prompt = prompt
      return
    }
    prompt.nextSign = now + .seconds(1)
    self.prompt = prompt
    actions.append(
      .publish(
        PaymentAnswer(
          charge: record.charge, status: .waiting(isPresented: prompt.isPresented),
          reason: record.reason)))
  }

  /// Processes the approval of a payment that waits for the goods.
  private mutating func approved(_ fields: Fields, at now: Duration, _ actions: inout [Action]) {
    guard case .begin(let charge) = step, var record = journal.records[charge], record.held == nil
    else { return }
    prompt = nil
    approvedAt = now
    noteCurrency(fields, &actions)
    noteBeginning(fields, &actions)
    take(fields, &record)
    record.held = fields.amount ?? record.price.units
    if record.state == .releasing {
      session.goods = .notMade
      store(record, &actions)
    } else if let flaw = flaw(of: fields, record) {
      session.goods = .notMade
      (record.state, record.reason) = (.releasing, flaw)
      store(record, &actions)
    } else {
      record.state = .held
      change(record, &actions)
    }
  }

  // MARK: Ends of commands

  private mutating func end(
    _ step: Step, _ outcome: TerminalSession.Outcome, at now: Duration, _ actions: inout [Action]
  ) {
    if case .refused(let code) = outcome, code.byte == 0x9C {
      // The terminal was busy and executed nothing.
      pause = now + .seconds(2)
      busySince = busySince ?? now
      if case .begin = step { prompt?.hasBegun = false }
      return
    }
    if step != .enquire { busySince = nil }
    if case .completed(let status, let completion) = outcome {
      noteCurrency(status ?? completion?.fields, &actions)
      terminal = completion?.fields.terminal ?? status?.terminal ?? terminal
      lastReceipt = status?.receipt ?? lastReceipt
    }
    // guard: a failed result of a completed command is no success
    let result = outcome.abortedIfFailed
    switch step {
    case .register: endRegistration(outcome, at: now, &actions)
    case .enquire: endEnquiry(outcome, at: now, &actions)
    case .openReservations: endOpenReservations(outcome, &actions)
    case .lastResult: endLastResult(outcome, &actions)
    case .endOfDay: endEndOfDay(result, at: now, &actions)
    case .display(let charge):
      // The text is optional, so an abort has no consequence.
      if case .refused = outcome { showsText = false }
      if let record = journal.records[charge], record.state == .releasing, prompt != nil {
        finish(record, .released, &actions)
      }
    case .begin(let charge): endBegin(charge, outcome, at: now, &actions)
    case .capture(let charge): endCapture(charge, result, &actions)
    case .release(let charge): endReturn(charge, result, to: .released, &actions)
    case .refund(let charge): endReturn(charge, result, to: .refunded, &actions)
    case .releaseForeign(let receipt):
      endReleaseOfForeign(receipt, result, at: now, &actions)
    }
  }

  private mutating func endRegistration(
    _ outcome: TerminalSession.Outcome, at now: Duration, _ actions: inout [Action]
  ) {
    switch outcome {
    case .completed(_, let completion):
      isRegistered = true
      if let byte = completion?.fields.statusByte, byte & 0x01 != 0 {
        actions.append(.log("the terminal must be initialised"))
      }
    case .refused, .aborted:
      if settings.hasContainer, !withoutContainer {
        withoutContainer = true
      } else {
        withoutContainer = false
        pause = now + .seconds(10)
        actions.append(.log("the terminal refuses the registration: check terminal.password"))
      }
    case .lost: break
    }
  }

  private mutating func endEnquiry(
    _ outcome: TerminalSession.Outcome, at now: Duration, _ actions: inout [Action]
  ) {
    nextEnquiry = now + settings.enquiry
    switch outcome {
    case .completed(_, let completion):
      if let new = completion?.version { version = new }
      state = completion?.state ?? 0x00
      if state == 0xF0 { actions.append(.log("the terminal says that an end of day is due")) }
    case .aborted(let code, _, _): state = code.byte
    // A terminal without this command counts as ready.
    case .refused: state = 0x00
    case .lost: break
    }
    if state != 0x9C, prompt == nil { busySince = nil }
    if state == 0x9C {
      pause = now + .seconds(2)
      busySince = busySince ?? now
      // The terminal may still execute a prompt of an earlier connection.
      if !hasAborted, settings.canAbort {
        hasAborted = true
        perform(session.abortUnknown(), at: now, &actions)
      }
    } else if !(foreign ?? []).isEmpty {
      (needsReview, evidence) = (true, Evidence())
    }
  }

  private mutating func endBegin(
    _ charge: Int, _ outcome: TerminalSession.Outcome, at now: Duration,
    _ actions: inout [Action]
  ) {
    let ended = prompt
    if prompt?.charge == charge { prompt = nil }
    guard var record = journal.records[charge] else { return }
    if record.method == .goodsFirst, record.held != nil {
      return endGoods(record, outcome, at: now, &actions)
    }
    let wasReleased = record.state == .releasing
    switch outcome.abortedIfFailed {
    case .completed(let status?, _) where record.method == .goodsFirst || status.receipt != nil:
      noteBeginning(status, &actions)
      take(status, &record)
      record.held = status.amount ?? record.price.units
      // A terminal that does not wait for the goods has completed the payment.
      record.isBookedEarly = record.method == .goodsFirst
      if let flaw = flaw(of: status, record) {
        (record.state, record.reason) = (.releasing, flaw)
      } else if !wasReleased {
        record.state = .held
        return change(record, &actions)
      }
      store(record, &actions)
    case .refused(let code)
    where code.byte == 0x83 && settings.mode == .auto && record.method == .reservation
      && !wasReleased && isFast(ended?.readySeconds ?? 0):
      // The terminal does not support reservations, and has executed nothing.
      record.method = .goodsFirst
      store(record, &actions)
      prompt = ended
      prompt?.hasBegun = false
    case .refused(let code):
      let isSlow = code.byte == 0x83 && record.method == .reservation && settings.mode == .auto
      finish(
        record, wasReleased ? .released : .declined, reason: isSlow ? Self.isSlow : code.text,
        &actions)
    case .aborted(let code, let status, _):
      let reason = ended?.hasTimedOut == true && code == .timeout ? "timeout" : code.text
      record.reason = wasReleased ? record.reason : reason
      // After a successful status only the terminal knows whether it has the money.
      let isProof = status.map { $0.resultCode ?? 0 != 0 } ?? code.isDecline
      if record.method == .goodsFirst, isProof {
        return finish(record, wasReleased ? .released : .declined, &actions)
      }
      ask(about: record, &actions)
    case .completed, .lost: ask(about: record, &actions)
    }
  }

  /// Processes the end of an approved payment that has waited for the goods.
  private mutating func endGoods(
    _ record: ChargeRecord, _ outcome: TerminalSession.Outcome, at now: Duration,
    _ actions: inout [Action]
  ) {
    var record = record
    defer { approvedAt = nil }
    switch (outcome, record.state) {
    case (.completed(let status, _), .capturing)
    where session.goods != .beingMade && outcome.failure == nil
      && (session.goods == .made || status?.amount == record.asked):
      if let status { take(status, &record) }
      finish(record, .captured, &actions)
    case (.aborted, .releasing) where session.goods == .notMade:
      finish(record, .released, &actions)
    default:
      // The end of a payment that the device has answered says nothing about the terminal's patience.
      if outcome != .lost, session.goods == .beingMade, let approvedAt {
        let waited = now - approvedAt
        if waited < shortestPatience ?? settings.patience {
          actions.append(.log("the terminal has waited for the goods for \(waited) only"))
          shortestPatience = waited
        }
      }
      record.reason = "the terminal waited no longer"
      if let failure = outcome.failure { record.reason = failure.text }
      ask(about: record, &actions)
    }
  }

  private mutating func endCapture(
    _ charge: Int, _ outcome: TerminalSession.Outcome, _ actions: inout [Action]
  ) {
    guard var record = journal.records[charge], let asked = record.asked else { return }
    switch outcome {
    case .completed(let status, _):
      // After a partial reversal, some terminals report the captured amount, others the released
      // one.
      if let amount = status?.amount, amount != asked, amount != (record.held ?? 0) - asked {
        actions.append(.log("charge \(charge): the terminal has captured \(amount), not \(asked)"))
        return ask(about: record, &actions)
      }
      if let status { take(status, &record) }
      finish(record, .captured, &actions)
    case .refused(let code) where code.byte == 0x83:
      let other: DeviceSettings.Capture =
        capture == .bookTotal ? .partialReversal : .bookTotal
      guard capture == settings.capture else {
        return finish(record, .held, reason: code.text, &actions)
      }
      capture = other
    case .refused(let code): finish(record, .held, reason: code.text, &actions)
    case .aborted(let code, _, _):
      record.reason = code.text
      ask(about: record, &actions)
    case .lost: ask(about: record, &actions)
    }
  }

  /// Processes the end of a release or a refund.
  private mutating func endReturn(
    _ charge: Int, _ outcome: TerminalSession.Outcome, to state: ChargeRecord.State,
    _ actions: inout [Action]
  ) {
    guard var record = journal.records[charge] else { return }
    switch outcome {
    case .completed(let status, _):
      // The record keeps the receipt of the payment, so that a person can find the payment. It stores both
      // in one entry, so that no later review attributes the result to another command.
      record.reversal = status.flatMap(resultID)
      // guard: a reversal of another payment is no refund
      if let status, isReversal(record), let flaw = flaw(ofReversal: status, of: record) {
        return finish(record, .unknown, reason: flaw, &actions)
      }
      finish(record, state, &actions)
    case .aborted(.alreadyReversed, _, _):
      // The terminal says only that nothing is left under this receipt number, which it may have used again.
      isReversal(record)
        ? finish(record, .unknown, reason: ResultCode.alreadyReversed.text, &actions)
        : finish(record, state, &actions)
    case .refused(let code):
      finish(record, state == .refunded ? .captured : .held, reason: code.text, &actions)
    case .aborted(let code, _, _):
      record.reason = code.text
      ask(about: record, &actions)
    case .lost: ask(about: record, &actions)
    }
  }

  private mutating func endReleaseOfForeign(
    _ receipt: Int, _ outcome: TerminalSession.Outcome, at now: Duration,
    _ actions: inout [Action]
  ) {
    (needsReview, evidence) = (true, Evidence())
    let problem: String
    switch outcome {
    case .completed:
      return actions.append(.log("released the unknown hold of receipt \(receipt)"))
    case .aborted(let code, _, _), .refused(let code): problem = code.text
    case .lost: problem = "the connection was lost"
    }
    if nextForeignRelease[receipt] == nil {
      actions.append(.log("cannot release the unknown hold of receipt \(receipt): \(problem)"))
    }
    nextForeignRelease[receipt] = now + .seconds(60)
  }

  private mutating func endEndOfDay(
    _ outcome: TerminalSession.Outcome, at now: Duration, _ actions: inout [Action]
  ) {
    let problem: ResultCode
    switch outcome {
    case .completed(let status, _):
      endOfDayIsDue = false
      var net = status?.totals?.amount ?? status?.amount
      let own = journal.day.captured - journal.day.refunded
      // An end of day whose result was lost, or that the terminal has made by itself, has reset the
      // terminal's sum.
      let isReset = hasLostEndOfDay || journal.day.isSplit || status?.totals?.count == 0
      if isReset, let sum = net, sum != own {
        net = nil
        actions.append(
          .log("the terminal has closed its day before: its sum \(sum) is not compared with \(own)")
        )
      }
      hasLostEndOfDay = false
      let total = PaymentTotal(
        total: journal.closing ?? (journal.total?.total ?? 0) + 1, at: wallClock,
        captured: Money(units: journal.day.captured, settings.currency),
        refunded: Money(units: journal.day.refunded, settings.currency), count: journal.day.count,
        terminalNet: net)
      journal.apply(.total(total))
      actions += [.store(.total(total)), .total(total)]
      if let status { see(status, &actions) }
      if total.isDifferent {
        let sums = "the terminal has captured \(net ?? 0) less refunds, the journal \(own)"
        actions.append(.log("end of day \(total.total): \(sums)"))
      }
      return
    case .aborted(let code, let status, _):
      // After a successful status, the terminal may have closed its day.
      if let status, status.resultCode ?? 0 == 0 { hasLostEndOfDay = true }
      problem = code
    case .refused(let code): problem = code
    case .lost:
      hasLostEndOfDay = true
      return
    }
    nextEndOfDay = now + .seconds(1800)
    actions.append(.log("no end of day, in half an hour again: \(problem.text)"))
  }

  /// Stores a result unless the journal contains it, so that no later review attributes it to another command.
  mutating func see(_ fields: Fields, _ actions: inout [Action]) {
    guard var id = ChargeJournal.ResultID(fields), journal.standing(of: id) != .known else {
      return
    }
    // guard: a result that is not known may be of a new day
    noteBeginning(fields, &actions)
    id.closings = journal.day.closings
    journal.apply(.seen(id))
    actions.append(.store(.seen(id)))
  }

  // MARK: Whose result it is

  /// Replaces the receipt data of a record by those of a result.
  mutating func take(_ fields: Fields, _ record: inout ChargeRecord) {
    record.take(fields)
    record.closings = journal.day.closings
  }

  /// Returns the data that identify a result of this terminal's day, or `nil` if there are none.
  func resultID(_ fields: Fields) -> ChargeJournal.ResultID? {
    var id = ChargeJournal.ResultID(fields)
    id?.closings = journal.day.closings
    return id
  }

  /// Records that the terminal has made an end of day by itself, if the receipt number of a new result shows it.
  mutating func noteBeginning(_ fields: Fields, _ actions: inout [Action]) {
    guard let receipt = fields.receipt, journal.isBeginning(receipt) else { return }
    journal.apply(.closed)
    actions += [.store(.closed), .log("the terminal has made an end of day by itself")]
  }

  /// Returns whether the result of a hold is unusable, and why; or `nil` if it is usable.
  private func flaw(of fields: Fields, _ record: ChargeRecord) -> String? {
    // guard: money of another currency is not taken
    if !isOurCurrency(fields) { return "wrong currency" }
    return record.held == record.price.units ? nil : "wrong amount"
  }

  /// Returns why the result of a reversal is not that of the record's payment, or `nil` if it can be.
  func flaw(ofReversal fields: Fields, of record: ChargeRecord) -> String? {
    if !isOurCurrency(fields) { return "the terminal has returned another currency" }
    if let amount = fields.amount, amount != record.booked ?? record.held {
      return "the terminal has returned \(amount)"
    }
    if let last4 = fields.last4, let own = record.last4, last4 != own {
      return "the terminal has returned to a card \(last4)"
    }
    // guard: a reversal after an unnoticed end of day is no refund
    if fields.receipt.map(journal.isBeginning) == true {
      return "another payment, of a new day, may have been returned"
    }
    return nil
  }

  /// Returns whether the record's money is returned by a reversal, which names a receipt number of a payment.
  func isReversal(_ record: ChargeRecord) -> Bool {
    record.state == .refunding || record.isBookedEarly
  }

  /// Whether a result has the currency of the device, or none.
  func isOurCurrency(_ fields: Fields) -> Bool {
    fields.currency.map { $0 == settings.currencyNumber } ?? true
  }

  /// Ends sales on this connection if the terminal takes another currency.
  private mutating func noteCurrency(_ fields: Fields?, _ actions: inout [Action]) {
    guard let fields, !isOurCurrency(fields), let currency = fields.currency, otherCurrency == nil
    else { return }
    otherCurrency = currency
    actions.append(
      .log("the terminal takes currency \(currency), not \(settings.currencyNumber)"))
  }

  // MARK: Lost results

  /// Stores the record if it has changed, marks the charge as unclear, and requests a review.
  private mutating func ask(about record: ChargeRecord, _ actions: inout [Action]) {
    if record != journal.records[record.charge] { store(record, &actions) }
    unclear.insert(record.charge)
    (needsReview, evidence) = (true, Evidence())
  }
}

extension TerminalSession.Outcome {
  /// The outcome, or an abort in place of a completion with a failed result: neither proves that no
  /// money moved.
  fileprivate var abortedIfFailed: Self {
    guard case .completed(let status, _) = self, let failure else { return self }
    return .aborted(failure, status: status, nil)
  }
}

/// The intermediate statuses (04 FF).
private enum Progress {
  /// Returns whether the status may show an action of the customer or the processing of a card.
  static func isCustomer(_ code: UInt8) -> Bool {
    switch code {
    case 0x0A, 0x0E, 0x17, 0xFF: false
    default: true
    }
  }

  /// Returns whether the status shows a card in the reader: PIN, host request, selection, removal.
  static func isPresented(_ code: UInt8) -> Bool {
    switch code {
    case 0x01, 0x02, 0x04, 0x05, 0x0B, 0x2C, 0x41, 0x42, 0x44, 0x45, 0x4E, 0x57, 0x5E, 0x68,
      0x6A...0x6D, 0xD2, 0xD3, 0xE0:
      true
    default: false
    }
  }
}
