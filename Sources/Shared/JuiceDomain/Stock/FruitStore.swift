/// The stock of a kiosk: fruits and amounts, no juices.
///
/// An amount is never negative. `take` and `apply` check a change completely before they apply it.
package struct FruitStore: Sendable {
  package private(set) var quantities: FruitAmounts
  private let capacities: FruitAmounts

  /// Creates a store.
  ///
  /// - Parameters:
  ///   - quantities: The stock, at least 0 of each fruit in the store.
  ///   - capacities: Amounts up to which a restock may raise the stock; a fruit without a
  ///     capacity has no limit.
  package init(quantities: FruitAmounts, capacities: FruitAmounts = [:]) {
    precondition(quantities.allSatisfy { $0.amount >= 0 }, "stock below zero: \(quantities)")
    self.quantities = quantities
    self.capacities = capacities
  }

  /// Takes `amounts`, multiplied by `times`. If any fruit is short or not in the store, takes
  /// nothing.
  ///
  /// - Parameters:
  ///   - amounts: Positive amounts.
  ///   - times: A factor of at least 1. A product that overflows counts as `Int.max`, which is
  ///     always short.
  /// - Returns: The missing amounts; empty if the fruit was taken.
  mutating func take(_ amounts: FruitAmounts, times: Int = 1) -> FruitAmounts {
    var remaining = quantities
    var missing: FruitAmounts = [:]
    for (fruit, amount) in amounts {
      let (product, overflow) = amount.multipliedReportingOverflow(by: times)
      let needed = overflow ? Int.max : product
      let held = quantities[fruit] ?? 0
      if needed > held {
        missing[fruit] = needed - held
      } else {
        remaining[fruit] = held - needed
      }
    }
    // guard: a recipe is checked whole before fruit moves
    if missing.isEmpty { quantities = remaining }
    return missing
  }

  /// Puts back fruit that was taken and not used, regardless of the capacity. Fruits that are no
  /// longer in the store are ignored.
  mutating func giveBack(_ amounts: FruitAmounts) {
    for (fruit, amount) in amounts {
      if let held = quantities[fruit] { quantities[fruit] = held + amount }
    }
  }

  /// Applies the restock as one step for all fruits, or changes nothing.
  ///
  /// A fruit above its capacity may still be lowered, so that a reduced capacity does not prevent a
  /// correction.
  mutating func apply(_ restock: Restock) -> RestockOutcome {
    let named = [restock.add, restock.set, restock.expect].joined()
    if let unknown = named.first(where: { quantities[$0.fruit] == nil }) {
      return .unknownFruit(unknown.fruit)
    }
    let moved = FruitAmounts(
      restock.expect.filter { quantities[$0.fruit] != $0.amount }
        .map { (fruit: $0.fruit, amount: quantities[$0.fruit] ?? 0) })
    // guard: a restock that expects another stock is refused
    guard moved.isEmpty else { return .conflict(actual: moved) }

    var restocked = quantities
    for (fruit, amount) in restock.set { restocked[fruit] = amount }
    for (fruit, amount) in restock.add {
      let (sum, overflow) = (restocked[fruit] ?? 0).addingReportingOverflow(amount)
      guard !overflow || amount < 0 else {
        // An overflow is rejected even without a capacity.
        let capacity = capacities[fruit] ?? .max
        return .exceedsCapacity(fruit, capacity: capacity, held: quantities[fruit] ?? 0)
      }
      restocked[fruit] = overflow ? .min : sum
    }

    var changes: FruitAmounts = [:]
    for (fruit, quantity) in restocked {
      let held = quantities[fruit] ?? 0
      guard quantity >= 0 else { return .belowZero(fruit, held: held) }
      // guard: a restock does not go above the capacity
      if let capacity = capacities[fruit], quantity > capacity, quantity > held {
        return .exceedsCapacity(fruit, capacity: capacity, held: held)
      }
      if quantity != held { changes[fruit] = quantity - held }
    }
    quantities = restocked
    return .applied(changes: changes)
  }
}
