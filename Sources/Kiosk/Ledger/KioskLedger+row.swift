import Foundation
import GRDB
import JuiceDomain
import KioskCore
import KioskProtocol

extension LedgerRow {
  /// Creates a ledger row from a row of the table `entry`.
  ///
  /// - Throws: `LedgerError.unreadable` if the columns contradict each other.
  init(_ row: Row) throws(LedgerError) {
    let seq: Int = row["seq"]
    guard let outcome = LedgerEntry.Outcome(row), let stock = row.amounts("stock") else {
      throw .unreadable(seq)
    }
    var entry = LedgerEntry(
      seq: seq, epoch: row["epoch"], at: Timestamp(milliseconds: row["at"]),
      source: (row["source"] as String?).flatMap { Source($0) },
      id: (row["id"] as String?).flatMap { Request.ID($0) }, outcome: outcome,
      amount: Money(row))
    entry.batches = row.json("extra")?.batches ?? []
    self.init(entry, stock: stock, detail: row["detail"], message: row["message"])
  }
}

extension LedgerEntry.Outcome {
  fileprivate init?(_ row: Row) {
    guard let used = row.amounts("used"), let missing = row.amounts("missing"),
      let changes = row.amounts("changes")
    else { return nil }
    var order: Order?
    if let juice = (row["juice"] as String?).flatMap({ Juice.ID($0) }),
      let quantity = row["quantity"] as Int?
    {
      order = Order(juice: juice, quantity: quantity)
    }
    switch (row["status"] as String?).flatMap(LedgerEntry.Status.init(rawValue:)) {
    case .opened: self = .opened(changes ?? [:])
    case .restocked: self = .restocked(changes: changes ?? [:])
    case .expired: self = .expired(changes: changes ?? [:])
    case .removed:
      guard let reason = (row["reason"] as String?).flatMap(Removal.Reason.init(rawValue:)) else {
        return nil
      }
      self = .removed(
        Removal(
          stock: (changes ?? [:]).times(-1), expired: row.json("extra")?.amounts("expired") ?? [:],
          reason: reason))
    case .open: self = .service(.open)
    case .closed: self = .service(.closed)
    case .ready:
      guard let order, let used, let day = row["day"] as Int?, let number = row["ticket"] as Int?
      else { return nil }
      self = .ready(order, used: used, ticket: Ticket(day: day, number: number))
    case .accepted:
      guard let order, let used, let day = row["day"] as Int?, let number = row["ticket"] as Int?,
        let machine = (row["machine"] as String?).flatMap({ MachineID($0) }),
        let place = row["place"] as Int?
      else { return nil }
      self = .accepted(
        order, used: used, ticket: Ticket(day: day, number: number), machine: machine, place: place)
    case .awaitingPayment:
      guard let order, let used, let day = row["day"] as Int?, let number = row["ticket"] as Int?,
        let json = row.json("extra"), let charge = json.integer("charge"),
        let device = json.text("device").flatMap({ PaymentDeviceID($0) })
      else { return nil }
      self = .awaitingPayment(
        order, used: used, ticket: Ticket(day: day, number: number), charge: charge, device: device)
    case .held, .captured, .released, .refunded, .capture, .release, .refund, .kept, .paidBack,
      .writtenOff:
      guard let step = PaymentStep(row, order) else { return nil }
      self = .payment(step)
    case .total:
      guard let json = row.json("extra"),
        let device = json.text("device").flatMap({ PaymentDeviceID($0) }),
        let total = try? PaymentTotal(json)
      else { return nil }
      self = .total(total, device: device, difference: json.integer("difference"))
    case .programDue, .programRequested, .programDone, .programFailed:
      guard let step = ProgramStep(row, changes: changes ?? used?.times(-1) ?? [:]) else {
        return nil
      }
      self = .program(step)
    case .sensorAlarm, .sensorBlocked, .sensorSilent, .sensorGap, .sensorOk, .sensorDiscard,
      .sensorRelease, .sensorHour:
      guard let kind = (row["status"] as String?).flatMap(SensorStep.Kind.init(rawValue:)),
        let json = row.json("extra"), let step = SensorStep(kind, json, changes: changes ?? [:])
      else { return nil }
      self = .sensor(step)
    case .made:
      guard let end = JobEnd(row, order) else { return nil }
      self = .made(end)
    case .failed:
      guard let end = JobEnd(row, order), let reason = row["reason"] as String? else { return nil }
      self = .failed(end, reason: reason, changes: changes ?? [:])
    case .returned:
      guard let end = JobEnd(row, order), let reason = row["reason"] as String? else { return nil }
      self = .returned(end, reason: reason, changes: changes ?? [:])
    case .poured, .again, .giveBack:
      guard let job = row["job"] as Int?,
        let choice = (row["status"] as String?).flatMap(JobDecision.Choice.init(rawValue:))
      else { return nil }
      self = .decided(choice, job: job, used: used ?? [:])
    case .outOfStock:
      guard let order, let missing else { return nil }
      self = .outOfStock(order, missing: missing)
    case .rejected:
      guard let reason = (row["reason"] as String?).flatMap(RejectionReason.init(rawValue:)) else {
        return nil
      }
      self = .rejected(reason, order: order)
    case nil: return nil
    }
  }
}

extension Money {
  /// Reads the columns `amount` and `currency`. Returns `nil` if one is NULL or cannot be read.
  init?(_ row: Row) {
    guard let units = row["amount"] as Int?,
      let currency = (row["currency"] as String?).flatMap({ Currency($0) })
    else { return nil }
    self.init(units: units, currency)
  }
}

extension JobEnd {
  fileprivate init?(_ row: Row, _ order: Order?) {
    guard let order, let day = row["day"] as Int?, let number = row["ticket"] as Int?,
      let job = row["job"] as Int?
    else { return nil }
    let machine = (row["machine"] as String?).flatMap { MachineID($0) }
    self.init(
      job: job, machine: machine, order: order, ticket: Ticket(day: day, number: number))
  }
}

extension ProgramStep {
  fileprivate init?(_ row: Row, changes: FruitAmounts) {
    guard let kind = (row["status"] as String?).flatMap(Kind.init(rawValue:)),
      let machine = (row["machine"] as String?).flatMap({ MachineID($0) }),
      let program = row.json("extra")?.text("program").flatMap(MachineProgram.init(rawValue:))
    else { return nil }
    self.init(
      kind, ProgramID(machine: machine, program: program), job: row["job"], reason: row["reason"],
      changes: changes)
  }
}

extension PaymentStep {
  fileprivate init?(_ row: Row, _ order: Order?) {
    guard let kind = (row["status"] as String?).flatMap(Kind.init(rawValue:)),
      let json = row.json("extra"), let charge = json.integer("charge"),
      let device = json.text("device").flatMap({ PaymentDeviceID($0) })
    else { return nil }
    var ticket: Ticket?
    if let day = row["day"] as Int?, let number = row["ticket"] as Int? {
      ticket = Ticket(day: day, number: number)
    }
    self.init(
      kind, charge: charge, device: device, job: row["job"], order: order, ticket: ticket,
      machine: (row["machine"] as String?).flatMap { MachineID($0) }, place: row["place"],
      receipt: Receipt(json), reason: row["reason"])
  }
}

extension Charge {
  /// Creates a charge from a row of the table `charge`.
  ///
  /// - Parameter order: The entry of the charge's order, or `nil` if the charge has no order.
  /// - Throws: `LedgerError.unreadable` if a column is invalid, or if the entry is not that of an
  ///   order that awaits payment.
  init(_ row: Row, order entry: LedgerEntry?) throws(LedgerError) {
    func money(_ units: String, _ currency: String) -> Money? {
      guard let units = row[units] as Int?,
        let currency = (row[currency] as String?).flatMap({ Currency($0) })
      else { return nil }
      return Money(units: units, currency)
    }
    let number: Int = row["number"]
    guard let device = PaymentDeviceID(row["device"] as String),
      let amount = money("amount", "currency"),
      let state = ChargeState(rawValue: row["state"]), let goal = ChargeState(rawValue: row["goal"])
    else { throw .unreadable(entry?.seq ?? number) }
    var sale: Sale?
    if let entry {
      guard case .awaitingPayment(let order, let used, let ticket, _, _) = entry.outcome,
        let source = entry.source
      else { throw .unreadable(entry.seq) }
      let topic: String? = row["topic"]
      let correlation = (row["correlation"] as Data?).map { Array($0) }
      sale = Sale(
        seq: entry.seq, order: order, ticket: ticket, used: used, source: source, id: entry.id,
        reply: topic == nil && correlation == nil
          ? nil : Reply(topic: topic, correlationData: correlation),
        juiceName: row["name"] ?? order.juice.text,
        payLimit: .milliseconds(row["pay_ms"] as Int? ?? 0))
    }
    self.init(
      number: number, device: device, sale: sale, amount: amount,
      at: Timestamp(milliseconds: row["at"]), day: row["day"], state: state, goal: goal,
      held: money("held", "held_currency"), captured: money("captured", "captured_currency"),
      wanted: money("wanted", "currency"), reason: row["reason"])
  }
}

extension PaymentDeviceRecord {
  /// Creates a record from a row of the table `payment_device`. Returns `nil` if the status cannot
  /// be read.
  init?(_ row: Row) {
    guard let status = MachineStatus(row["status"] as String) else { return nil }
    self.init(status: status)
    currency = (row["currency"] as String?).flatMap { Currency($0) }
    (captured, refunded) = (row["captured"], row["refunded"])
    total = row["total"]
    totalAt = (row["total_at"] as Int64?).map { Timestamp(milliseconds: $0) }
    difference = row["difference"]
    epoch = row["epoch"]
  }
}

extension Job {
  /// Creates a job from a row of the table `job`, joined with the entry of its order or program.
  ///
  /// - Throws: `LedgerError.unreadable` if the columns contradict each other.
  init(_ row: Row) throws(LedgerError) {
    let entry = try LedgerRow(row).entry
    guard let (work, used) = entry.outcome.work,
      let machine = MachineID(row["maker"] as String),
      let state = (row["state"] as String?).flatMap(JobState.init(rawValue:))
    else { throw .unreadable(entry.seq) }
    let topic: String? = row["topic"]
    let correlation = (row["correlation"] as Data?).map { Array($0) }
    self.init(
      seq: entry.seq, number: row["number"], machine: machine, work: work,
      used: used, amount: entry.amount, source: entry.source, id: entry.id,
      at: Timestamp(milliseconds: row["begun"]),
      state: state,
      reply: topic == nil && correlation == nil
        ? nil : Reply(topic: topic, correlationData: correlation),
      terms: Terms(
        juiceName: row["name"], startLimit: .milliseconds(row["start_ms"] as Int),
        finishLimit: .milliseconds(row["finish_ms"] as Int), returnsFruit: row["returns_fruit"]))
  }
}

extension LedgerEntry.Outcome {
  /// The work of an order that was accepted or awaited payment, or of a requested program; otherwise `nil`.
  fileprivate var work: (Job.Work, used: FruitAmounts)? {
    switch self {
    case .accepted(let order, let used, let ticket, _, _),
      .awaitingPayment(let order, let used, let ticket, _, _):
      (.order(order, ticket), used)
    case .program(let step) where step.kind == .requested:
      (.program(step.id.program), step.changes.times(-1))
    default: nil
    }
  }
}

extension Row {
  /// Returns the JSON object in a column, or `nil` if the column is NULL or cannot be read.
  fileprivate func json(_ column: String) -> JSON? {
    guard let text = self[column] as String? else { return nil }
    return try? JSON.parse(Array(text.utf8))
  }

  /// Returns the amounts in a column, `.some(nil)` if the column is NULL, or `nil` if the column
  /// cannot be read.
  fileprivate func amounts(_ column: String) -> FruitAmounts?? {
    guard let text = self[column] as String? else { return .some(nil) }
    guard case .object(let members) = try? JSON.parse(Array(text.utf8)) else { return nil }
    var amounts: FruitAmounts = [:]
    for member in members {
      guard let fruit = Fruit.ID(member.key), case .integer(let amount) = member.value else {
        return nil
      }
      amounts[fruit] = amount
    }
    return amounts
  }
}

extension Reply {
  /// Reads the columns of the table `reply`, joined with an entry. Returns `nil` if there is no
  /// reply.
  init?(_ row: Row) {
    guard row["asked"] != nil else { return nil }
    let correlation = row["correlation"] as Data?
    self.init(topic: row["topic"], correlationData: correlation.map { Array($0) })
  }
}

extension Fingerprint {
  /// Creates a fingerprint from a row of the table `delivery`.
  init(_ row: Row) {
    self.init(
      packetID: UInt16(truncatingIfNeeded: row["packet_id"] as Int),
      digest: UInt64(bitPattern: row["digest"]))
  }
}
