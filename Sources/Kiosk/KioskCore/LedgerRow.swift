package import JuiceDomain
package import KioskProtocol

/// A row of the ledger: an entry, and the other content of its answer.
package struct LedgerRow: Hashable, Sendable {
  package internal(set) var entry: LedgerEntry
  /// The stock after the entry, or `nil` if the answer does not include it.
  package let stock: FruitAmounts?
  /// The details of a rejection or of a declined payment, for troubleshooting; or `nil` if there are none.
  package let detail: String?
  /// The text that the customer reads, or `nil` if there is none.
  package let message: String?

  package init(
    _ entry: LedgerEntry, stock: FruitAmounts? = nil, detail: String? = nil, message: String? = nil
  ) {
    self.entry = entry
    self.stock = stock
    self.detail = detail
    self.message = message
  }

  /// The answer to the sender. A repeated answer differs only in `isDuplicate`.
  package var result: CommandResult {
    var result = CommandResult(status: .applied)
    switch entry.outcome {
    case .ready(_, let used, let ticket):
      result.status = .ready
      result.ticket = ticket.number
      result.used = used
    case .accepted(_, let used, let ticket, let machine, let place):
      result.status = .accepted
      result.ticket = ticket.number
      result.place = place
      result.machine = machine
      result.used = used
    case .awaitingPayment(_, let used, let ticket, _, let device):
      result.status = .awaitingPayment
      result.ticket = ticket.number
      result.used = used
      result.device = device
    case .payment(let step) where step.kind.isRequest:
      // The outcome follows.
      (result.status, result.device) = (.accepted, step.device)
    case .payment(let step):
      guard let machine = step.machine else { break }
      result.status = .accepted
      result.ticket = step.ticket?.number
      result.place = step.place
      result.machine = machine
    case .made(let end):
      result.status = .ready
      result.ticket = end.ticket.number
      result.machine = end.machine
    case .failed(let end, let reason, _), .returned(let end, let reason, _):
      result.status = .failed
      result.ticket = end.ticket.number
      result.machine = end.machine
      result.failure = reason
    case .outOfStock(_, let missing):
      result.status = .outOfStock
      result.missing = missing
    case .rejected(let reason, _):
      result.status = .rejected
      result.reason = reason
    case .service(let state):
      result.service = state
    case .program(let step):
      result.machine = step.id.machine
    case .opened, .restocked, .decided, .total, .sensor, .expired, .removed:
      break
    }
    result.id = entry.id
    result.juice = entry.outcome.order?.juice
    result.quantity = entry.outcome.order?.quantity
    result.amount = entry.amount
    result.stock = stock
    result.detail = detail
    result.message = message
    result.seq = entry.seq
    return result
  }
}

extension LedgerEntry {
  /// The `seq` of the earlier order whose sender gets another answer with this entry, or `nil` if
  /// there is none.
  var answeredOrder: Int? {
    if case .payment(let step) = outcome { return step.machine == nil ? nil : step.job }
    return outcome.end?.job
  }
}
