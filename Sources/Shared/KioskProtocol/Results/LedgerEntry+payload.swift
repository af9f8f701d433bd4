import JuiceDomain

// The description of an entry: the payload of `events`, and what the ledger stores.
extension LedgerEntry: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    seq = try members.required("seq", \.seq, where: { $0 > 0 })
    epoch = members.optional("epoch") { $0.epoch == 0 ? nil : $0.epoch } ?? 0
    at = try members.required("at", \.at, where: \.isWritable)
    source = members.optional("source", \.source)
    id = members.optional("id", \.id)
    let status = try members.required("status", \.status)
    outcome = try Outcome(
      status, changes: members.unwritten("changes", \.changes) ?? [:], &members)
    amount = members.money("amount", \.amount)
    // Nothing has a price that was not sold.
    try members.check(
      amount == nil || outcome.mayHaveAmount, "an entry of this status has no amount")
    members.writes("changes") { $0.changes.isEmpty ? nil : $0.changes }
    batches = members.list("batches", \.batches, upTo: .max, writesNone: false)
  }

  /// Returns the payload for a ledger.
  ///
  /// - Throws: `JSONError` if a reader would not accept the payload.
  package func encoded() throws(JSONError) -> [UInt8] { try checkedPayload() }
}

extension LedgerEntry.Outcome {
  fileprivate init(
    _ status: LedgerEntry.Status, changes: FruitAmounts, _ members: inout Members<LedgerEntry>
  ) throws(JSONError) {
    switch status {
    case .opened: self = .opened(changes)
    case .restocked: self = .restocked(changes: changes)
    case .expired: self = .expired(changes: changes)
    case .open: self = .service(.open)
    case .closed: self = .service(.closed)
    case .removed:
      let reason = try members.present("reason") { $0.outcome.removal?.reason }
      let expired = members.optional("expired") {
        $0.outcome.removal.flatMap { $0.expired.isEmpty ? nil : $0.expired }
      }
      self = .removed(Removal(stock: changes.times(-1), expired: expired ?? [:], reason: reason))
    case .ready:
      let ticket = try members.ticket()
      self = .ready(try members.order(), used: changes.times(-1), ticket: ticket)
    case .accepted:
      let ticket = try members.ticket()
      self = .accepted(
        try members.order(), used: changes.times(-1), ticket: ticket,
        machine: try members.present("machine", \.machine),
        place: try members.present("place", \.place, where: { $0 > 0 }))
    case .awaitingPayment:
      let ticket = try members.ticket()
      self = .awaitingPayment(
        try members.order(), used: changes.times(-1), ticket: ticket,
        charge: try members.charge(), device: try members.present("device", \.device))
    case .outOfStock:
      self = .outOfStock(try members.order(), missing: try members.present("missing", \.missing))
    case .rejected:
      let reason = try members.present("reason", \.rejection)
      self = .rejected(reason, order: members.anyOrder())
    case .made: self = .made(try members.end())
    case .failed:
      self = .failed(try members.end(), reason: try members.reason(), changes: changes)
    case .returned:
      self = .returned(try members.end(), reason: try members.reason(), changes: changes)
    case .poured: self = .decided(.poured, job: try members.job(), used: changes.times(-1))
    case .again: self = .decided(.again, job: try members.job(), used: changes.times(-1))
    case .giveBack: self = .decided(.giveBack, job: try members.job(), used: changes.times(-1))
    case .held, .captured, .released, .refunded, .capture, .release, .refund, .kept, .paidBack,
      .writtenOff:
      self = .payment(try members.paymentStep(status))
    case .total:
      let device = try members.present("device", \.device)
      let difference = members.optional("difference") {
        if case .total(_, _, let difference) = $0.outcome { difference } else { nil }
      }
      let total = try members.optional("day_total") {
        if case .total(let total, _, _) = $0.outcome { total } else { nil }
      }
      guard let total else { throw JSONError("'day_total' is missing") }
      self = .total(total, device: device, difference: difference)
    case .programDue, .programRequested, .programDone, .programFailed:
      let job = members.optional("job", \.job)
      let machine = try members.present("machine", \.machine)
      let program = try members.present("program", \.program)
      self = .program(
        ProgramStep(
          try status.kind(), ProgramID(machine: machine, program: program), job: job,
          reason: members.optional("reason", \.reason)?.asReason, changes: changes))
    case .sensorAlarm, .sensorBlocked, .sensorSilent, .sensorGap, .sensorOk, .sensorDiscard,
      .sensorRelease, .sensorHour:
      self = .sensor(try SensorStep(try status.kind(), changes: changes, &members))
    }
  }

  /// Whether an entry may have an amount: sold glasses a price, steps of a payment their amount, and
  /// removed fruit a cost. A failed order has the price of the glasses that were made before.
  fileprivate var mayHaveAmount: Bool {
    switch self {
    case .ready, .accepted, .awaitingPayment, .payment, .made, .failed, .removed: true
    case .sensor(let step): step.kind == .discard
    default: false
    }
  }
}

extension LedgerEntry.Status: MemberValue {
  /// Returns the kind of a step that the status names.
  fileprivate func kind<Kind: RawRepresentable<String>>() throws(JSONError) -> Kind {
    guard let kind = Kind(rawValue: rawValue) else { throw JSONError("'status' is unknown") }
    return kind
  }
}

extension Removal.Reason: MemberValue {}

extension Members<LedgerEntry> {
  fileprivate mutating func ticket() throws(JSONError) -> Int {
    try present("ticket", \.ticket, where: { $0 > 0 })
  }

  fileprivate mutating func job() throws(JSONError) -> Int { try present("job", \.job) }

  fileprivate mutating func charge() throws(JSONError) -> Int {
    try present("charge", \.charge, where: (1..<1 << 53).contains)
  }

  fileprivate mutating func reason() throws(JSONError) -> String {
    try present("reason", \.reason).asReason
  }

  fileprivate mutating func order() throws(JSONError) -> Order {
    let juice = try present("juice", \.outcome.order?.juice)
    return Order(
      juice: juice, quantity: try present("quantity", \.outcome.order?.quantity, where: { $0 > 0 }))
  }

  /// Reads or writes an order that may be absent or have any quantity.
  fileprivate mutating func anyOrder() -> Order? {
    let juice = optional("juice", \.outcome.order?.juice)
    let quantity = optional("quantity", \.outcome.order?.quantity)
    guard let juice, let quantity else { return nil }
    return Order(juice: juice, quantity: quantity)
  }

  fileprivate mutating func end() throws(JSONError) -> JobEnd {
    let (job, ticket) = (try job(), try ticket())
    let order = try order()
    return JobEnd(
      job: job, machine: optional("machine", \.machine), order: order, ticket: ticket)
  }

  fileprivate mutating func paymentStep(
    _ status: LedgerEntry.Status
  ) throws(JSONError) -> PaymentStep {
    let (job, ticket) = (optional("job", \.job), optional("ticket", \.ticket))
    let order = anyOrder()
    let (machine, place) = (optional("machine", \.machine), optional("place", \.place))
    let charge = try charge()
    let device = try present("device", \.device)
    let reason = optional("reason", \.reason)?.visible(upTo: SensorDecision.maximumWord)
    return PaymentStep(
      try status.kind(), charge: charge, device: device, job: job, order: order, ticket: ticket,
      machine: machine, place: place,
      receipt: try optional("payment") { $0.receipt.isEmpty ? nil : $0.receipt } ?? Receipt(),
      reason: reason)
  }
}
