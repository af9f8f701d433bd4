import JuiceDomain

extension LedgerEntry {
  /// Parses a payload, ignoring unknown members. The payload does not contain the day of a ticket,
  /// which becomes 0.
  ///
  /// - Throws: `JSONError` if the payload is not an entry.
  package init(payload: [UInt8]) throws(JSONError) {
    try self.init(JSON.parse(payload))
  }

  package init(_ json: JSON) throws(JSONError) {
    guard let seq = json.integer("seq"), let at = json.text("at").flatMap(Timestamp.init),
      let status = json.text("status").flatMap(Status.init(rawValue:)),
      let outcome = Outcome(status, json)
    else { throw JSONError("this is not a ledger entry") }
    self.init(
      seq: seq, epoch: json.integer("epoch") ?? 0, at: at,
      source: json.text("source").flatMap { Source($0) },
      id: json.text("id").flatMap { Request.ID($0) }, outcome: outcome,
      amount: json.money("amount"))
    batches = json.batches
  }
}

extension LedgerEntry.Outcome {
  fileprivate init?(_ status: LedgerEntry.Status, _ json: JSON) {
    let changes = json.amounts("changes") ?? [:]
    var used: FruitAmounts { FruitAmounts(changes.map { (fruit: $0.fruit, amount: -$0.amount) }) }
    switch status {
    case .opened: self = .opened(changes)
    case .restocked: self = .restocked(changes: changes)
    case .expired: self = .expired(changes: changes)
    case .removed:
      guard let reason = json.text("reason").flatMap(Removal.Reason.init(rawValue:)) else {
        return nil
      }
      self = .removed(
        Removal(stock: used, expired: json.amounts("expired") ?? [:], reason: reason))
    case .open: self = .service(.open)
    case .closed: self = .service(.closed)
    case .ready:
      guard let order = Order(json), let ticket = json.integer("ticket") else { return nil }
      self = .ready(order, used: used, ticket: Ticket(day: 0, number: ticket))
    case .accepted:
      guard let order = Order(json), let ticket = json.integer("ticket"),
        let machine = json.text("machine").flatMap({ MachineID($0) }),
        let place = json.integer("place")
      else { return nil }
      self = .accepted(
        order, used: used, ticket: Ticket(day: 0, number: ticket), machine: machine, place: place)
    case .awaitingPayment:
      guard let order = Order(json), let ticket = json.integer("ticket"),
        let charge = json.chargeNumber("charge"),
        let device = json.text("device").flatMap({ PaymentDeviceID($0) })
      else { return nil }
      self = .awaitingPayment(
        order, used: used, ticket: Ticket(day: 0, number: ticket), charge: charge, device: device)
    case .held, .captured, .released, .refunded, .capture, .release, .refund, .kept, .paidBack,
      .writtenOff:
      guard let kind = status.paymentStep, let charge = json.chargeNumber("charge"),
        let device = json.text("device").flatMap({ PaymentDeviceID($0) })
      else { return nil }
      self = .payment(
        PaymentStep(
          kind, charge: charge, device: device, job: json.integer("job"), order: Order(json),
          ticket: json.integer("ticket").map { Ticket(day: 0, number: $0) },
          machine: json.text("machine").flatMap { MachineID($0) }, place: json.integer("place"),
          receipt: json["payment"].map { Receipt($0) } ?? Receipt(),
          reason: json.text("reason")?.visible(upTo: SensorDecision.maximumWord)))
    case .total:
      guard let device = json.text("device").flatMap({ PaymentDeviceID($0) }),
        let total = json["day_total"], let total = try? PaymentTotal(total)
      else { return nil }
      self = .total(total, device: device, difference: json.integer("difference"))
    case .programDue, .programRequested, .programDone, .programFailed:
      guard let step = ProgramStep(status, json) else { return nil }
      self = .program(step)
    case .sensorAlarm, .sensorBlocked, .sensorSilent, .sensorGap, .sensorOk, .sensorDiscard,
      .sensorRelease, .sensorHour:
      guard let kind = SensorStep.Kind(rawValue: status.rawValue),
        let step = SensorStep(kind, json, changes: changes)
      else { return nil }
      self = .sensor(step)
    case .made:
      guard let end = JobEnd(json) else { return nil }
      self = .made(end)
    case .failed, .returned:
      guard let end = JobEnd(json), let reason = json.text("reason")?.asReason else { return nil }
      self =
        status == .failed
        ? .failed(end, reason: reason, changes: changes)
        : .returned(end, reason: reason, changes: changes)
    case .poured, .again, .giveBack:
      guard let job = json.integer("job"),
        let choice = JobDecision.Choice(rawValue: status.rawValue)
      else { return nil }
      self = .decided(choice, job: job, used: used)
    case .outOfStock:
      guard let order = Order(json), let missing = json.amounts("missing") else { return nil }
      self = .outOfStock(order, missing: missing)
    case .rejected:
      guard let reason = json.text("reason").flatMap(RejectionReason.init(rawValue:)) else {
        return nil
      }
      self = .rejected(reason, order: Order(json))
    }
  }
}

extension JSON {
  /// The changes of batches; those that cannot be read are omitted.
  package var batches: [BatchChange] {
    (elements("batches") ?? []).compactMap { try? BatchChange($0) }
  }
}

extension JobEnd {
  fileprivate init?(_ json: JSON) {
    guard let job = json.integer("job"), let order = Order(json),
      let ticket = json.integer("ticket")
    else { return nil }
    let machine = json.text("machine").flatMap { MachineID($0) }
    self.init(job: job, machine: machine, order: order, ticket: Ticket(day: 0, number: ticket))
  }
}

extension Order {
  fileprivate init?(_ json: JSON) {
    guard let juice = json.text("juice").flatMap({ Juice.ID($0) }),
      let quantity = json.integer("quantity")
    else { return nil }
    self.init(juice: juice, quantity: quantity)
  }
}
