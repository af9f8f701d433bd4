/// The stock of one kiosk. It knows fruits and amounts, and not what a juice is.
///
/// A quantity is never below zero. Every change is checked whole, then applied whole.
package struct FruitStore: Sendable {
  /// What is there now.
  package private(set) var quantities: FruitAmounts
  private let capacities: FruitAmounts

  /// - Parameters:
  ///   - quantities: the stock, zero or more of each fruit that the store is to hold.
  ///   - capacities: the most that a restock may leave of a fruit; a fruit without one has no limit.
  package init(quantities: FruitAmounts, capacities: FruitAmounts = [:]) {
    precondition(quantities.allSatisfy { $0.amount >= 0 }, "stock below zero: \(quantities)")
    self.quantities = quantities
    self.capacities = capacities
  }

  /// Takes all of `amounts`, `times` over; if any fruit is short or not held, takes nothing and
  /// tells how much is missing.
  ///
  /// - Parameters:
  ///   - amounts: positive amounts.
  ///   - times: one or more. A product beyond `Int.max` counts as `Int.max`: it is always short.
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

  /// Puts back what was taken and not used, whatever the capacity: it was there before. What the
  /// store does not hold any more stays outside.
  mutating func giveBack(_ amounts: FruitAmounts) {
    for (fruit, amount) in amounts {
      if let held = quantities[fruit] { quantities[fruit] = held + amount }
    }
  }

  /// Applies the restock as one step for all fruits, or changes nothing.
  ///
  /// A fruit above its capacity may still be lowered: a capacity that was reduced later does not
  /// stand in the way of a correction.
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
        // More than can be counted is refused even where there is no capacity.
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
