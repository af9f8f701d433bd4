package import JuiceDomain

/// The takings for each juice, by currency.
package struct Takings: Hashable, Sendable {
  /// Amounts in the currency's smallest unit.
  private(set) var units: [Currency: [Juice.ID: Int]] = [:]

  package init() {}

  package var isEmpty: Bool { units.isEmpty }

  /// The sum of all juices in each currency, sorted by currency code.
  package var totals: [Money] {
    units.map { currency, juices in
      Money(units: juices.values.reduce(0) { $0.plus($1) }, currency)
    }.sorted { $0.currency < $1.currency }
  }

  /// The takings for one juice in each currency, sorted by currency code.
  package subscript(juice: Juice.ID) -> [Money] {
    units.compactMap { currency, juices in juices[juice].map { Money(units: $0, currency) } }
      .sorted { $0.currency < $1.currency }
  }

  package mutating func add(_ money: Money, for juice: Juice.ID) {
    let before = units[money.currency]?[juice] ?? 0
    units[money.currency, default: [:]][juice] = before.plus(money.units)
  }

  package static func += (left: inout Self, right: Self) {
    left.units.merge(right.units) { $0.merging($1) { $0.plus($1) } }
  }
}

extension Takings: CustomStringConvertible {
  /// The totals, as in `12.50 EUR`; empty if there are none.
  package var description: String { totals.map(\.description).joined(separator: ", ") }
}

extension Int {
  /// Returns the sum, limited to `Int.max`: numbers from kiosks are untrusted.
  package func plus(_ other: Int) -> Int {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? .max : sum
  }
}

extension Takings: MemberValue {
  /// Reads the takings, or returns `nil` if a currency, a juice or an amount is invalid.
  package init?(member: JSON) {
    guard case .object(let currencies) = member else { return nil }
    for currency in currencies {
      guard let code = Currency(currency.key), case .object(let juices) = currency.value else {
        return nil
      }
      for member in juices {
        guard let juice = Juice.ID(member.key), case .string(let text) = member.value,
          let money = Money(text, code)
        else { return nil }
        add(money, for: juice)
      }
    }
  }

  /// Writes the takings, or no member if there are none.
  package func write(_ key: StaticString, to json: inout JSONWriter) {
    guard !isEmpty else { return }
    json.member(key) { json in
      for (currency, juices) in units.sorted(by: { $0.key < $1.key }) {
        json.member(named: currency.code) { json in
          for (juice, units) in juices.sorted(by: { $0.key < $1.key }) {
            json.member(named: juice.text, Money(units: units, currency).text)
          }
        }
      }
    }
  }
}

extension JSONWriter {
  /// Writes the amount, and its currency as the member `currency`.
  mutating func member(_ key: StaticString, _ money: Money) {
    member(key, money.text)
    member("currency", money.currency.code)
  }
}

extension JSON {
  /// Reads an amount and its currency, or returns `nil` if either is missing or invalid.
  func money(_ key: String) -> Money? {
    guard let amount = text(key), let currency = text("currency").flatMap({ Currency($0) }) else {
      return nil
    }
    return Money(amount, currency)
  }
}
