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
      var rest = try rows.map { try LedgerRow($0).entry }[...]
      // The last charge may have further entries, so it begins the next page.
      let cut = rest.count > limit ? rest.last?.charge : nil
      var entries: [LedgerEntry] = []
      while let charge = rest.first?.charge {
        var steps = Array(rest.prefix { $0.charge == charge })
        rest = rest.dropFirst(steps.count)
        if steps.contains(where: { $0.status == .captured }) {
          steps.removeAll { $0.status == .awaitingPayment }
        } else if let order = steps.first(where: { $0.status == .awaitingPayment }) {
          steps += try database.rows(Self.endEntries, [order.seq]).map { try LedgerRow($0).entry }
        }
        guard charge != cut, entries.count + steps.count <= limit else {
          return ChargePage(id: id, entries: entries, next: charge + 1)
        }
        entries += steps
      }
      return ChargePage(id: id, entries: entries, next: nil)
    }
  }

  /// Selects the entries with the index `charge_step`.
  static let chargeEntries = """
    SELECT * FROM entry WHERE charge < ? AND status IN (\(statuses))
    ORDER BY charge DESC, seq DESC LIMIT ?
    """

  /// Selects the entry that ends an order which was not made, with the index `job_end`.
  private static let endEntries =
    "SELECT * FROM entry WHERE job = ? AND status IN ('failed', 'returned')"

  private static let statuses = ChargePage.statuses.map { "'\($0.rawValue)'" }.joined(
    separator: ", ")
}
