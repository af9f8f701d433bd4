import JuiceDomain
import KioskProtocol

extension Money {
  /// Returns the text of an amount in smallest units, which may be negative: `−€3.50`.
  static func text(_ units: Int, _ currency: Currency, _ language: Language) -> String {
    let amount = Money(units: Int(clamping: units.magnitude), currency).text(language)
    return units < 0 ? "−\(amount)" : amount
  }
}

extension Takings {
  /// Returns the amounts of all currencies.
  func text(_ language: Language) -> String {
    totals.map { $0.text(language) }.joined(separator: " + ")
  }
}
