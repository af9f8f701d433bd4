import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger
import MessageBroker

// Checks of charges: each amount in the ledger needs a reason, and at the end it equals the
// journals of the devices.
extension Auditor {
  /// The panel whose orders cost nothing.
  static let freePanel = "p4"

  /// Whether a charge must still end without a person.
  var hasUnfinishedCharges: Bool {
    payments.open.values.contains { $0.state != .captured && $0.state != .undecided }
  }

  var undecidedCharges: [Charge] {
    payments.open.values.filter { $0.state == .undecided }.sorted { $0.number < $1.number }
  }

  /// Returns the charge about which a person decides: an undecided one if there is one.
  func charge(_ pick: Int) -> Int {
    let open = payments.open.values.sorted { $0.number < $1.number }
    let paid = open.filter { $0.state == .captured }
    let some = [undecidedCharges, paid, open].first { !$0.isEmpty } ?? []
    return some.isEmpty ? max(1, payments.last - pick) : some[pick % some.count].number
  }

  // MARK: Deliveries

  mutating func receivedPayment(_ levels: [String], _ message: Message) {
    let json = try? JSON.parse(message.payload)
    if levels.count == 4, levels[2] == "paid", case .integer(let charge) = json?["charge"],
      case .string(let status) = json?["status"]
    {
      var answer = PaymentModel.Answer(status: status)
      if case .integer(let cents) = json?["amount"] { answer.cents = cents }
      answer.isPresented = json?["presented"] != nil
      payments.answers[charge, default: []].insert(answer)
      payments.batch.charges.insert(charge)
      payments.batch.devices.insert(levels[3])
      if status == "held" { payments.requested.remove(.init(action: "capture", charge: charge)) }
      if status == "captured" { payments.requested.remove(.init(action: "refund", charge: charge)) }
      trace.append("\(levels[3]): \(text(message.payload))")
    } else if levels.count == 5, levels[2] == "payment", levels[4] == "status" {
      let text = message.payload.isEmpty ? "offline" : text(message.payload)
      payments.batch.statuses.append((levels[3], text))
      trace.append("\(levels[3]): \(text)")
    } else if levels.count == 5, levels[2] == "payment", levels[4] == "total",
      let total = try? PaymentTotal(payload: message.payload)
    {
      payments.totals[levels[3], default: [:]][total.total] = total
      trace.append("\(levels[3]): total \(total.total)")
    }
  }

  // MARK: Permitted outcomes

  func addPayment(
    to work: inout Model.Work, for message: Sent, _ outcome: Model.Outcome, at now: Int64
  ) {
    switch message.sending.content {
    case .order(let juice, let quantity):
      let panel = message.sending.from.dropFirst("order/".count)
      let price = (model.variant.prices[juice] ?? 0) * max(1, quantity)
      work.isPaid = rules.terminals > 0 && panel != Self.freePanel && price > 0
      let devices = Terminal.all(rules.terminals)
      work.devices = devices.filter(payments.mayBeUp)
      work.mayLackDevice = devices.allSatisfy(payments.mayBeDown)
      if case .awaitingPayment(_, _, _, let charge, _) = outcome { work.charge = charge }
    case .settle(let choice, _):
      guard let number = message.expected else { break }
      let charge = payments.open[number]
      let isMentioned = payments.isMentioned(number)
      let step = charge.flatMap { Self.step(choice ?? "", of: $0, on: Model.day(at: now)) }
      let kinds =
        isMentioned
        ? [
          "capture", "release", "refund", "captured", "kept", "released", "refunded", "paid_back",
          "written_off",
        ]
        : [step].compactMap(\.self)
      work.steps = kinds.map {
        .payment($0, charge: number, job: payments.charges[number]?.order?.seq, machine: nil)
      }
      work.mayNotNeedDecision = isMentioned || kinds.isEmpty
    case .decide, .judge, .run, .restock, .bring, .remove, .service, .junk: break
    }
  }

  /// Returns the step that a decision means, or `nil` if a person need not decide.
  private static func step(_ choice: String, of charge: Charge, on day: Int) -> String? {
    let isCaptured = charge.captured != nil
    // Before the end of the order.
    let isRefunded = !isCaptured && charge.goal == .undecided
    switch (charge.state, choice) {
    case (.undecided, "captured") where isRefunded, (.undecided, "release") where isRefunded:
      return nil
    case (.captured, _) where charge.day < day: return nil
    case (.captured, "refund"), (.undecided, "refund"):
      return isCaptured && charge.goal != .undecided ? "refund" : nil
    case (.undecided, "refunded"): return isCaptured ? "refunded" : nil
    case (.captured, "cash"), (.undecided, "cash"): return isCaptured ? "paid_back" : nil
    case (.undecided, "write_off"):
      return !isCaptured && charge.goal == .capturing || isRefunded ? "written_off" : nil
    case (.undecided, "captured"): return isCaptured ? "kept" : "captured"
    case (.undecided, "capture"): return isCaptured || charge.held == nil ? nil : "capture"
    case (.undecided, "release"), (.undecided, "released"): return isCaptured ? nil : choice
    default: return nil
    }
  }

  // MARK: Entries

  /// Checks an entry that is no answer: a step of a charge, or the end of a day.
  mutating func checkPayment(_ entry: LedgerEntry) {
    switch entry.outcome {
    case .payment(let step): check(step, entry.amount?.units, in: entry)
    case .total(let total, let device, let difference):
      guard payments.totals[device.text]?.removeValue(forKey: total.total) == total else {
        return fail(.decision, "entry \(entry.seq) is a total that \(device) has not published")
      }
      let own = payments.sums[device.text] ?? (0, 0)
      let net = total.captured.units - total.refunded.units
      let isNext = payments.lastTotals[device.text].map { total.total <= $0 + 1 } ?? true
      if difference != (isNext ? net - (own.captured - own.refunded) : nil) {
        let told = difference.map(String.init) ?? "nil"
        fail(.decision, "entry \(entry.seq) has the difference \(told), not \(own) to \(net)")
      }
      payments.sums[device.text] = (0, 0)
      payments.lastTotals[device.text] = total.total
    default: fail(.ledger, "entry \(entry.seq) has no message")
    }
  }

  private mutating func check(_ step: PaymentStep, _ cents: Int?, in entry: LedgerEntry) {
    let number = step.charge
    var charge = payments.charges[number] ?? PaymentModel.Entry(device: step.device.text)
    let isValid: Bool
    switch step.kind {
    case .held:
      isValid =
        charge.held == nil && charge.captured == nil
        && (payments.has(number, "held", cents) || payments.has(number, "captured", cents))
      charge.held = cents
    case .captured:
      isValid =
        charge.captured == nil
        && (payments.has(number, "captured", cents) || payments.has(number, "refunded", cents))
      charge.captured = cents
    case .released:
      isValid =
        (charge.held == cents || charge.decisions.contains("written_off"))
        && charge.captured == nil
        && (payments.has(number, "released") || payments.has(number, "declined"))
      charge.held = nil
    case .refunded:
      isValid =
        charge.captured != nil && charge.refunded == nil && payments.has(number, "refunded", cents)
      charge.refunded = cents
    case .capture, .release, .refund, .kept, .paidBack, .writtenOff: isValid = false
    }
    if !isValid || charge.device != step.device.text || cents == nil {
      fail(.decision, "entry \(entry.seq) has no reason: \(step), \(charge)")
    }
    record(charge, number)
    count(step.kind.rawValue, cents, at: charge.device)
  }

  private mutating func record(_ charge: PaymentModel.Entry, _ number: Int) {
    payments.charges[number] = charge
  }

  private mutating func count(_ kind: String, _ cents: Int?, at device: String) {
    var sums = payments.sums[device] ?? (0, 0)
    if kind == "captured" { sums.captured += cents ?? 0 }
    if kind == "refunded" { sums.refunded += cents ?? 0 }
    payments.sums[device] = sums
  }

  /// Checks that a paid order begins at a machine.
  mutating func checkBegin(_ entry: LedgerEntry, of number: Int, at now: Duration) {
    guard case .payment(let step) = entry.outcome, let machine = step.machine?.text,
      let order = payments.charges[step.charge]?.order
    else { return fail(.decision, "entry \(entry.seq) begins what was not ordered") }
    check(step, entry.amount?.units, in: entry)
    if order.end != nil || machineModel.jobs[order.seq] != nil
      || entries[order.seq]?.number != number
      || entry.amount?.units != order.cents || !mayWork(machine)
      || rules.makers.first(where: { $0.name == machine })?.makes(order.juice) != true
    {
      fail(.decision, "entry \(entry.seq) must not begin \(order) at \(machine)")
    }
    machineModel.jobs[order.seq] = MachineModel.Job(
      seq: order.seq, machine: machine, order: (order.juice, order.quantity), ticket: order.ticket,
      used: order.used, numbers: [entry.seq], at: entry.at.milliseconds, uptime: now,
      state: .queued, since: now)
  }

  /// Records an order that must be paid, or the decision of a person.
  mutating func followPayment(_ entry: LedgerEntry, at now: Duration) {
    switch entry.outcome {
    case .awaitingPayment(let order, let used, let ticket, let number, let device):
      guard number == max(payments.last + 1, Int(entry.at.milliseconds / 1000)) else {
        return fail(.decision, "entry \(entry.seq) has the charge \(number)")
      }
      payments.last = number
      let source = entry.source?.description ?? ""
      for (other, charge) in payments.charges where charge.order?.source == source {
        guard charge.order?.end == nil, payments.open[other]?.state.isUnpaid == true,
          !payments.isMentioned(other),
          !(payments.answers[other] ?? []).contains(where: \.isPresented)
        else { continue }
        fail(.decision, "entry \(entry.seq) does not replace charge \(other)")
      }
      payments.charges[number] = PaymentModel.Entry(
        device: device.text,
        order: PaymentModel.Order(
          seq: entry.seq, source: source, juice: order.juice.text, quantity: order.quantity,
          ticket: ticket.number, used: [String: Int](used), cents: entry.amount?.units ?? 0,
          uptime: now))
    case .payment(let step):
      guard var charge = payments.charges[step.charge] else {
        return fail(.decision, "entry \(entry.seq) decides about an unknown charge")
      }
      let cents = entry.amount?.units
      charge.decisions.insert(step.kind.rawValue)
      switch step.kind {
      case .captured: charge.captured = cents
      case .released: charge.held = nil
      case .refunded: charge.refunded = cents
      case .paidBack: charge.cash = cents
      case .writtenOff: charge.held = nil
      case .held, .capture, .release, .refund, .kept: break
      }
      record(charge, step.charge)
      count(step.kind.rawValue, cents, at: charge.device)
      payments.batch.charges.insert(step.charge)
    default: break
    }
  }

  /// Checks that the entry after a replaced order is the order that replaces it. In between the
  /// returned fruit may expire.
  mutating func checkReplacement(_ entry: LedgerEntry) {
    guard let (source, seq) = payments.replaced else { return }
    if case .expired = entry.outcome, entry.seq == seq + 1 {
      payments.replaced = (source, entry.seq)
      return
    }
    payments.replaced = nil
    if case .awaitingPayment = entry.outcome, entry.seq == seq + 1,
      entry.source?.description == source
    {
      return
    }
    fail(.decision, "entry \(entry.seq) replaces the order of \(source)")
  }

  /// Records the end of a paid order.
  mutating func notePaymentEnd(_ entry: LedgerEntry, _ outcome: Model.Outcome) {
    guard let end = entry.outcome.end, let number = payments.charge(ofOrder: end.job) else {
      return
    }
    payments.charges[number]?.order?.end = outcome
    payments.charges[number]?.order?.sold = entry.amount?.units
    // An order that was made may need a decision about its charge, which may follow in the batch.
    payments.batch.charges.insert(number)
    payments.charges[number]?.order?.sentBefore = sent.count
  }

  /// Checks the end of a paid order that no machine got.
  mutating func checkUnpaidEnd(
    _ entry: LedgerEntry, _ outcome: Model.Outcome, of number: Int, at now: Duration
  ) {
    guard let end = entry.outcome.end, let charge = payments.charge(ofOrder: end.job),
      let entered = payments.charges[charge], let order = entered.order
    else { return fail(.decision, "entry \(entry.seq) ends a job that was never accepted") }
    if let first = order.end {
      return fail(.twice, "order \(order.seq) ends with \(first), and with entry \(entry.seq)")
    }
    if number != entries[order.seq]?.number || end.ticket.number != order.ticket
      || end.order.juice.text != order.juice || end.order.quantity != order.quantity
      || end.machine != nil
    {
      fail(.ledger, "entry \(entry.seq) tells otherwise of order \(order): \(end)")
    }
    let makers = rules.makers.filter { $0.makes(order.juice) }
    let isValid: Bool
    switch outcome {
    case .made: isValid = makers.isEmpty && entered.held == order.cents
    case .returned(_, let reason, order.used):
      switch reason {
      case "declined":
        isValid = payments.has(charge, "declined") || payments.has(charge, "released")
      case "not_paid":
        // The clock may have been set while the kiosk was away.
        let least = Duration.seconds(Model.maximumAge - 1)
        isValid = now - order.uptime >= least || lastJump.map { $0 >= order.uptime } ?? false
        payments.nextSilent.insert(entered.device)
      case "replaced":
        isValid = entered.held == nil
        payments.replaced = (order.source, entry.seq)
      case "payment_unknown":
        isValid = ["unknown", "captured", "refunded"].contains { payments.has(charge, $0) }
      case "wrong_amount": isValid = entered.held != nil && entered.held != order.cents
      case "cleaning":
        isValid =
          entered.held != nil
          && makers.contains { mayBeClosed($0.name, at: now, wallClock: entry.at.milliseconds) }
      case "expired": isValid = entered.held != nil && hasExpired(at: now)
      case "blocked":
        isValid =
          entered.held != nil && mayBeBlocked(used: order.used, makers: makers.map(\.name))
      case "machine_down":
        isValid = !makers.isEmpty && makers.allSatisfy { mayBeDown($0.name) } && entered.held != nil
      default: isValid = false
      }
    default: isValid = false
    }
    if !isValid {
      fail(.decision, "entry \(entry.seq) has no reason: \(outcome), \(entered)")
    }
  }

  // MARK: State

  /// Compares the ledger's open charges and device records with the model.
  mutating func comparePayments(
    _ charges: [Charge], _ records: [PaymentDeviceID: PaymentDeviceRecord], at now: Duration
  ) {
    let open = Dictionary(uniqueKeysWithValues: charges.map { ($0.number, $0) })
    for number in payments.open.keys.sorted() where open[number] == nil { checkClosed(number) }
    for charge in charges {
      let number = charge.number
      let entered = payments.charges[number]
      // A charge without an order may have been opened by an answer that moved nothing yet.
      if entered == nil && charge.sale != nil || charge.captured?.units != entered?.captured
        || charge.sale == nil && charge.state != .releasing && charge.state != .undecided
          && entered?.decisions.isEmpty != false
      {
        fail(.ledger, "charge \(charge) is open, and the entries are \(entered as Any)")
      }
      if charge.state != payments.open[number]?.state {
        trace.append(
          "charge \(number): \(charge.state.rawValue)\(charge.reason.map { ", \($0)" } ?? "")")
        if let entered, !isPossible(charge, entered) {
          fail(.decision, "charge \(charge) is \(charge.state), and the entries are \(entered)")
        }
        if charge.state == .sent { payments.sentAt[number] = now }
        if charge.reason == "no answer" { payments.nextSilent.insert(charge.device.text) }
      }
    }
    let isLost = payments.charges.contains { number, charge in
      open[number] == nil && charge.order.map { $0.end == nil } ?? false
    }
    if isLost { fail(.lost, "a charge of an open order is not open") }
    let asked = charges.filter { $0.state == .sent || $0.state == .waiting }.map(\.device.text)
    if Set(asked).count < asked.count {
      fail(.decision, "a device asks several customers: \(charges)")
    }
    payments.open = open
    payments.maybeSilent.subtract(payments.batch.devices)
    payments.maybeSilent.formUnion(payments.nextSilent)
    payments.nextSilent = []
    for (device, record) in records {
      let sums = payments.sums[device.text] ?? (0, 0)
      if (record.captured, record.refunded) != sums {
        fail(.ledger, "\(device) has \(record), and the entries make \(sums)")
      }
      if let text = payments.batch.statuses.last(where: { $0.device == device.text })?.text,
        MachineStatus(text) != record.status
      {
        fail(.ledger, "\(device) is \(record.status), and has published \(text)")
      }
      payments.records[device.text] = record
    }
  }

  private func isPossible(_ charge: Charge, _ entered: PaymentModel.Entry) -> Bool {
    guard let order = entered.order else { return true }
    switch charge.state {
    case .queued, .sent, .waiting: return order.end == nil && entered.held == nil
    case .held: return order.end == nil && (entered.held != nil || entered.captured != nil)
    case .gone: return order.end == nil
    case .capturing: return order.sold != nil || entered.decisions.contains("capture")
    case .captured: return entered.captured != nil
    case .releasing: return Self.mayRelease(entered)
    case .refunding: return entered.decisions.contains("refund")
    case .undecided: return charge.reason != nil
    }
  }

  /// Whether a charge may be released: its order ended and was not sold, or a person has decided so.
  /// A device may still hold an amount that a person took for released.
  private static func mayRelease(_ entered: PaymentModel.Entry) -> Bool {
    entered.order.map { $0.end != nil && $0.sold == nil } ?? true
      || !entered.decisions.isDisjoint(with: ["release", "released", "written_off"])
  }

  /// Checks a charge whose money can no longer move.
  private mutating func checkClosed(_ number: Int) {
    guard let charge = payments.charges[number] else { return }
    let sold = charge.order?.sold
    let net = (charge.captured ?? 0) - (charge.refunded ?? 0)
    let isOpen = charge.order.map { $0.end == nil } ?? false
    let isHeld = charge.held != nil && charge.captured == nil
    let isRight = net == sold ?? 0 || charge.refunded != nil && net == 0
    if isOpen || (isHeld || !isRight) && charge.decisions.isEmpty {
      fail(.lost, "charge \(number) is closed: \(charge)")
    }
  }

  // MARK: Messages to devices

  mutating func checkPayment(_ message: Message, at now: Duration) {
    let levels = message.topic.split(separator: "/").map(String.init)
    trace.append("\(levels.dropFirst(2).joined(separator: "/")): \(text(message.payload))")
    // The request for all open charges moves nothing.
    if levels.dropFirst(4).first == "open" { return }
    guard let json = try? JSON.parse(message.payload), case .integer(let number) = json["charge"],
      let charge = payments.open[number], charge.device.text == levels[3]
    else { return fail(.forbidden, "a device received what the ledger does not have: \(message)") }
    let entered = payments.charges[number]
    let order = entered?.order
    let action = levels.dropFirst(4).first
    let isRight: Bool
    switch action {
    case nil:
      isRight =
        order?.end == nil && entered?.held == nil
        && json["amount"] == order.map { .integer($0.cents) }
        && json["ticket"] == order.map { .integer($0.ticket) } && message.expiry ?? .max <= 45
        && charge.state == .sent && !isPaidTooLate(number, at: now)
    case "capture":
      let wanted = order?.sold.map { JSON.integer($0) }
      isRight =
        charge.goal == .capturing && entered?.captured == nil
        && (json["amount"] == wanted
          || wanted == nil && entered?.decisions.contains("capture") == true)
        && payments.requested.insert(.init(action: "capture", charge: number)).inserted
    case "refund":
      isRight =
        charge.state == .refunding && entered?.decisions.contains("refund") == true
        && payments.requested.insert(.init(action: "refund", charge: number)).inserted
    case "release":
      isRight = entered.map(Self.mayRelease) ?? true
    default: isRight = action == "state"
    }
    if !isRight { fail(.forbidden, "\(message.topic): \(text(message.payload)), \(charge)") }
  }

  /// Whether the time to pay has passed, unless that is unknown: the clock was set after the order,
  /// and the kiosk started again.
  private func isPaidTooLate(_ number: Int, at now: Duration) -> Bool {
    guard let sentAt = payments.sentAt[number] else { return false }
    let orderedAt = payments.charges[number]?.order?.uptime ?? sentAt
    let isKnown = startedAt < sentAt || lastJump.map { $0 < orderedAt } ?? true
    return isKnown && now - sentAt > .seconds(45)
  }

  // MARK: Displays

  mutating func checkPaymentReports() {
    for name in Terminal.all(rules.terminals) {
      let topic = "payment/\(name)"
      guard
        let report = display[topic].flatMap({ try? PaymentReport(payload: Array($0.utf8)) })
      else {
        fail(.display, "\(topic) shows \(display[topic] ?? "nothing")")
        continue
      }
      let undecided = undecidedCharges.filter { $0.device.text == name }.map(\.number)
      let mayBeOff = payments.mayBeDown(name)
      if report.charges.map(\.charge) != Array(undecided.prefix(PaymentReport.limit))
        || (report.state == .off) && !mayBeOff || report.state != .off && !payments.mayBeUp(name)
      {
        fail(.display, "\(topic) shows \(display[topic] ?? ""), and not \(undecided)")
      }
    }
  }

  // MARK: The end

  /// Compares the ledger with the journals of the devices, to the cent.
  mutating func checkMoney(_ terminals: [Terminal]) {
    for terminal in terminals where payments.records[terminal.name]?.epoch ?? 0 == 0 {
      fail(.lost, "\(terminal.name) has not said what it holds")
    }
    let moved = terminals.reduce(into: [Int: Terminal.Charge]()) { moved, terminal in
      moved.merge(terminal.charges) { first, _ in first }
    }
    for number in Set(moved.keys).union(payments.charges.keys).sorted() {
      let (journal, charge) = (moved[number], payments.charges[number])
      let isHeld = journal?.state == .held || journal?.state == .waiting
      if isHeld || journal?.captured ?? 0 != charge?.captured ?? 0
        || journal?.refunded ?? 0 != charge?.refunded ?? 0
        || charge?.held != nil && charge?.captured == nil
      {
        fail(
          .ledger,
          "charge \(number): the journal is \(journal as Any), the ledger \(charge as Any)")
      }
      guard let order = charge?.order else { continue }
      let net = (charge?.captured ?? 0) - (charge?.refunded ?? 0)
      let isRight = net == order.sold ?? 0 || charge?.refunded != nil && net == 0
      if order.end == nil || !isRight && charge?.decisions.isEmpty != false {
        fail(.lost, "order \(order.seq) is \(order), and \(net) is captured")
      }
    }
  }
}
