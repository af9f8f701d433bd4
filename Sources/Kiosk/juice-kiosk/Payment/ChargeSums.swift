import CommandLineSupport
import JuiceDomain
import KioskProtocol
import Ledger

/// The sums of charges, by group and currency.
struct ChargeSums {
  static let header = "currency,charges,sold,captured,released,refunded,undecided"

  private struct Key: Hashable {
    let name: String
    let currency: Currency
  }

  private var keys: [Key] = []
  private var sums: [Key: [Int]] = [:]

  /// Adds up the amounts of charges.
  ///
  /// - Parameter name: Returns the name of a charge's group.
  init(_ rows: [KioskLedger.ChargeRow], by name: (KioskLedger.ChargeRow) -> String) {
    for row in rows {
      let key = Key(name: name(row), currency: row.currency)
      if sums[key] == nil { keys.append(key) }
      let amounts = [1, row.sold, row.captured, row.released, row.refunded, row.undecided]
      sums[key] = zip(sums[key] ?? amounts.map { _ in 0 }, amounts).map(&+)
    }
  }

  /// Returns a line of CSV for each group and currency.
  func lines(_ csv: CSVWriter) -> [String] {
    keys.map { key in
      let sums = sums[key] ?? []
      let amounts = sums.dropFirst().map { Money(units: $0, key.currency).text }
      return csv.line(
        [.text(key.name), .text(key.currency.code), .number(sums.first ?? 0)]
          + amounts.map { .number($0) })
    }
  }
}
