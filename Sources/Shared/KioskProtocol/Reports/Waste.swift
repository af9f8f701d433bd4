package import JuiceDomain

/// The fruit that people have taken out, by reason, and its cost by currency.
package struct Waste: Hashable, Sendable {
  package private(set) var fruits: [Removal.Reason: FruitAmounts] = [:]
  private var costs: [Currency: Int] = [:]

  package init() {}

  package var isEmpty: Bool { fruits.isEmpty }

  /// The costs, sorted by currency code.
  package var cost: [Money] {
    costs.map { Money(units: $0.value, $0.key) }.sorted { $0.currency < $1.currency }
  }

  /// The sum of the amounts of all reasons.
  package var amounts: FruitAmounts { fruits.values.reduce(into: [:]) { $0.add($1) } }

  package mutating func add(_ amounts: FruitAmounts, _ reason: Removal.Reason, cost: [Money]) {
    fruits[reason, default: [:]].add(amounts)
    for money in cost {
      costs[money.currency] = (costs[money.currency] ?? 0).plus(money.units)
    }
  }

  package static func += (left: inout Self, right: Self) {
    for (reason, amounts) in right.fruits { left.add(amounts, reason, cost: []) }
    left.costs.merge(right.costs) { $0.plus($1) }
  }
}

extension FruitAmounts {
  /// Adds amounts; each sum is limited to `JSON.maximumAmount`, because reports of kiosks are
  /// untrusted.
  fileprivate mutating func add(_ amounts: FruitAmounts) {
    for (fruit, amount) in amounts {
      let limit = Int(JSON.maximumAmount)
      self[fruit] = Swift.min((self[fruit] ?? 0).plus(amount), limit)
    }
  }
}

extension Waste: MemberValue {
  /// Reads the waste, or returns `nil` if it is invalid. Reasons that are unknown are omitted.
  package init?(member: JSON) {
    guard case .object(let reasons) = member["fruits"] else { return nil }
    for member in reasons {
      guard let amounts = member.value.amounts, amounts.allSatisfy({ $0.amount >= 0 }) else {
        return nil
      }
      if let reason = Removal.Reason(rawValue: member.key) { add(amounts, reason, cost: []) }
    }
    guard case .object(let currencies) = member["cost"] else { return }
    for member in currencies {
      guard let currency = Currency(member.key), case .string(let text) = member.value,
        let money = Money(text, currency)
      else { return nil }
      costs[currency] = money.units
    }
  }

  /// Writes the waste, or no member if there is none.
  package func write(_ key: StaticString, to json: inout JSONWriter) {
    guard !isEmpty else { return }
    json.member(key) { json in
      json.member("fruits") { json in
        for (reason, amounts) in fruits.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
          json.member(named: reason.rawValue) { $0.members(amounts) }
        }
      }
      guard !costs.isEmpty else { return }
      json.member("cost") { json in
        for money in cost { json.member(named: money.currency.code, money.text) }
      }
    }
  }
}
