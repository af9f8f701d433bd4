import GRDB
import JuiceMaker
import KioskMessages

// How a ledger entry is read.
extension Ledger {
  /// The entry in a row of `event`.
  static func entry(_ row: Row) throws(LedgerError) -> LedgerEntry {
    let seq: Int = row["seq"]
    guard let outcome = outcome(row) else { throw .unreadable(seq) }
    return LedgerEntry(
      seq: seq, at: Timestamp(milliseconds: row["at"]),
      source: (row["source"] as String?).flatMap { Source($0) },
      id: (row["request"] as String?).flatMap { Request.ID($0) }, outcome: outcome)
  }

  private static func outcome(_ row: Row) -> LedgerEntry.Outcome? {
    guard let changes = amounts(row["moved"] ?? "{}"), let missing = amounts(row["missing"] ?? "{}")
    else { return nil }
    var order: Order?
    if let juice = (row["juice"] as String?).flatMap({ Juice.ID($0) }),
      let quantity = row["quantity"] as Int?
    {
      order = Order(juice: juice, quantity: quantity)
    }
    switch LedgerEntry.Status(rawValue: row["status"]) {
    case .opened: return .opened(changes)
    case .restocked: return .restocked(changes: changes)
    case .open: return .service(.open)
    case .closed: return .service(.closed)
    case .ready:
      guard let order, let day = row["day"] as Int?, let number = row["ticket"] as Int? else {
        return nil
      }
      return .ready(order, used: changes.times(-1), ticket: Ticket(day: day, number: number))
    case .outOfStock:
      return order.map { .outOfStock($0, missing: missing) }
    case .rejected:
      return RejectionReason(rawValue: row["reason"]).map { .rejected($0, order: order) }
    case nil: return nil
    }
  }

  private static func amounts(_ text: String) -> FruitAmounts? {
    try? JSON.parse(Array(text.utf8)).amounts
  }
}
