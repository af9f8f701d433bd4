package import JuiceDomain

/// One line of the ledger: what was decided, once and for all. It is what `events` publishes.
package struct LedgerEntry: Hashable, Sendable {
  /// Gapless, from 1.
  package let seq: Int
  package let at: Timestamp
  /// Who gave the command; `nil` for the kiosk's own entries.
  package let source: Source?
  package let id: Request.ID?
  package let outcome: Outcome

  package init(seq: Int, at: Timestamp, source: Source?, id: Request.ID?, outcome: Outcome) {
    self.seq = seq
    self.at = at
    self.source = source
    self.id = id
    self.outcome = outcome
  }

  package enum Outcome: Hashable, Sendable {
    /// Fruits that the kiosk holds from now on, with the stock they start from.
    case opened(FruitAmounts)
    case ready(Order, used: FruitAmounts, ticket: Ticket)
    case outOfStock(Order, missing: FruitAmounts)
    case restocked(changes: FruitAmounts)
    case service(ServiceState)
    /// - Parameter order: what was ordered, if it was an order.
    case rejected(RejectionReason, order: Order?)

    /// What was ordered, if it was an order.
    package var order: Order? {
      switch self {
      case .ready(let order, _, _), .outOfStock(let order, _): order
      case .rejected(_, let order): order
      case .opened, .restocked, .service: nil
      }
    }
  }

  package var ticket: Ticket? {
    if case .ready(_, _, let ticket) = outcome { ticket } else { nil }
  }

  /// What the entry has done to the stock.
  package var changes: FruitAmounts {
    switch outcome {
    case .opened(let amounts), .restocked(let amounts): amounts
    case .ready(_, let used, _): used.times(-1)
    case .outOfStock, .service, .rejected: [:]
    }
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
    case .rejected: .rejected
    }
  }

  package var payload: [UInt8] { JSONWriter.object { $0.members(self) } }
}

extension JSONWriter {
  mutating func members(_ entry: LedgerEntry) {
    member("seq", entry.seq)
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
    case .opened, .restocked, .service:
      break
    }
    let changes = entry.changes
    if !changes.isEmpty { member("changes", changes) }
  }

  fileprivate mutating func member(_ order: Order) {
    member("juice", order.juice.text)
    member("quantity", order.quantity)
  }
}
