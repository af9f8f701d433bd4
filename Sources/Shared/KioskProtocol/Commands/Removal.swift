package import JuiceDomain

/// Fruit that a person takes out of the machine, and does not sell there.
package struct Removal: Hashable, Sendable {
  /// Amounts of the stock, at least 1 each.
  package let stock: FruitAmounts
  /// Amounts of expired fruit, at least 1 each: all that there is of the fruit.
  package let expired: FruitAmounts
  package let reason: Reason

  package enum Reason: String, CaseIterable, Hashable, Sendable {
    case spoiled, damaged
    /// A count has found less than the kiosk has recorded.
    case counted
    case givenAway = "given_away"
  }

  package init(stock: FruitAmounts = [:], expired: FruitAmounts = [:], reason: Reason) {
    self.stock = stock
    self.expired = expired
    self.reason = reason
  }

  /// All amounts.
  package var amounts: FruitAmounts {
    var sum = stock
    sum += expired
    return sum
  }
}
