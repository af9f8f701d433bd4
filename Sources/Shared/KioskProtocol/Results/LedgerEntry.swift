package import JuiceDomain

/// One line of the ledger: what was decided, once and for all. It is what `events` publishes.
package struct LedgerEntry: Hashable, Sendable {
  /// Gapless, from 1.
  package let seq: Int
  /// Names the life of the ledger in which it was made: another one begins with each restore from a
  /// backup, so that a number used twice is told from an entry told twice. Below 2^53, what every
  /// reader of JSON can hold; 0: not told.
  package let epoch: Int
  package let at: Timestamp
  /// Who gave the command; `nil` for the kiosk's own entries.
  package let source: Source?
  package let id: Request.ID?
  package let outcome: Outcome
  /// What the glasses cost when they were ordered, of an order that was made or accepted.
  package let amount: Money?

  package init(
    seq: Int, epoch: Int, at: Timestamp, source: Source?, id: Request.ID?, outcome: Outcome,
    amount: Money? = nil
  ) {
    self.seq = seq
    self.epoch = epoch
    self.at = at
    self.source = source
    self.id = id
    self.outcome = outcome
    self.amount = amount
  }

  package enum Outcome: Hashable, Sendable {
    /// Fruits that the kiosk holds from now on, with the stock they start from.
    case opened(FruitAmounts)
    case ready(Order, used: FruitAmounts, ticket: Ticket)
    case outOfStock(Order, missing: FruitAmounts)
    case restocked(changes: FruitAmounts)
    case service(ServiceState)
    // Apart from the others, which are smaller: each entry is copied many times.
    /// A machine is to make it: a job with the number of this entry.
    indirect case accepted(
      Order, used: FruitAmounts, ticket: Ticket, machine: MachineID, place: Int)
    indirect case made(JobEnd)
    /// - Parameter changes: the fruit that is back.
    indirect case failed(JobEnd, reason: String, changes: FruitAmounts)
    /// No machine has begun it, or a person has said that nothing was poured.
    indirect case returned(JobEnd, reason: String, changes: FruitAmounts)
    /// A person has decided what becomes of a job; `used` is the fruit that this has cost.
    case decided(JobDecision.Choice, job: Int, used: FruitAmounts)
    /// - Parameter order: what was ordered, if it was an order.
    case rejected(RejectionReason, order: Order?)

    /// What was ordered, if it was an order.
    package var order: Order? {
      switch self {
      case .ready(let order, _, _), .outOfStock(let order, _): order
      case .accepted(let order, _, _, _, _): order
      case .made(let end), .failed(let end, _, _), .returned(let end, _, _): end.order
      case .rejected(_, let order): order
      case .opened, .restocked, .service, .decided: nil
      }
    }

    /// The job that has come to an end.
    package var end: JobEnd? {
      switch self {
      case .made(let end), .failed(let end, _, _), .returned(let end, _, _): end
      default: nil
      }
    }
  }

  package var ticket: Ticket? {
    switch outcome {
    case .ready(_, _, let ticket), .accepted(_, _, let ticket, _, _): ticket
    default: outcome.end?.ticket
    }
  }

  /// What the entry has done to the stock.
  package var changes: FruitAmounts { outcome.changes }
}

extension LedgerEntry.Outcome {
  /// What it has done to the stock.
  package var changes: FruitAmounts {
    switch self {
    case .opened(let amounts), .restocked(let amounts): amounts
    case .ready(_, let used, _), .accepted(_, let used, _, _, _), .decided(_, _, let used):
      used.times(-1)
    case .failed(_, _, let changes), .returned(_, _, let changes): changes
    case .outOfStock, .service, .rejected, .made: [:]
    }
  }
}

/// What an entry says of the order whose job it ends: source and id are the order's, too.
package struct JobEnd: Hashable, Sendable {
  /// The entry of the order.
  package let job: Int
  package let machine: MachineID
  package let order: Order
  package let ticket: Ticket

  package init(job: Int, machine: MachineID, order: Order, ticket: Ticket) {
    self.job = job
    self.machine = machine
    self.order = order
    self.ticket = ticket
  }
}

/// A number for the customer to listen for: the day's made orders, counted from 1.
package struct Ticket: Hashable, Sendable {
  /// In the kiosk's time zone, counted from 1970-01-01.
  package let day: Int
  package let number: Int

  package init(day: Int, number: Int) {
    self.day = day
    self.number = number
  }
}

extension LedgerEntry {
  /// The status under which an entry goes by its outcome.
  package enum Status: String, Sendable {
    case opened, ready, restocked, open, closed, rejected
    case accepted, made, failed, returned
    case poured, again
    case giveBack = "give_back"
    case outOfStock = "out_of_stock"
  }

  package var status: Status {
    switch outcome {
    case .opened: .opened
    case .ready: .ready
    case .outOfStock: .outOfStock
    case .restocked: .restocked
    case .service(.open): .open
    case .service(.closed): .closed
    case .accepted: .accepted
    case .made: .made
    case .failed: .failed
    case .returned: .returned
    case .decided(.poured, _, _): .poured
    case .decided(.again, _, _): .again
    case .decided(.giveBack, _, _): .giveBack
    case .rejected: .rejected
    }
  }

  package var payload: [UInt8] { JSONWriter.object { $0.members(self) } }
}

extension JSONWriter {
  mutating func members(_ entry: LedgerEntry) {
    member("seq", entry.seq)
    if entry.epoch != 0 { member("epoch", entry.epoch) }
    member("at", entry.at.description)
    if let source = entry.source { member("source", source.description) }
    if let id = entry.id { member("id", id.text) }
    member("status", entry.status.rawValue)
    switch entry.outcome {
    case .ready(let order, _, let ticket):
      member("ticket", ticket.number)
      member(order)
    case .outOfStock(let order, let missing):
      member(order)
      member("missing", missing)
    case .rejected(let reason, let order):
      member("reason", reason.rawValue)
      if let order { member(order) }
    case .accepted(let order, _, let ticket, let machine, let place):
      member("ticket", ticket.number)
      member(order)
      member("machine", machine.text)
      member("place", place)
    case .made(let end):
      member(end)
    case .failed(let end, let reason, _), .returned(let end, let reason, _):
      member(end)
      member("reason", reason)
    case .decided(_, let job, _):
      member("job", job)
    case .opened, .restocked, .service:
      break
    }
    if let amount = entry.amount { member("amount", amount) }
    let changes = entry.changes
    if !changes.isEmpty { member("changes", changes) }
  }

  private mutating func member(_ end: JobEnd) {
    member("job", end.job)
    member("ticket", end.ticket.number)
    member(end.order)
    member("machine", end.machine.text)
  }

  fileprivate mutating func member(_ order: Order) {
    member("juice", order.juice.text)
    member("quantity", order.quantity)
  }
}
