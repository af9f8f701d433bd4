import JuiceDomain

/// The description of an entry: the payload of an event, which the ledger stores as it is published.
extension LedgerEntry: FormattedMessage {
  /// Parses an event of the ledger.
  ///
  /// - Parameter day: The day of the entry's ticket, which the event does not contain, in days since 1970-01-01.
  package init(event: [UInt8], day: Int?) throws(JSONError) {
    var json = try JSON.parse(event)
    if let day, case .object(let members) = json {
      json = .object(members + [JSON.Member(key: dayKey, value: .integer(day))])
    }
    try self.init(json)
  }

  package init(_ members: inout Members<Self>) throws(JSONError) {
    seq = try members.required("seq", \.seq)
    epoch = members.optional("epoch") { $0.epoch == 0 ? nil : $0.epoch } ?? 0
    at = try members.required("at", \.at)
    source = members.optional("source", \.source)
    id = members.optional("id", \.id)
    let status = try members.required("status", \.status)
    outcome = try Outcome(status, &members)
    amount = members.money("amount", \.amount)
    members.writes("changes") { entry in
      let changes = entry.changes
      return changes.isEmpty ? nil : changes
    }
    batches = members.list("batches", \.batches, upTo: .max, omitsEmpty: true)
  }
}

extension LedgerEntry.Outcome {
  fileprivate init(
    _ status: LedgerEntry.Status, _ members: inout Members<LedgerEntry>
  ) throws(JSONError) {
    // Empty while an entry is written: then only the calls matter, not the value.
    let changes = members.json.amounts("changes") ?? [:]
    var used: FruitAmounts { changes.times(-1) }
    switch status {
    case .opened: self = .opened(changes)
    case .restocked: self = .restocked(changes: changes)
    case .expired: self = .expired(changes: changes)
    case .open: self = .service(.open)
    case .closed: self = .service(.closed)
    case .removed:
      let reason = try members.present("reason") { $0.outcome.removal?.reason }
      let expired = members.optional("expired") { entry in
        entry.outcome.removal.flatMap { $0.expired.isEmpty ? nil : $0.expired }
      }
      self = .removed(Removal(stock: used, expired: expired ?? [:], reason: reason))
    case .ready:
      let ticket = try members.presentTicket()
      self = .ready(try members.presentOrder(), used: used, ticket: ticket)
    case .accepted:
      let ticket = try members.presentTicket()
      self = .accepted(
        try members.presentOrder(), used: used, ticket: ticket,
        machine: try members.present("machine", \.outcome.machine),
        place: try members.present("place", \.outcome.place))
    case .awaitingPayment:
      let ticket = try members.presentTicket()
      self = .awaitingPayment(
        try members.presentOrder(), used: used, ticket: ticket,
        charge: try members.chargeNumber(\.outcome.charge),
        device: try members.present("device", \.outcome.device))
    case .held, .captured, .released, .refunded, .capture, .release, .refund, .kept, .paidBack,
      .writtenOff:
      self = .payment(try members.part(\.outcome.payment))
    case .total:
      let device = try members.present("device", \.outcome.device)
      let difference = members.optional("difference") { entry in
        if case .total(_, _, let difference) = entry.outcome { difference } else { nil }
      }
      let total = try members.optional("day_total") { (entry) -> PaymentTotal? in
        if case .total(let total, _, _) = entry.outcome { total } else { nil }
      }
      guard let total else { throw members.missing("day_total") }
      self = .total(total, device: device, difference: difference)
    case .programDue, .programRequested, .programDone, .programFailed:
      self = .program(
        try members.part { if case .program(let step) = $0.outcome { step } else { nil } })
    case .sensorAlarm, .sensorBlocked, .sensorSilent, .sensorGap, .sensorOk, .sensorDiscard,
      .sensorRelease, .sensorHour:
      self = .sensor(
        try members.part { if case .sensor(let step) = $0.outcome { step } else { nil } })
    case .made: self = .made(try members.part(\.outcome.end))
    case .failed:
      let end = try members.part(\.outcome.end)
      self = .failed(end, reason: try members.reason(\.outcome.failure), changes: changes)
    case .returned:
      let end = try members.part(\.outcome.end)
      self = .returned(end, reason: try members.reason(\.outcome.failure), changes: changes)
    case .poured, .again, .giveBack:
      let job = try members.present("job", \.outcome.job)
      guard let choice = JobDecision.Choice(rawValue: status.rawValue) else {
        throw members.missing("status")
      }
      self = .decided(choice, job: job, used: used)
    case .outOfStock:
      let order = try members.presentOrder()
      self = .outOfStock(
        order,
        missing: try members.present("missing") { entry in
          if case .outOfStock(_, let missing) = entry.outcome { missing } else { nil }
        })
    case .rejected:
      let reason = try members.present("reason") { (entry) -> RejectionReason? in
        if case .rejected(let reason, _) = entry.outcome { reason } else { nil }
      }
      self = .rejected(reason, order: members.order(\.outcome.order))
    }
  }

  private var place: Int? {
    if case .accepted(_, _, _, _, let place) = self { place } else { nil }
  }
}

extension LedgerEntry.Outcome {
  /// The `seq` of the order or of the request that the entry is about, or `nil` if there is none.
  package var job: Int? {
    switch self {
    case .decided(_, let job, _): job
    case .payment(let step): step.job
    case .program(let step): step.job
    default: end?.job
    }
  }

  /// The number of the charge that the entry is about, or `nil` if there is none.
  package var charge: Int? {
    switch self {
    case .awaitingPayment(_, _, _, let charge, _): charge
    case .payment(let step): step.charge
    default: nil
    }
  }

  /// The step of a charge, or `nil` for other entries.
  package var payment: PaymentStep? {
    if case .payment(let step) = self { step } else { nil }
  }

  /// The payment device that the entry is about, or `nil` if there is none.
  package var device: PaymentDeviceID? {
    switch self {
    case .awaitingPayment(_, _, _, _, let device), .total(_, let device, _): device
    case .payment(let step): step.device
    default: nil
    }
  }

  /// The machine that the entry is about, or `nil` if there is none.
  package var machine: MachineID? {
    switch self {
    case .accepted(_, _, _, let machine, _): machine
    case .payment(let step): step.machine
    case .program(let step): step.id.machine
    default: end?.machine
    }
  }

  /// The reason of an order that was not made completely, or `nil` for other entries.
  package var failure: String? {
    switch self {
    case .failed(_, let reason, _), .returned(_, let reason, _): reason
    default: nil
    }
  }
}

/// The key of a ticket's day in the object that `LedgerEntry.init(event:day:)` parses.
private let dayKey = "day"

extension Members {
  /// Reads or writes the number of a ticket. Reads its day from the member `day`.
  package mutating func ticket(_ get: (Message) -> Ticket?) -> Ticket? {
    optional("ticket") { get($0)?.number }
      .map { Ticket(day: json.integer(dayKey) ?? 0, number: $0) }
  }

  package mutating func order(_ get: (Message) -> Order?) -> Order? {
    let juice = optional("juice") { get($0)?.juice }
    let quantity = optional("quantity") { get($0)?.quantity }
    guard let juice, let quantity else { return nil }
    return Order(juice: juice, quantity: quantity)
  }

  /// Reads or writes the reason of a machine or of the kiosk.
  mutating func reason(_ get: (Message) -> String?) throws(JSONError) -> String {
    guard let reason = optional("reason", get)?.asReason else { throw missing("reason") }
    return reason
  }

  /// Reads or writes the number of a charge.
  mutating func chargeNumber(_ get: (Message) -> Int?) throws(JSONError) -> Int {
    let charge = other(
      get, read: { $0.chargeNumber("charge") }, write: { $0.member("charge", $1) })
    guard let charge else { throw missing("charge") }
    return charge
  }
}

extension Members<LedgerEntry> {
  fileprivate mutating func presentTicket() throws(JSONError) -> Ticket {
    guard let ticket = ticket(\.ticket) else { throw missing("ticket") }
    return ticket
  }

  fileprivate mutating func presentOrder() throws(JSONError) -> Order {
    guard let order = order(\.outcome.order) else { throw missing("juice") }
    return order
  }
}
