import GRDB
import KioskCore
package import KioskProtocol

extension KioskLedger {
  /// Returns the steps of a page of charges, the newest charge first.
  ///
  /// - Parameters:
  ///   - before: The page has only charges with lower numbers; `nil` for the newest.
  ///   - id: The id of the request.
  package func charges(before: Int?, id: Request.ID) throws(LedgerError) -> ChargePage {
    try reading { database in
      guard try !database.rows(Self.chargeIndex).isEmpty else {
        return ChargePage(id: id, entries: [], next: nil)
      }
      let limit = ChargePage.maximumEntries
      let rows = try database.rows(Self.chargeEntries, [before ?? .max, limit + 1])
      var entries = try rows.map { try LedgerRow($0).entry }
      guard entries.count > limit, let cut = entries.last?.charge else {
        return ChargePage(id: id, entries: entries, next: nil)
      }
      // The last charge may have further entries, so it begins the next page.
      entries.removeAll { $0.charge == cut }
      return ChargePage(id: id, entries: entries, next: cut + 1)
    }
  }

  /// Selects the entries with the index `charge_step`.
  static let chargeEntries = """
    SELECT * FROM entry WHERE charge < ? AND status IN (\(statuses))
    ORDER BY charge DESC, seq DESC LIMIT ?
    """

  private static let statuses = ChargePage.statuses.map { "'\($0.rawValue)'" }.joined(
    separator: ", ")
}
