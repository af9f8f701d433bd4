/// What a kiosk offers: the fruits it keeps and the juices it makes of them, in the order in which
/// people see them.
///
/// A menu is consistent: ids are unique and every recipe uses fruits of the menu.
package struct Menu: Hashable, Sendable {
  package let fruits: [Fruit]
  package let juices: [Juice]
  /// Whether any juice has a price.
  package let hasPrices: Bool
  private let juicesByID: [Juice.ID: Juice]
  private let fruitIDs: Set<Fruit.ID>

  /// - Throws: `MenuError` naming the first fruit or juice that is wrong, and how.
  package init(fruits: [Fruit], juices: [Juice]) throws(MenuError) {
    var fruitIDs: Set<Fruit.ID> = []
    for fruit in fruits where !fruitIDs.insert(fruit.id).inserted {
      throw MenuError(entry: fruit.id.text, flaw: .duplicateFruit)
    }
    var juicesByID: [Juice.ID: Juice] = [:]
    for juice in juices {
      if let unknown = juice.recipe.amounts.first(where: { !fruitIDs.contains($0.fruit) }) {
        throw MenuError(entry: juice.id.text, flaw: .unknownFruit(unknown.fruit))
      }
      guard juicesByID.updateValue(juice, forKey: juice.id) == nil else {
        throw MenuError(entry: juice.id.text, flaw: .duplicateJuice)
      }
    }
    guard !juices.isEmpty else { throw MenuError(entry: "menu", flaw: .noJuice) }
    self.fruits = fruits
    self.juices = juices
    hasPrices = juices.contains { $0.price != nil }
    self.juicesByID = juicesByID
    self.fruitIDs = fruitIDs
  }

  package func juice(_ id: Juice.ID) -> Juice? { juicesByID[id] }

  package func contains(_ fruit: Fruit.ID) -> Bool { fruitIDs.contains(fruit) }
}

/// Why a menu cannot be used.
package struct MenuError: Error, Hashable {
  /// The id of the fruit or the juice that is wrong.
  package let entry: String
  package let flaw: Flaw

  package init(entry: String, flaw: Flaw) {
    self.entry = entry
    self.flaw = flaw
  }

  package enum Flaw: Error, Hashable {
    /// The same fruit id twice.
    case duplicateFruit
    /// The same juice id twice.
    case duplicateJuice
    /// A menu without a juice sells nothing.
    case noJuice
    /// A juice made of nothing.
    case emptyRecipe
    /// Zero or fewer of a fruit.
    case amountNotPositive(Fruit.ID, Int)
    /// A fruit that the menu does not have.
    case unknownFruit(Fruit.ID)
  }
}

extension MenuError: CustomStringConvertible {
  package var description: String { "\(entry): \(flaw)" }
}

extension MenuError.Flaw: CustomStringConvertible {
  package var description: String {
    switch self {
    case .duplicateFruit: "this fruit is listed twice; keep one of them"
    case .duplicateJuice: "this juice is listed twice; keep one of them"
    case .noJuice:
      "there is no juice; list at least one, or leave the menu out for the built-in one"
    case .emptyRecipe: "the recipe is empty; name at least one fruit"
    case .amountNotPositive(let fruit, let amount):
      "the recipe takes \(amount) of \(fruit); use a whole number from 1"
    case .unknownFruit(let fruit):
      "the recipe takes \(fruit), which is not among the fruits; add it there or correct its name"
    }
  }
}
