/// Makes juices from recipes; owns the fruit store, which no other code can change.
///
/// ```swift
/// let store = FruitStore(quantities: ["kiwi": 10])
/// var maker = JuiceMaker(menu: .standard, store: store)
/// let kiwi = maker.menu.juice("kiwi")!
/// maker.make(kiwi)  // .ready(used: kiwi 3)
/// maker.make(kiwi, quantity: 3)  // .outOfStock(missing: kiwi 2); stock unchanged: kiwi 7
/// maker.restock(Restock(add: ["kiwi": 2]))  // .applied(changes: kiwi 2)
/// ```
package struct JuiceMaker: Sendable {
  package let menu: Menu
  private var store: FruitStore

  package init(menu: Menu, store: FruitStore) {
    self.menu = menu
    self.store = store
  }

  package var stock: FruitAmounts { store.quantities }

  /// Takes the fruit of `quantity` glasses, or no fruit if any is short.
  ///
  /// - Parameters:
  ///   - juice: A juice of the menu.
  ///   - quantity: The number of glasses, at least 1.
  package mutating func make(_ juice: Juice, quantity: Int = 1) -> OrderOutcome {
    precondition(quantity >= 1, "an order for \(quantity) glasses")
    let missing = store.take(juice.recipe.amounts, times: quantity)
    guard missing.isEmpty else { return .outOfStock(missing: missing) }
    // No fruit is short, so this product does not overflow.
    return .ready(used: juice.recipe.amounts.times(quantity))
  }

  /// Takes the amounts, or no fruit if any is short.
  ///
  /// - Returns: The missing amounts; empty if the fruit was taken.
  package mutating func take(_ amounts: FruitAmounts) -> FruitAmounts { store.take(amounts) }

  /// Returns unused fruit to the store, also above the capacity.
  package mutating func giveBack(_ amounts: FruitAmounts) { store.giveBack(amounts) }

  package mutating func restock(_ restock: Restock) -> RestockOutcome {
    store.apply(restock)
  }
}

/// The outcome of an order. Being out of stock is a regular outcome, not an error.
package enum OrderOutcome: Hashable, Sendable {
  /// These amounts were taken from the store.
  case ready(used: FruitAmounts)
  /// No fruit was taken, because these amounts are missing.
  case outOfStock(missing: FruitAmounts)
}
