import CommandLineSupport
import JuiceDomain
import KioskProtocol
import Ledger

/// The sums of charges and of orders without one, by group and currency.
struct ChargeSums {
  static let header = "currency,charges,sold,taken,given_back,written_off,open"

  private struct Key: Hashable {
    let name: String
    let currency: Currency
  }

  private var keys: [Key] = []
  private var sums: [Key: (charges: Int, money: MoneySums)] = [:]

  /// Adds up the amounts.
  ///
  /// - Parameter name: Returns the name of a row's group.
  init(_ rows: [KioskLedger.MoneyRow], by name: (KioskLedger.MoneyRow) -> String) {
    for row in rows {
      let key = Key(name: name(row), currency: row.currency)
      if sums[key] == nil { keys.append(key) }
      var sum = sums[key] ?? (0, MoneySums())
      if row.charge != nil { sum.charges += 1 }
      sum.money += row.sums
      sums[key] = sum
    }
  }

  /// Returns a line of CSV for each group and currency.
  func lines(_ csv: CSVWriter) -> [String] {
    keys.map { key in
      let (charges, money) = sums[key] ?? (0, MoneySums())
      let amounts = [money.sold, money.taken, money.givenBack, money.writtenOff, money.open]
      return csv.line(
        [.text(key.name), .text(key.currency.code), .number(charges)]
          + amounts.map { .number(Money.text(units: $0, key.currency)) })
    }
  }
}
