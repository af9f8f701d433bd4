/// A juice on the menu, with the recipe of one glass.
package struct Juice: Hashable, Sendable, Identifiable {
  package typealias ID = Identifier<Juice>

  package let id: ID
  package let name: LocalizedName
  package let recipe: Recipe
  /// The price of one glass, or `nil` if the juice has no price.
  package var price: Money?
  /// The allergens, and a further note, for customers; or `nil` if there are none.
  package var allergens, note: LocalizedName?
  /// The name of the file with the owner's own picture, or `nil` for a picture of the recipe.
  package var picture: Picture?

  package init(
    id: ID, name: LocalizedName, recipe: Recipe, price: Money? = nil,
    allergens: LocalizedName? = nil, note: LocalizedName? = nil, picture: Picture? = nil
  ) {
    self.id = id
    self.name = name
    self.recipe = recipe
    self.price = price
    self.allergens = allergens
    self.note = note
    self.picture = picture
  }

  /// Maximum number of Unicode scalars of the allergens, and of the note, in one language.
  package static let maximumText = 200

  /// The name of a file with a picture, such as `mango.svg`.
  package struct Picture: Hashable, Sendable, LosslessStringConvertible {
    package let description: String

    /// The file extensions of the formats that all supported browsers show.
    package static let formats = ["svg", "png", "jpg"]

    /// Reads a name: an identifier, and after a `.` one of `formats`.
    package init?(_ text: String) {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 2, Juice.ID(parts[0]) != nil,
        Self.formats.contains(where: { $0 == parts[1] })
      else { return nil }
      description = text
    }
  }

  /// Returns the number of glasses that a stock suffices for, if no other juice is made.
  package func servings(from stock: FruitAmounts) -> Int {
    recipe.amounts.map { (stock[$0.fruit] ?? 0) / $0.amount }.min() ?? 0
  }
}

/// The fruit of one glass: never empty, all amounts positive.
package struct Recipe: Hashable, Sendable {
  package let amounts: FruitAmounts

  /// The amounts of a fruit that a menu may contain.
  package static let validAmounts = 1...1_000_000_000

  /// Creates a recipe.
  ///
  /// - Throws: `MenuError.Flaw` if there is no fruit, or an amount is not in `validAmounts`.
  package init(_ amounts: FruitAmounts) throws(MenuError.Flaw) {
    guard !amounts.isEmpty else { throw .emptyRecipe }
    for (fruit, amount) in amounts where !Self.validAmounts.contains(amount) {
      throw .badAmount(fruit, amount)
    }
    self.amounts = amounts
  }
}
