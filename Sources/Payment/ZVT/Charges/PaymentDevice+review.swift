import JuiceDomain
import KioskProtocol

// The review of charges whose last command has no clear result, for example after a power cut or an abort.
//
// The device asks the terminal two questions: which reservations are open (06 23 with receipt FFFF), and what the last
// result was (06 20). A successful last result belongs to the lost command if the journal does not contain the result
// and the result fits one command only. A state that the answers do not prove is `unknown`.

extension PaymentDevice {
  /// The terminal's answers to the two questions.
  struct Evidence {
    enum Open: Hashable {
      /// The receipt numbers of all open reservations.
      case all(Set<Int>)
      /// The receipt numbers of some open reservations.
      case part(Set<Int>)
      /// The terminal's answer does not list the open reservations.
      case unknown
    }

    enum Last: Hashable {
      case result(Fields)
      /// The terminal does not report its last result, or the result fits several charges.
      case unknown
    }

    var open: Open?
    var last: Last?

    /// Returns whether a reservation is open, or `nil` if the answers do not prove it.
    func isOpen(_ receipt: Int) -> Bool? {
      switch open {
      case .all(let receipts): receipts.contains(receipt)
      case .part(let receipts): receipts.contains(receipt) ? true : nil
      case .unknown, nil: nil
      }
    }
  }

  mutating func endOpenReservations(
    _ outcome: TerminalSession.Outcome, _ actions: inout [Action]
  ) {
    switch outcome {
    case .aborted(_, _, let fields?):
      let listed = Set((fields.openReceipts ?? []) + [fields.receipt].compactMap(\.self))
      if fields.openReceipts != nil, fields.isWhole {
        evidence.open = .all(listed)
      } else if !listed.isEmpty {
        evidence.open = .part(listed)
      } else {
        evidence.open = fields.hasReceipt && fields.isWhole ? .all([]) : .unknown
      }
    case .aborted(_, _, nil), .completed, .refused: evidence.open = .unknown
    case .lost: return
    }
    review(&actions)
  }

  mutating func endLastResult(_ outcome: TerminalSession.Outcome, _ actions: inout [Action]) {
    switch outcome {
    case .completed(let fields?, _) where ChargeJournal.ResultID(fields) != nil:
      evidence.last = .result(fields)
      lastReceipt = fields.receipt ?? lastReceipt
    case .completed, .aborted: evidence.last = .unknown
    case .refused: (evidence.last, knowsRepeat) = (.unknown, false)
    case .lost: return
    }
    review(&actions)
  }

  /// Decides about all unclear charges, and about all open charges of another terminal than the connected one, except
  /// those already `unknown`. Does nothing until the connected terminal has answered both questions, or the first one
  /// if the terminal cannot repeat its last result.
  private mutating func review(_ actions: inout [Action]) {
    if evidence.last == nil, !knowsRepeat { evidence.last = .unknown }
    // The device asks the second question on each connection, so that it does not take a result of
    // another program for the result of a later charge.
    guard evidence.open != nil, evidence.last != nil else { return }
    let records = journal.open.filter {
      unclear.contains($0.charge) || $0.state != .unknown && !isHere($0)
    }
    let last = evidence.last
    // A result that fits several charges proves nothing: the command of each may be the last one.
    if records.count(where: { newResult(of: $0) != nil }) > 1 { evidence.last = .unknown }
    for record in records { decide(record, &actions) }
    unclear = []
    needsReview = false
    if case .result(let fields) = last { see(fields, &actions) }
    findForeign(&actions)
  }

  /// Finds open reservations that belong to no open charge, and logs them if they have changed.
  private mutating func findForeign(_ actions: inout [Action]) {
    let listed: Set<Int> =
      switch evidence.open {
      case .all(let receipts), .part(let receipts): receipts
      case .unknown, nil: []
      }
    let found = listed.subtracting(ownReceipts)
    if found != foreign ?? [], let receipt = found.min() {
      actions.append(
        .log(
          "the terminal holds \(found.count) reservation(s) of no charge, the first with receipt "
            + "\(receipt): release them at the terminal"))
    }
    foreign = found
  }

  private var ownReceipts: Set<Int> { receipts(of: ownHolds) }

  private var ownHolds: [ChargeRecord] {
    journal.open.filter { $0.method == .reservation && isHere($0) }
  }

  private func receipts(of records: [ChargeRecord]) -> Set<Int> {
    Set(records.compactMap(\.receipt))
  }

  /// Returns whether no end of day is known since the record's last result.
  private func isOfToday(_ record: ChargeRecord) -> Bool {
    record.closings == journal.day.closings
  }

  /// Returns whether the reservation of a record is open, or `nil` if the answers do not prove it.
  private func isOpen(_ record: ChargeRecord) -> Bool? {
    // guard: after an end of day the receipt number is that of another hold
    guard isOfToday(record) else { return nil }
    return record.receipt.flatMap { evidence.isOpen($0) }
  }

  /// Returns whether the record belongs to the connected terminal; `true` if the id of either
  /// terminal is unknown.
  func isHere(_ record: ChargeRecord) -> Bool {
    guard let there = record.terminal, let terminal else { return true }
    return there == terminal
  }

  /// The last result if it is successful and later than all that the journal contains, otherwise `nil`.
  private var newResult: Fields? {
    guard case .result(let fields) = evidence.last, fields.resultCode ?? 0 == 0,
      standing == .new, isOurCurrency(fields)
    else { return nil }
    return fields
  }

  /// The standing of the last result, or `nil` if the terminal does not report it.
  private var standing: ChargeJournal.Standing? {
    guard case .result(let fields) = evidence.last, let id = ChargeJournal.ResultID(fields) else {
      return nil
    }
    return journal.standing(of: id)
  }

  /// Returns the new result if it can be that of the record's command, otherwise `nil`.
  private func newResult(of record: ChargeRecord) -> Fields? {
    guard isHere(record), let fields = newResult else { return nil }
    let amount = fields.amount
    let isHeld = isOpen(record) ?? false
    // Whether the result is that of an open reservation, or `nil` if the answers do not prove it.
    let isHold = fields.receipt.flatMap { evidence.isOpen($0) }
    let fits: Bool
    switch (record.method, record.state) {
    case (_, .refunding): fits = isHold != true && (amount == nil || amount == record.booked)
    case (.reservation, .capturing):
      let rest = (record.held ?? 0) - (record.asked ?? 0)
      fits = !isHeld && (amount == record.asked || amount == rest)
    case (.reservation, .releasing) where record.held != nil:
      fits = !isHeld && isHold != true && [nil, 0, record.held].contains(amount)
    case (.reservation, .begun), (.reservation, .releasing):
      fits = fields.receipt != nil && isHold != false && amount == record.price.units
    case (.reservation, _): fits = false
    case (.goodsFirst, _) where record.isBookedEarly: fits = amount == nil || amount == record.held
    case (.goodsFirst, _): fits = amount == record.price.units || amount == record.asked
    }
    return fits ? fields : nil
  }

  /// Whether the last result, if it is not that of the lost command, proves that there is none.
  private var knowsLast: Bool {
    switch standing {
    case .known: true
    case .unclear, nil: false
    // Another program may have used the terminal since. A failed result is usually that of the command.
    case .new:
      if case .result(let fields) = evidence.last { fields.resultCode ?? 0 != 0 } else { false }
    }
  }

  private mutating func decide(_ record: ChargeRecord, _ actions: inout [Action]) {
    guard isHere(record) else {
      return finish(record, .unknown, reason: "another terminal is connected", &actions)
    }
    switch (record.method, record.state) {
    case (_, .refunding): decideRefund(record, &actions)
    case (.reservation, .begun): decideHold(record, &actions)
    case (.reservation, .releasing) where record.held == nil: decideHold(record, &actions)
    case (.reservation, .capturing): decideCapture(record, &actions)
    case (.reservation, .releasing): decideRelease(record, &actions)
    case (.reservation, .unknown):
      if isOpen(record) == true {
        finish(record, .held, &actions)
      } else {
        actions.append(.publish(record.answer))
      }
    case (.goodsFirst, _) where record.isBookedEarly:
      // The release of a completed payment is a reversal.
      decideRelease(record, &actions)
    case (.goodsFirst, _): decideGoods(record, &actions)
    case (.reservation, _): actions.append(.publish(record.answer))
    }
  }

  /// Decides about a reservation whose result was lost.
  private mutating func decideHold(_ record: ChargeRecord, _ actions: inout [Action]) {
    var record = record
    let isRelease = record.state == .releasing
    let none: ChargeRecord.State = isRelease ? .released : .declined
    if case .all(let receipts) = evidence.open,
      receipts.subtracting(self.receipts(of: ownHolds.filter(isOfToday)))
        .subtracting(foreign ?? []).isEmpty
    {
      return finish(record, none, reason: record.reason ?? "interrupted", &actions)
    }
    if let fields = newResult(of: record) {
      noteBeginning(fields, &actions)
      take(fields, &record)
      record.held = fields.amount
      record.reason = nil
      return finish(record, isRelease ? .releasing : .held, &actions)
    }
    if case .all = evidence.open {
      // The terminal has a hold that belongs to no charge: that may be the hold of this charge.
      return finish(record, .unknown, reason: "the terminal does not say", &actions)
    }
    if knowsLast, newResult == nil {
      // If the terminal had executed the command, the last result would be that of the command.
      return finish(record, none, reason: record.reason ?? "interrupted", &actions)
    }
    finish(record, .unknown, reason: "the terminal does not say", &actions)
  }

  private mutating func decideCapture(_ record: ChargeRecord, _ actions: inout [Action]) {
    var record = record
    guard record.receipt != nil else { return finish(record, .unknown, &actions) }
    if isOpen(record) == true {
      return finish(record, .held, reason: record.reason ?? "interrupted", &actions)
    }
    if let fields = newResult(of: record) {
      noteBeginning(fields, &actions)
      take(fields, &record)
      record.reason = nil
      return finish(record, .captured, &actions)
    }
    finish(record, .unknown, reason: "the terminal does not say", &actions)
  }

  /// Decides about a release whose result was lost. A repetition is safe: the release of a hold
  /// that does not exist moves no money.
  private mutating func decideRelease(_ record: ChargeRecord, _ actions: inout [Action]) {
    let isOpen = record.method == .reservation ? isOpen(record) : nil
    let fields = newResult(of: record)
    if isOpen == false || fields != nil {
      var record = record
      record.reversal = fields.flatMap(resultID)
      if isReversal(record), let fields, let flaw = flaw(ofReversal: fields, of: record) {
        return finish(record, .unknown, reason: flaw, &actions)
      }
      return finish(record, .released, &actions)
    }
    finish(
      record, isOpen == true || knowsLast ? .held : .unknown,
      reason: record.reason ?? "interrupted", &actions)
  }

  private mutating func decideRefund(_ record: ChargeRecord, _ actions: inout [Action]) {
    if let fields = newResult(of: record) {
      var record = record
      record.reversal = resultID(fields)
      let flaw = flaw(ofReversal: fields, of: record)
      return finish(record, flaw == nil ? .refunded : .unknown, reason: flaw, &actions)
    }
    guard knowsLast else {
      return finish(record, .unknown, reason: "the terminal does not say", &actions)
    }
    finish(record, .captured, reason: record.reason ?? "interrupted", &actions)
  }

  /// Decides about a `goodsFirst` payment whose result is not known.
  private mutating func decideGoods(_ record: ChargeRecord, _ actions: inout [Action]) {
    var record = record
    guard let fields = newResult ?? ownResult(of: record) else {
      guard knowsLast else {
        return finish(record, .unknown, reason: "the terminal does not say", &actions)
      }
      return finish(
        record, record.state == .begun ? .declined : .released,
        reason: record.reason ?? "interrupted", &actions)
    }
    guard let amount = fields.amount, amount == record.price.units || amount == record.asked else {
      return finish(record, .unknown, reason: "the terminal has another amount", &actions)
    }
    if newResult != nil { noteBeginning(fields, &actions) }
    take(fields, &record)
    record.reason = nil
    (record.held, record.isBookedEarly) = (amount, true)
    switch record.state {
    case .capturing where amount == record.asked: finish(record, .captured, &actions)
    case .capturing, .releasing:
      record.state = .releasing
      store(record, &actions)
    default: finish(record, .held, &actions)
    }
  }

  /// Returns the last result if it is successful and is the approval of this charge, otherwise `nil`.
  private func ownResult(of record: ChargeRecord) -> Fields? {
    guard case .result(let fields) = evidence.last, fields.resultCode ?? 0 == 0,
      record.receipt != nil, fields.receipt == record.receipt,
      record.moment == nil || fields.moment == nil || fields.moment == record.moment
    else { return nil }
    return fields
  }
}
