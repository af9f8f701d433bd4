/// A juice on the menu, and what one glass of it takes.
package struct Juice: Hashable, Sendable, Identifiable {
  package typealias ID = Identifier<Juice>

  package let id: ID
  package let name: LocalizedName
  package let recipe: Recipe
  /// Of one glass; `nil` if there is none to be told.
  package let price: Money?

  package init(id: ID, name: LocalizedName, recipe: Recipe, price: Money? = nil) {
    self.id = id
    self.name = name
    self.recipe = recipe
    self.price = price
  }
}

/// The fruit that one glass takes: never empty, every amount positive.
package struct Recipe: Hashable, Sendable {
  package let amounts: FruitAmounts

  /// - Throws: `MenuError.Flaw` if there is no fruit in it, or an amount below one.
  package init(_ amounts: FruitAmounts) throws(MenuError.Flaw) {
    guard !amounts.isEmpty else { throw .emptyRecipe }
    for (fruit, amount) in amounts where amount < 1 {
      throw .amountNotPositive(fruit, amount)
    }
    self.amounts = amounts
  }
}
