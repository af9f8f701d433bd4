import GRDB
import JuiceDomain
import KioskProtocol

/// The sums of the changes in entries, which the other tables of the ledger must have.
struct LedgerSums {
  private let start: Int
  private var stock: [Fruit.ID: Int] = [:]
  private var expired: [Fruit.ID: Int] = [:]
  private var batches: [BatchID: Int] = [:]

  /// Adds up entries, and checks that each can be read and has the columns of its event.
  ///
  /// - Parameter start: The entry before the first one. If it is not 0, it is that of the checkpoint.
  /// - Throws: `LedgerError.unreadable` for the first wrong entry.
  init(after start: Int, in database: Database) throws {
    self.start = start
    let rows = try Row.fetchCursor(
      database, sql: "SELECT seq, event, at, source, id, job FROM entry WHERE seq > ? ORDER BY seq",
      arguments: [start])
    while let row = try rows.next() {
      let entry = try LedgerEntry(row)
      // guard: the columns of an entry are those of its event
      guard entry.at.milliseconds == row["at"], entry.source?.description == row["source"],
        entry.id?.text == row["id"], entry.job == row["job"]
      else { throw LedgerError.unreadable(entry.seq) }
      add(entry)
    }
  }

  // The sums wrap around, because another program may have written any amounts.
  private mutating func add(_ entry: LedgerEntry) {
    for (fruit, amount) in entry.changes { stock[fruit, default: 0] &+= amount }
    for change in entry.batches { batches[change.id, default: 0] &+= change.amount }
    switch entry.outcome {
    case .expired(let changes):
      for (fruit, amount) in changes { expired[fruit, default: 0] &-= amount }
    case .removed(let removal):
      for (fruit, amount) in removal.expired { expired[fruit, default: 0] &-= amount }
    default: break
    }
  }

  /// Returns the difference of a fruit's stock from the stock at the start plus the later changes,
  /// or `nil` if there is none.
  func wrongBalance(in database: Database) throws -> String? {
    let stock = """
      SELECT stock.fruit, stock.quantity, IFNULL(checkpoint.quantity, 0) AS before
      FROM stock LEFT JOIN checkpoint ON checkpoint.fruit = stock.fruit AND ? > 0
      """
    for row in try database.rows(stock, [start]) {
      let (fruit, quantity, before): (String, Int, Int) = (row[0], row[1], row[2])
      let sum = before &+ (Fruit.ID(fruit).flatMap { self.stock[$0] } ?? 0)
      if sum != quantity {
        return "the stock of \(fruit) is \(quantity), but its entries add up to \(sum)"
      }
    }
    return nil
  }

  /// Returns the difference of a batch's quantity from the sum of its entries, or `nil` if there is
  /// none.
  func wrongBatch(in database: Database) throws -> String? {
    var sums = batches
    for row in try database.rows("SELECT fruit, number, quantity FROM batch") {
      guard let id = BatchID(row) else { continue }
      let (quantity, sum): (Int, Int) = (row["quantity"], sums.removeValue(forKey: id) ?? 0)
      if quantity != sum { return Self.wrong(id, quantity, sum) }
    }
    return sums.filter { $0.value != 0 }.min { $0.key < $1.key }.map {
      Self.wrong($0.key, 0, $0.value)
    }
  }

  private static func wrong(_ id: BatchID, _ quantity: Int, _ sum: Int) -> String {
    "batch \(id.number) of \(id.fruit) has \(quantity), but its entries add up to \(sum)"
  }

  /// Returns the difference of a fruit's expired amount in the kiosk from the sum of its entries, or
  /// `nil` if there is none.
  func wrongExpired(in database: Database) throws -> String? {
    var amounts = expired.mapValues { _ in 0 }
    for row in try database.rows("SELECT fruit, quantity FROM expired") {
      guard let fruit = Fruit.ID(row[0] as String) else { continue }
      amounts[fruit, default: 0] &+= row[1]
    }
    let wrong = amounts.sorted { $0.key < $1.key }.first { $0.value != expired[$0.key] ?? 0 }
    return wrong.map { fruit, amount in
      "\(amount) of \(fruit) are expired, but the entries add up to \(expired[fruit] ?? 0)"
    }
  }
}
