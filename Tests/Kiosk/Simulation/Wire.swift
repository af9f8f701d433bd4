import JuiceDomain
import KioskProtocol

// Conversions between the simulation's values and the wire format.

extension Sending {
  func payload(sentAt: Int64?, expected: Int?) -> String {
    var members: [String] = []
    if let id { members.append(#""id":"\#(id)""#) }
    if let sentAt { members.append(#""sent_at":"\#(Timestamp(milliseconds: sentAt))""#) }
    switch content {
    case .junk(let junk): return junk
    case .order(let juice, 1) where members.isEmpty: return juice
    case .service(let isOpen) where members.isEmpty: return isOpen ? "open" : "closed"
    case .order(let juice, let quantity):
      members += [#""juice":"\#(juice)""#, #""quantity":\#(quantity)"#]
    case .service(let isOpen):
      members.append(#""service":"\#(isOpen ? "open" : "closed")""#)
    case .decide(let choice, _, let used):
      members += [#""job":\#(expected ?? 0)"#, #""decision":"\#(choice)""#]
      if let used { members.append(#""used":{"kiwi":\#(used)}"#) }
    case .run(let program, let machine):
      members += [#""program":"\#(program.rawValue)""#, #""machine":"\#(machine)""#]
    case .judge(let choice):
      members += [
        #""sensor":"\#(SensorModel.name)""#, #""decision":"\#(choice)""#, #""word":"smelled""#,
      ]
    case .settle(let choice, _):
      members += [#""charge":\#(expected ?? 0)"#, #""decision":"\#(choice ?? "released")""#]
    case .bring(let fruit, let amount, _):
      let time = Timestamp(milliseconds: Int64(expected ?? 0))
      members += [#""add":{"\#(fruit)":\#(amount)}"#, #""best_before":{"\#(fruit)":"\#(time)"}"#]
    case .remove(let fruit, let amount):
      let key = amount == nil ? "remove_expired" : "remove"
      let amount = amount ?? expected ?? 1
      members += [#""\#(key)":{"\#(fruit)":\#(amount)}"#, #""reason":"spoiled""#]
    case .restock(let fruit, let change, _):
      switch change {
      case .add(let amount): members.append(#""add":{"\#(fruit)":\#(amount)}"#)
      case .set(let amount): members.append(#""set":{"\#(fruit)":\#(amount)}"#)
      }
      if let expected { members.append(#""expect":{"\#(fruit)":\#(expected)}"#) }
    }
    return "{\(members.joined(separator: ","))}"
  }
}

extension Model.Outcome {
  init(_ outcome: LedgerEntry.Outcome) {
    switch outcome {
    case .opened(let amounts): self = .opened([String: Int](amounts))
    case .ready(_, let used, let ticket):
      self = .ready(used: [String: Int](used), day: ticket.day, ticket: ticket.number)
    case .outOfStock(_, let missing): self = .outOfStock(missing: [String: Int](missing))
    case .restocked(let changes): self = .restocked([String: Int](changes))
    case .service(let state): self = .service(isOpen: state == .open)
    case .rejected(let reason, _): self = .rejected(reason.rawValue)
    case .accepted(_, let used, let ticket, let machine, let place):
      self = .accepted(
        used: [String: Int](used), day: ticket.day, ticket: ticket.number, machine: machine.text,
        place: place)
    case .made(let end): self = .made(job: end.job)
    case .failed(let end, let reason, let changes):
      self = .failed(job: end.job, reason: reason, changes: [String: Int](changes))
    case .returned(let end, let reason, let changes):
      self = .returned(job: end.job, reason: reason, changes: [String: Int](changes))
    case .awaitingPayment(_, let used, let ticket, let charge, let device):
      self = .awaitingPayment(
        used: [String: Int](used), day: ticket.day, ticket: ticket.number, charge: charge,
        device: device.text)
    case .payment(let step):
      self = .payment(
        step.kind.rawValue, charge: step.charge, job: step.job, machine: step.machine?.text)
    case .total(let total, let device, let difference):
      self = .total(total.total, device: device.text, difference: difference)
    case .program(let step):
      self = .program(step)
    case .sensor(let step): self = .sensor(step.kind.rawValue, changes: [String: Int](step.changes))
    case .expired(let changes): self = .expired([String: Int](changes))
    case .removed(let removal):
      self = .removed(
        stock: [String: Int](removal.stock), expired: [String: Int](removal.expired))
    case .decided(let choice, let job, let used):
      self = .decided(choice.rawValue, job: job, used: [String: Int](used))
    }
  }
}

extension CommandResult {
  /// Returns whether the answer reports the outcome, and the stock after it.
  func matches(_ outcome: Model.Outcome, stock: [String: Int]) -> Bool {
    if let told = self.stock, [String: Int](told) != stock { return false }
    switch outcome {
    case .ready(let used, _, let ticket):
      return status == .ready && self.ticket == ticket
        && self.used.map { [String: Int]($0) } == used
    case .outOfStock(let missing):
      return status == .outOfStock && self.missing.map { [String: Int]($0) } == missing
    case .accepted(let used, _, let ticket, let machine, let place):
      return status == .accepted && self.ticket == ticket && self.machine?.text == machine
        && self.place == place && self.used.map { [String: Int]($0) } == used
    case .made: return status == .ready
    case .failed(_, let reason, _), .returned(_, let reason, _):
      return status == .failed && failure == reason
    case .decided: return status == .applied
    case .awaitingPayment(let used, _, let ticket, _, let device):
      return status == .awaitingPayment && self.ticket == ticket && self.device?.text == device
        && self.used.map { [String: Int]($0) } == used
    case .payment(let kind, _, _, let machine):
      let isRequest = ["capture", "release", "refund"].contains(kind)
      return status == (machine == nil && !isRequest ? .applied : .accepted)
        && self.machine?.text == machine
    case .total: return false
    case .program(let step): return status == .applied && machine == step.id.machine
    case .sensor: return status == .applied
    case .opened, .expired: return false
    case .restocked, .removed: return status == .applied && self.stock != nil
    case .service(let isOpen):
      return status == .applied && service == (isOpen ? .open : .closed)
    case .rejected(let reason): return status == .rejected && self.reason?.rawValue == reason
    }
  }
}

extension [String: Int] {
  init(_ amounts: FruitAmounts) {
    self.init(uniqueKeysWithValues: amounts.map { ($0.fruit.text, $0.amount) })
  }
}
