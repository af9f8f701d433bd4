/// A juice on the menu, with the recipe of one glass.
package struct Juice: Hashable, Sendable, Identifiable {
  package typealias ID = Identifier<Juice>

  package let id: ID
  package let name: LocalizedName
  package let recipe: Recipe
  /// The price of one glass, or `nil` if the juice has no price.
  package let price: Money?

  package init(id: ID, name: LocalizedName, recipe: Recipe, price: Money? = nil) {
    self.id = id
    self.name = name
    self.recipe = recipe
    self.price = price
  }

  /// Returns the number of glasses that a stock suffices for, if no other juice is made.
  package func servings(from stock: FruitAmounts) -> Int {
    recipe.amounts.map { (stock[$0.fruit] ?? 0) / $0.amount }.min() ?? 0
  }
}

/// The fruit of one glass: never empty, all amounts positive.
package struct Recipe: Hashable, Sendable {
  package let amounts: FruitAmounts

  /// Creates a recipe.
  ///
  /// - Throws: `MenuError.Flaw` if there is no fruit, or an amount is below 1.
  package init(_ amounts: FruitAmounts) throws(MenuError.Flaw) {
    guard !amounts.isEmpty else { throw .emptyRecipe }
    for (fruit, amount) in amounts where amount < 1 {
      throw .amountNotPositive(fruit, amount)
    }
    self.amounts = amounts
  }
}
