import Foundation
import GRDB
import JuiceMaker
import KioskMessages

// How a ledger entry lies in the tables.
extension Ledger {
  static func insert(_ entry: LedgerEntry, into database: Database) throws {
    var order: Order?
    var ticket: Ticket?
    var reason: RejectionReason?
    var missing: FruitAmounts?
    switch entry.outcome {
    case .ready(let made, _, let given): (order, ticket) = (made, given)
    case .outOfStock(let wanted, let short): (order, missing) = (wanted, short)
    case .rejected(let why, let wanted): (reason, order) = (why, wanted)
    case .opened, .restocked, .service: break
    }
    let missingText = missing.map { amounts in
      String(decoding: JSONWriter.object { $0.members(amounts) }, as: UTF8.self)
    }
    try database.cachedStatement(
      sql: "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    ).execute(arguments: [
      entry.seq, entry.at.milliseconds, entry.source?.description, entry.id?.text,
      entry.status.rawValue, order?.juice.text, order?.quantity, ticket?.day, ticket?.number,
      reason?.rawValue, missingText,
    ])
    if let ticket {
      try database.cachedStatement(sql: "INSERT OR REPLACE INTO ticket VALUES (?, ?)")
        .execute(arguments: [ticket.day, ticket.number])
    }
    if case .opened(let amounts) = entry.outcome {
      for (fruit, _) in amounts {
        try database.cachedStatement(sql: "INSERT INTO stock (fruit, quantity) VALUES (?, 0)")
          .execute(arguments: [fruit.text])
      }
    }
    for (fruit, amount) in entry.changes {
      try database.cachedStatement(
        sql: "INSERT INTO movement SELECT ?, id, ? FROM stock WHERE fruit = ?"
      ).execute(arguments: [entry.seq, amount, fruit.text])
      try database.cachedStatement(sql: "UPDATE stock SET quantity = quantity + ? WHERE fruit = ?")
        .execute(arguments: [amount, fruit.text])
      guard database.changesCount == 1 else { throw LedgerError.unknownFruit(fruit.text) }
    }
  }

  /// The entry in a row of `entry`, with its movements.
  static func entry(_ row: Row, in database: Database) throws -> LedgerEntry {
    let seq: Int = row["seq"]
    var changes: FruitAmounts = [:]
    let movements = try Row.fetchAll(
      database.cachedStatement(
        sql: """
          SELECT stock.fruit, amount FROM movement JOIN stock ON id = movement.fruit WHERE seq = ?
          """), arguments: [seq])
    for movement in movements {
      if let fruit = Fruit.ID(movement["fruit"] as String) { changes[fruit] = movement["amount"] }
    }
    guard let outcome = outcome(row, changes: changes) else { throw LedgerError.unreadable(seq) }
    return LedgerEntry(
      seq: seq, at: Timestamp(milliseconds: row["at"]),
      source: (row["source"] as String?).flatMap { Source($0) },
      id: (row["request"] as String?).flatMap { Request.ID($0) }, outcome: outcome)
  }

  private static func outcome(_ row: Row, changes: FruitAmounts) -> LedgerEntry.Outcome? {
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
      let used = changes.map { (fruit: $0.fruit, amount: -$0.amount) }
      return .ready(order, used: FruitAmounts(used), ticket: Ticket(day: day, number: number))
    case .outOfStock:
      guard let order, let text = row["missing"] as String?,
        let missing = try? JSON.parse(Array(text.utf8)).amounts
      else { return nil }
      return .outOfStock(order, missing: missing)
    case .rejected:
      return RejectionReason(rawValue: row["reason"]).map { .rejected($0, order: order) }
    case nil: return nil
    }
  }
}
