package import JuiceDomain

/// Fruit that a person takes out of the kiosk without selling it.
package struct Removal: Hashable, Sendable {
  /// Amounts of the stock, at least 1 each.
  package let stock: FruitAmounts
  /// Amounts of expired fruit, at least 1 each. The amount of a fruit must be all of its expired
  /// fruit.
  package let expired: FruitAmounts
  package let reason: Reason

  package enum Reason: String, CaseIterable, Hashable, Sendable {
    case spoiled, damaged
    /// A person has counted less fruit than the kiosk has recorded.
    case counted
    case givenAway = "given_away"
  }

  package init(stock: FruitAmounts = [:], expired: FruitAmounts = [:], reason: Reason) {
    self.stock = stock
    self.expired = expired
    self.reason = reason
  }

  /// The reason, and the expired fruit, which is no change of the stock.
  package var summary: String {
    expired.isEmpty ? reason.rawValue : "\(reason.rawValue), expired: \(expired)"
  }

  /// The sum of `stock` and `expired`.
  package var amounts: FruitAmounts {
    var sum = stock
    sum += expired
    return sum
  }
}
