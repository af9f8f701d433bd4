import Foundation
import GRDB
import JuiceDomain
import KioskCore
import KioskProtocol

extension LedgerRow {
  /// Creates a ledger row from a row of the table `entry`.
  ///
  /// - Throws: `LedgerError.unreadable` if the event or the stock cannot be read.
  init(_ row: Row) throws(LedgerError) {
    let seq: Int = row["seq"]
    guard let entry = try? LedgerEntry(event: row.bytes("event"), day: row["day"]),
      entry.seq == seq, let stock = row.amounts("stock")
    else { throw .unreadable(seq) }
    self.init(entry, stock: stock, detail: row["detail"], message: row["message"])
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

extension Row {
  /// The bytes of a text that is not NULL.
  func bytes(_ column: String) -> [UInt8] { Array((self[column] as String).utf8) }

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
