/// Makes juices: it owns the fruit store, knows the recipes, and lets nobody else at the fruit.
package struct JuiceMaker: Sendable {
  package let menu: Menu
  private var store: FruitStore

  package init(menu: Menu, store: FruitStore) {
    self.menu = menu
    self.store = store
  }

  package var stock: FruitAmounts { store.quantities }

  /// Makes `quantity` glasses, or none: a short fruit moves no fruit.
  ///
  /// - Parameter quantity: one or more.
  /// - Throws: `UnknownJuice` if the menu does not have it.
  package mutating func make(
    _ id: Juice.ID, quantity: Int = 1
  ) throws(UnknownJuice) -> OrderOutcome {
    precondition(quantity >= 1, "an order for \(quantity) glasses")
    guard let juice = menu.juice(id) else { throw UnknownJuice(id: id) }
    let missing = store.take(juice.recipe.amounts, times: quantity)
    guard missing.isEmpty else { return .outOfStock(missing: missing) }
    // Nothing was missing, so no product has overflowed.
    return .ready(used: juice.recipe.amounts.times(quantity))
  }

  /// Takes fruit for a juice that is made once more, or none.
  ///
  /// - Returns: what is missing.
  package mutating func take(_ amounts: FruitAmounts) -> FruitAmounts { store.take(amounts) }

  /// Puts back what a juice that was not made has not used.
  package mutating func giveBack(_ amounts: FruitAmounts) { store.giveBack(amounts) }

  package mutating func restock(_ restock: Restock) -> RestockOutcome {
    store.apply(restock)
  }

  /// How many glasses of a juice can be made now, if nothing else is.
  ///
  /// - Throws: `UnknownJuice` if the menu does not have it.
  package func servings(of id: Juice.ID) throws(UnknownJuice) -> Int {
    guard let juice = menu.juice(id) else { throw UnknownJuice(id: id) }
    return servings(of: juice)
  }

  /// How many glasses can be made now of each juice, in the order of the menu.
  package var servings: [(juice: Juice.ID, count: Int)] {
    menu.juices.map { ($0.id, servings(of: $0)) }
  }

  private func servings(of juice: Juice) -> Int {
    juice.recipe.amounts.map { (stock[$0.fruit] ?? 0) / $0.amount }.min() ?? 0
  }
}

/// What became of an order. Being out of stock is an ordinary outcome, not an error.
package enum OrderOutcome: Hashable, Sendable {
  /// Made, out of so much fruit.
  case ready(used: FruitAmounts)
  /// Not made; so much more of each of these fruits is needed.
  case outOfStock(missing: FruitAmounts)
}

/// The menu has no juice with this id.
package struct UnknownJuice: Error, Hashable {
  package let id: Juice.ID
}
