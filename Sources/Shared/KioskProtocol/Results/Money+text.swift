package import JuiceDomain

extension Money {
  /// Returns the amount as people write it: `₩3,038,800`, `3,038,800원`, `€3.50`, `3.50 CHF`.
  package func text(_ language: Language) -> String {
    let amount = text.groupingThousands
    return switch (currency.code, language) {
    case ("KRW", .korean): "\(amount)원"
    case ("KRW", .english): "₩\(amount)"
    case ("EUR", _): "€\(amount)"
    case ("USD", _): "$\(amount)"
    case ("GBP", _): "£\(amount)"
    case ("JPY", _): "¥\(amount)"
    default: "\(amount) \(currency.code)"
    }
  }

  /// Returns the text of an amount in smallest units, which may be negative: `−€3.50`.
  package static func text(_ units: Int, _ currency: Currency, _ language: Language) -> String {
    let amount = Money(units: Int(clamping: units.magnitude), currency).text(language)
    return units < 0 ? "−\(amount)" : amount
  }
}

extension String {
  /// The decimal number with commas between its thousands.
  fileprivate var groupingThousands: String {
    let parts = split(separator: ".", maxSplits: 1)
    guard let whole = parts.first else { return self }
    var grouped = ""
    for (index, digit) in whole.enumerated() {
      if index > 0, (whole.count - index) % 3 == 0 { grouped += "," }
      grouped.append(digit)
    }
    return parts.count == 2 ? "\(grouped).\(parts[1])" : grouped
  }
}
