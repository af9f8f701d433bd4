/// A currency, identified by its ISO 4217 code: `EUR`.
package struct Currency: Hashable, Sendable {
  /// The three letters as one number, which is fast to copy with a ledger entry.
  private let letters: UInt32
  /// The number of decimals of an amount: 0, 2 or 3.
  package let decimals: UInt8

  /// Creates a currency, or returns `nil` if the code is not three capital letters. A code that ISO
  /// 4217 does not define gets two decimals.
  package init?(_ code: String) {
    let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
    guard code.utf8.count == 3, code.utf8.allSatisfy(capitals.contains) else { return nil }
    letters = code.utf8.reduce(0) { $0 << 8 | UInt32($1) }
    decimals =
      switch code {
      case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND",
        "VUV",
        "XAF", "XOF", "XPF":
        0
      case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND": 3
      default: 2
      }
  }

  package static let euro = Currency(letters: 0x45_5552, decimals: 2)

  private init(letters: UInt32, decimals: UInt8) {
    (self.letters, self.decimals) = (letters, decimals)
  }

  package var code: String {
    String(decoding: [16, 8, 0].map { UInt8(truncatingIfNeeded: letters >> $0) }, as: UTF8.self)
  }
}

extension Currency: LosslessStringConvertible {
  package var description: String { code }
}

extension Currency: Comparable {
  package static func < (left: Self, right: Self) -> Bool { left.letters < right.letters }
}

/// A non-negative amount of money: an exact number of the currency's smallest units.
package struct Money: Hashable, Sendable {
  /// The number of smallest units, such as cents.
  package let units: Int
  package let currency: Currency

  /// Creates an amount from a number of smallest units; a negative number counts as zero.
  package init(units: Int, _ currency: Currency) {
    self.units = max(0, units)
    self.currency = currency
  }

  /// Parses `3.50`, `3.5` or `3`: digits, and after a point at most the currency's number of
  /// decimals. Returns `nil` for any other text, and if the amount overflows.
  package init?(_ text: String, _ currency: Currency) {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let fraction = parts.count == 2 ? parts[1] : text.utf8.prefix(0)
    guard let whole = parts.first, !whole.isEmpty, parts.count <= 2,
      fraction.isEmpty == (parts.count == 1), fraction.count <= Int(currency.decimals)
    else { return nil }
    let zeros = repeatElement(UInt8(ascii: "0"), count: Int(currency.decimals) - fraction.count)
    var units = 0
    for digit in Array(whole) + fraction + zeros {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      let (tens, isTooLarge) = units.multipliedReportingOverflow(by: 10)
      let (sum, overflows) = tens.addingReportingOverflow(Int(digit - UInt8(ascii: "0")))
      guard !isTooLarge, !overflows else { return nil }
      units = sum
    }
    self.init(units: units, currency)
  }

  /// The amount with all decimals of the currency: `3.50`.
  package var text: String {
    let decimals = Int(currency.decimals)
    var digits = String(units)
    guard decimals > 0 else { return digits }
    digits = String(repeating: "0", count: max(0, decimals + 1 - digits.utf8.count)) + digits
    return "\(digits.dropLast(decimals)).\(digits.suffix(decimals))"
  }

  /// Returns the text of an amount in smallest units, which may be negative: `-3.50`.
  package static func text(units: Int, _ currency: Currency) -> String {
    let amount = Money(units: Int(clamping: units.magnitude), currency).text
    return units < 0 ? "-\(amount)" : amount
  }

  /// Returns `count` times the amount, limited to the largest possible amount.
  package func times(_ count: Int) -> Money {
    let (product, overflows) = units.multipliedReportingOverflow(by: count)
    return Money(units: overflows ? .max : product, currency)
  }

  /// Returns the price of some glasses of an order with this price, or `nil` for 0 glasses.
  package func part(_ glasses: Int, of quantity: Int) -> Money? {
    guard quantity > 0, glasses > 0 else { return nil }
    return Money(units: units / quantity, currency).times(min(glasses, quantity))
  }
}

extension Money: CustomStringConvertible {
  /// The amount and the currency: `3.50 EUR`.
  package var description: String { "\(text) \(currency.code)" }
}
