import GRDB
package import JuiceDomain
package import KioskProtocol

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
      try database.rows(Self.chargesSince, [start.milliseconds]).compactMap(ChargeRow.init)
    }
  }

  /// Returns what the charges, and the orders without a charge, have added to the sums since a time.
  package func money(since start: Timestamp) throws(LedgerError) -> [MoneyRow] {
    try reading { database in
      try database.rows(Self.chargesSince, [start.milliseconds]).compactMap(ChargeRow.init)
        .map(MoneyRow.init)
        + database.rows(Self.freeRows("at >= ?1"), [start.milliseconds]).compactMap(MoneyRow.init)
    }
  }

  /// Returns the sums of the charges and of the orders without a charge that begin in a page of entries, by quarter of
  /// an hour and currency.
  ///
  /// - Parameters:
  ///   - before: The entry before the page.
  ///   - last: The last entry of the page.
  ///   - step: The correction of the entries' times, in milliseconds; see `Activity`.
  package func money(
    after before: Int, through last: Int, step: Int64
  ) throws(LedgerError) -> [MoneyOfQuarter] {
    let rows = try reading { database in
      let hasCharges = try database.rows(Self.chargeIndex).first != nil
      let page: StatementArguments = [before, last]
      return try (hasCharges ? database.rows(Self.chargesOfPage, page + page) : [])
        .compactMap(ChargeRow.init).map(MoneyRow.init)
        + database.rows(Self.freeRows("seq > ?1 AND seq <= ?2"), page).compactMap(MoneyRow.init)
    }
    var quarters: [MoneyOfQuarter] = []
    for row in rows {
      let time = row.at.milliseconds + step
      let at = Timestamp(milliseconds: time - time.flooredQuotient(by: 900_000).remainder)
      if let index = quarters.firstIndex(where: { $0.at == at && $0.currency == row.currency }) {
        quarters[index].sums += row.sums
      } else {
        quarters.append(MoneyOfQuarter(at: at, currency: row.currency, sums: row.sums))
      }
    }
    return quarters.sorted { $0.at < $1.at }
  }

  // Orders with a price and without a charge: of panels that are free, or before payment was configured. Only the
  // events that have an amount are read.
  private static func freeRows(_ condition: String) -> String {
    """
    SELECT at, source, juice, currency, amount FROM log
    WHERE status = 'ready' AND \(condition) AND instr(event, '"amount":') AND amount > 0
    UNION ALL
    SELECT ordered.at, ordered.source, ordered.juice, ending.currency, ending.amount
      FROM (SELECT seq, at, source, juice FROM log WHERE status = 'accepted' AND \(condition)) AS ordered
        JOIN log AS ending ON ending.job = ordered.seq
      WHERE ending.status IN ('made', 'failed') AND ending.amount > 0
    """
  }

  private static let chargesSince = chargeRows(having: "MIN(at) >= ?")
  static let chargesOfPage = chargeRows(
    where:
      "AND charge IN (SELECT charge FROM entry WHERE seq > ? AND seq <= ? AND charge IS NOT NULL)",
    having: "MIN(log.seq) > ? AND MIN(log.seq) <= ?")

  // The undecided amount is the amount that is captured, or that a person's capture would take.
  private static func chargeRows(where condition: String = "", having: String) -> String {
    """
    SELECT step.charge, step.device, step.at, step.currency, step.asked, step.captured,
      step.released, step.refunded, step.cash, step.isOpen, step.receipt, ordered.source, ordered.ticket, ordered.juice,
      ordered.quantity, ending.amount AS sold,
      IIF(open.value ->> 'state' = 'undecided', COALESCE(open.value ->> '$.captured.units',
        open.value ->> '$.wanted.units', open.value ->> '$.held.units',
        open.value ->> 'units'), 0) AS undecided
    FROM (SELECT charge, MIN(device) AS device, MIN(at) AS at,
          MIN(currency) AS currency,
          MAX(IIF(status = 'awaiting_payment', seq, NULL)) AS seq,
          MAX(IIF(status = 'awaiting_payment', amount, 0)) AS asked,
          SUM(IIF(status = 'captured', amount, 0)) AS captured,
          SUM(IIF(status = 'released', amount, 0)) AS released,
          SUM(IIF(status = 'refunded', amount, 0)) AS refunded,
          SUM(IIF(status = 'paid_back', amount, 0)) AS cash,
          MAX(status = 'held') AND NOT MAX(status IN ('captured', 'released', 'written_off')) AS isOpen,
          MIN(event -> 'payment') AS receipt
        FROM log WHERE charge IS NOT NULL \(condition)
        GROUP BY 1 HAVING \(having)) AS step
      LEFT JOIN log AS ordered ON ordered.seq = step.seq
      LEFT JOIN log AS ending ON ending.job = step.seq AND ending.status IN ('made', 'failed')
      LEFT JOIN state AS open ON open.kind = 'charge' AND open.key = CAST(step.charge AS TEXT)
    ORDER BY step.charge
    """
  }
}

extension KioskLedger.ChargeRow {
  fileprivate init?(_ row: Row) {
    guard let currency = (row["currency"] as String?).flatMap({ Currency($0) }) else { return nil }
    let receipt = (row["receipt"] as String?).flatMap { try? JSON.parse(Array($0.utf8)) }
    self.init(
      charge: row["charge"], device: row["device"], at: Timestamp(milliseconds: row["at"]),
      panel: (row["source"] as String?).flatMap { Source($0) }?.name, ticket: row["ticket"],
      juice: row["juice"], quantity: row["quantity"], currency: currency, asked: row["asked"],
      sold: row["sold"] ?? 0, captured: row["captured"], released: row["released"] ?? 0,
      refunded: row["refunded"], cash: row["cash"] ?? 0, isOpen: row["isOpen"],
      undecided: row["undecided"],
      receipt: receipt.map { Receipt($0) } ?? Receipt())
  }
}

extension KioskLedger.MoneyRow {
  fileprivate init(_ row: KioskLedger.ChargeRow) {
    self.init(
      charge: row.charge, at: row.at, panel: row.panel, juice: row.juice, currency: row.currency,
      sums: row.sums)
  }

  fileprivate init?(_ row: Row) {
    guard let currency = (row["currency"] as String?).flatMap({ Currency($0) }) else { return nil }
    self.init(
      charge: nil, at: Timestamp(milliseconds: row["at"]),
      panel: (row["source"] as String?).flatMap { Source($0) }?.name, juice: row["juice"],
      currency: currency,
      sums: MoneySums(sold: row["amount"], taken: 0, givenBack: 0, isOpen: false))
  }
}
