/// The fruits that a kiosk stocks and the juices that it makes from them, in display order.
///
/// ```swift
/// let kiwi = Fruit(id: "kiwi", name: LocalizedName(english: "Kiwi", fallback: "kiwi"))
/// let juice = Juice(
///   id: "kiwi", name: LocalizedName(english: "Kiwi juice", fallback: "kiwi"),
///   recipe: try Recipe(["kiwi": 3]))
/// let menu = try Menu(fruits: [kiwi], juices: [juice])
/// menu.juice("kiwi")?.recipe.amounts  // kiwi 3
/// ```
///
/// A menu is consistent: ids are unique, there is at least one juice, and each recipe uses only
/// fruits of the menu. `Menu.standard` is the built-in menu.
package struct Menu: Hashable, Sendable {
  package let fruits: [Fruit]
  package let juices: [Juice]
  /// Whether any juice has a price.
  package let hasPrices: Bool
  /// The smallest and the largest amount of each fruit in a recipe, without unused fruits.
  package let recipeAmounts: [Fruit.ID: ClosedRange<Int>]
  private let juicesByID: [Juice.ID: Juice]
  private let fruitIDs: Set<Fruit.ID>

  /// Creates a menu.
  ///
  /// - Throws: `MenuError` with the first flaw.
  package init(fruits: [Fruit], juices: [Juice]) throws(MenuError) {
    var fruitIDs: Set<Fruit.ID> = []
    for fruit in fruits where !fruitIDs.insert(fruit.id).inserted {
      throw MenuError(entry: fruit.id.text, flaw: .duplicateFruit)
    }
    var juicesByID: [Juice.ID: Juice] = [:]
    var recipeAmounts: [Fruit.ID: ClosedRange<Int>] = [:]
    for juice in juices {
      for (fruit, amount) in juice.recipe.amounts {
        let others = recipeAmounts[fruit] ?? amount...amount
        recipeAmounts[fruit] = min(amount, others.lowerBound)...max(amount, others.upperBound)
      }
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
    self.recipeAmounts = recipeAmounts
    self.juicesByID = juicesByID
    self.fruitIDs = fruitIDs
  }

  package func juice(_ id: Juice.ID) -> Juice? { juicesByID[id] }

  package func contains(_ fruit: Fruit.ID) -> Bool { fruitIDs.contains(fruit) }
}

extension Array where Element: Identifiable {
  /// Replaces the element with the same id, or appends the element.
  package mutating func replaceOrAppend(_ element: Element) {
    if let index = firstIndex(where: { $0.id == element.id }) {
      self[index] = element
    } else {
      append(element)
    }
  }
}

/// The reason why a menu is invalid.
package struct MenuError: Error, Hashable {
  /// The id of the invalid fruit or juice; `menu` if there is no juice.
  package let entry: String
  package let flaw: Flaw

  package enum Flaw: Error, Hashable {
    /// The fruit id is used twice.
    case duplicateFruit
    /// The juice id is used twice.
    case duplicateJuice
    /// The menu contains no juice.
    case noJuice
    /// The recipe contains no fruit.
    case emptyRecipe
    /// The recipe contains an amount that is not in `Recipe.validAmounts`.
    case badAmount(Fruit.ID, Int)
    /// The recipe contains a fruit that is not on the menu.
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
    case .badAmount(let fruit, let amount):
      "the recipe takes \(amount) of \(fruit); use a whole number from 1 to 1000000000"
    case .unknownFruit(let fruit):
      "the recipe takes \(fruit), which is not among the fruits; add it there or correct its name"
    }
  }
}
