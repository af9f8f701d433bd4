import Foundation
import GRDB
import JuiceDomain
import KioskCore
import KioskMessages

extension LedgerRow {
  /// A row of `entry`.
  ///
  /// - Throws: `LedgerError.unreadable`.
  init(_ row: Row) throws(LedgerError) {
    let seq: Int = row["seq"]
    guard let outcome = LedgerEntry.Outcome(row), let stock = row.amounts("stock") else {
      throw .unreadable(seq)
    }
    self.init(
      LedgerEntry(
        seq: seq, at: Timestamp(milliseconds: row["at"]),
        source: (row["source"] as String?).flatMap { Source($0) },
        id: (row["id"] as String?).flatMap { Request.ID($0) }, outcome: outcome),
      stock: stock, detail: row["detail"], message: row["message"])
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
    case .open: self = .service(.open)
    case .closed: self = .service(.closed)
    case .ready:
      guard let order, let used, let day = row["day"] as Int?, let number = row["ticket"] as Int?
      else { return nil }
      self = .ready(order, used: used, ticket: Ticket(day: day, number: number))
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

extension Row {
  /// The amounts in a column: `.some(nil)` if there are none, `nil` if they cannot be read.
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
  /// The columns of `reply`, beside those of an entry; `nil` if the sender asked for nothing.
  init?(_ row: Row) {
    guard row["asked"] != nil else { return nil }
    let correlation = row["correlation"] as Data?
    self.init(topic: row["topic"], correlationData: correlation.map { Array($0) })
  }
}

extension Fingerprint {
  /// A row of `delivery`.
  init(_ row: Row) {
    self.init(
      packetID: UInt16(truncatingIfNeeded: row["packet_id"] as Int),
      digest: UInt64(bitPattern: row["digest"]))
  }
}
