import GRDB
package import JuiceDomain
package import KioskProtocol

extension KioskLedger {
  /// A charge with its order and the sums of its steps.
  package struct ChargeRow: Hashable, Sendable {
    package let charge: Int
    package let device: String
    /// The earliest time of an entry of the charge, usually that of the order.
    package let at: Timestamp
    package let panel: String?
    package let ticket: Int?
    package let juice: String?
    package let quantity: Int?
    package let currency: Currency
    /// The amount that the customer had to pay (0 without an order), and the price of the glasses that
    /// were made, in the currency's smallest unit like all amounts of the row.
    package let asked, sold: Int
    package let captured, released, refunded: Int
    /// The amount about which a person must decide, or 0.
    package let undecided: Int
    package let receipt: Receipt

    package static let header =
      "charge,device,at,panel,ticket,juice,quantity,currency,asked,sold,captured,released,refunded,"
      + "undecided,receipt,trace,terminal,card,last4"

    /// The fields of a line of CSV, with amounts such as `3.50`.
    package var fields: [String] {
      let amounts = [asked, sold, captured, released, refunded, undecided]
      let order = [panel, ticket.map(String.init), juice, quantity.map(String.init)]
      let card = [receipt.receipt, receipt.trace, receipt.terminal, receipt.card, receipt.last4]
      return [String(charge), device, at.description] + order.map { $0 ?? "" } + [currency.code]
        + amounts.map { Money(units: $0, currency).text } + card.map { $0 ?? "" }
    }
  }

  /// Returns the charges whose earliest entry is not before a time, in the order of their numbers.
  package func charges(since start: Timestamp) throws(LedgerError) -> [ChargeRow] {
    try reading { database in
      try database.rows(Self.chargeRows, [start.milliseconds]).compactMap(ChargeRow.init)
    }
  }

  // The undecided amount is the amount that the device may still hold or have captured.
  private static let chargeRows = """
    SELECT step.charge, step.device, step.at, step.currency, step.asked, step.captured,
      step.released, step.refunded, step.extra, ordered.source, ordered.ticket, ordered.juice,
      ordered.quantity, ending.amount AS sold,
      IIF(open.state = 'undecided', COALESCE(open.captured, open.held, open.amount), 0) AS undecided
    FROM (SELECT extra ->> 'charge' AS charge, MIN(extra ->> 'device') AS device, MIN(at) AS at,
          MIN(currency) AS currency,
          MAX(IIF(status = 'awaiting_payment', seq, NULL)) AS seq,
          MAX(IIF(status = 'awaiting_payment', amount, 0)) AS asked,
          SUM(IIF(status = 'captured', amount, 0)) AS captured,
          SUM(IIF(status = 'released', amount, 0)) AS released,
          SUM(IIF(status = 'refunded', amount, 0)) AS refunded,
          -- With a receipt if a step has one: a comma is less than a bracket. The order's entry
          -- has none, and may have batches.
          MIN(IIF(status = 'awaiting_payment', NULL, extra)) AS extra
        FROM entry WHERE extra IS NOT NULL AND charge IS NOT NULL
        GROUP BY 1 HAVING MIN(at) >= ?) AS step
      LEFT JOIN entry AS ordered ON ordered.seq = step.seq
      LEFT JOIN entry AS ending ON ending.job = step.seq AND ending.status IN ('made', 'failed')
      LEFT JOIN charge AS open ON open.number = step.charge
    ORDER BY step.charge
    """
}

extension KioskLedger.ChargeRow {
  fileprivate init?(_ row: Row) {
    guard let currency = (row["currency"] as String?).flatMap({ Currency($0) }) else { return nil }
    let extra = (row["extra"] as String?).flatMap { try? JSON.parse(Array($0.utf8)) }
    self.init(
      charge: row["charge"], device: row["device"], at: Timestamp(milliseconds: row["at"]),
      panel: (row["source"] as String?).flatMap { Source($0) }?.name, ticket: row["ticket"],
      juice: row["juice"], quantity: row["quantity"], currency: currency, asked: row["asked"],
      sold: row["sold"] ?? 0, captured: row["captured"], released: row["released"] ?? 0,
      refunded: row["refunded"], undecided: row["undecided"],
      receipt: extra.map { Receipt($0) } ?? Receipt())
  }
}
