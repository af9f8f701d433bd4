import GRDB
package import JuiceDomain
package import KioskProtocol

/// The sums of orders and charges, in the smallest unit of a currency. They add up:
/// `sold == taken - givenBack + writtenOff + open`.
package struct MoneySums: Hashable, Sendable {
  /// The price of the glasses that were made.
  package var sold = 0
  /// The amounts that devices have captured.
  package var taken = 0
  /// The amounts that devices have refunded, and that people have given back in cash.
  package var givenBack = 0
  /// The unpaid part of the amount sold: free orders, juices that were not paid or whose price was
  /// given back. Below 0 if an amount was taken without a juice, and kept.
  package var writtenOff = 0
  /// The same of charges whose amount is held and neither captured, released nor written off.
  package var open = 0

  package init() {}

  init(sold: Int, taken: Int, givenBack: Int, isOpen: Bool) {
    (self.sold, self.taken, self.givenBack) = (sold, taken, givenBack)
    let rest = sold &- taken &+ givenBack
    (writtenOff, open) = isOpen ? (0, rest) : (rest, 0)
  }

  package static func += (left: inout Self, right: Self) {
    left.sold &+= right.sold
    left.taken &+= right.taken
    left.givenBack &+= right.givenBack
    left.writtenOff &+= right.writtenOff
    left.open &+= right.open
  }
}

extension KioskLedger {
  /// The amounts that an order or a charge has added to the sums.
  package struct MoneyRow: Hashable, Sendable {
    /// The number of the charge, or `nil` for an order without one.
    package let charge: Int?
    package let at: Timestamp
    package let panel: String?
    package let juice: String?
    package let currency: Currency
    package let sums: MoneySums
  }

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
    /// The amount that a person has given back in cash.
    package let cash: Int
    /// Whether the amount is held, and neither captured, released nor written off.
    package let isOpen: Bool
    /// The amount about which a person must decide, or 0.
    package let undecided: Int
    package let receipt: Receipt

    package static let header =
      "charge,device,at,panel,ticket,juice,quantity,currency,asked,sold,captured,released,refunded,"
      + "cash,written_off,undecided,receipt,trace,terminal,card,last4"

    /// The fields of a line of CSV, with amounts such as `3.50`.
    package var fields: [String] {
      let amounts = [
        asked, sold, captured, released, refunded, cash, sums.writtenOff, undecided,
      ]
      let order = [panel, ticket.map(String.init), juice, quantity.map(String.init)]
      let card = [receipt.receipt, receipt.trace, receipt.terminal, receipt.card, receipt.last4]
      return [String(charge), device, at.description] + order.map { $0 ?? "" } + [currency.code]
        + amounts.map { Money.text(units: $0, currency) } + card.map { $0 ?? "" }
    }

    var sums: MoneySums {
      MoneySums(sold: sold, taken: captured, givenBack: refunded &+ cash, isOpen: isOpen)
    }
  }

  /// Returns the charges whose earliest entry is not before a time, in the order of their numbers.
  package func charges(since start: Timestamp) throws(LedgerError) -> [ChargeRow] {
    try reading { database in
      try database.rows(Self.chargeRows, [start.milliseconds]).compactMap(ChargeRow.init)
    }
  }

  /// Returns what the charges, and the orders without a charge, have added to the sums since a time.
  package func money(since start: Timestamp) throws(LedgerError) -> [MoneyRow] {
    let charged = try charges(since: start).map { row in
      MoneyRow(
        charge: row.charge, at: row.at, panel: row.panel, juice: row.juice, currency: row.currency,
        sums: row.sums)
    }
    return try charged
      + reading { database in
        try database.rows(Self.freeRows, [start.milliseconds]).compactMap(MoneyRow.init)
      }
  }

  // Orders with a price and without a charge: of panels that are free, or before payment was configured.
  private static let freeRows = """
    SELECT at, source, juice, currency, amount FROM entry
      WHERE status = 'ready' AND amount > 0 AND at >= ?1
    UNION ALL
    SELECT ordered.at, ordered.source, ordered.juice, ending.currency, ending.amount
      FROM entry AS ending JOIN entry AS ordered ON ordered.seq = ending.job
      WHERE ending.status IN ('made', 'failed') AND ending.amount > 0
        AND ordered.status = 'accepted' AND ordered.at >= ?1
    """

  // The undecided amount is the amount that the device may still hold or have captured.
  private static let chargeRows = """
    SELECT step.charge, step.device, step.at, step.currency, step.asked, step.captured,
      step.released, step.refunded, step.cash, step.isOpen, step.extra, ordered.source, ordered.ticket, ordered.juice,
      ordered.quantity, ending.amount AS sold,
      IIF(open.state = 'undecided', COALESCE(open.captured, open.held, open.amount), 0) AS undecided
    FROM (SELECT extra ->> 'charge' AS charge, MIN(extra ->> 'device') AS device, MIN(at) AS at,
          MIN(currency) AS currency,
          MAX(IIF(status = 'awaiting_payment', seq, NULL)) AS seq,
          MAX(IIF(status = 'awaiting_payment', amount, 0)) AS asked,
          SUM(IIF(status = 'captured', amount, 0)) AS captured,
          SUM(IIF(status = 'released', amount, 0)) AS released,
          SUM(IIF(status = 'refunded', amount, 0)) AS refunded,
          SUM(IIF(status = 'paid_back', amount, 0)) AS cash,
          MAX(status = 'held') AND NOT MAX(status IN ('captured', 'released', 'written_off')) AS isOpen,
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
      refunded: row["refunded"], cash: row["cash"] ?? 0, isOpen: row["isOpen"],
      undecided: row["undecided"],
      receipt: extra.map { Receipt($0) } ?? Receipt())
  }
}

extension KioskLedger.MoneyRow {
  fileprivate init?(_ row: Row) {
    guard let currency = (row["currency"] as String?).flatMap({ Currency($0) }) else { return nil }
    self.init(
      charge: nil, at: Timestamp(milliseconds: row["at"]),
      panel: (row["source"] as String?).flatMap { Source($0) }?.name, juice: row["juice"],
      currency: currency,
      sums: MoneySums(sold: row["amount"], taken: 0, givenBack: 0, isOpen: false))
  }
}
