extension Menu {
  /// The built-in menu, for a configuration without a menu. It has no prices.
  package static let standard: Menu = {
    func fruit(_ id: Fruit.ID, _ english: String, _ korean: String) -> Fruit {
      Fruit(id: id, name: LocalizedName(english: english, korean: korean, fallback: id.text))
    }
    func juice(
      _ id: Juice.ID, _ english: String, _ korean: String, _ amounts: FruitAmounts
    ) throws -> Juice {
      let name = LocalizedName(english: english, korean: korean, fallback: id.text)
      return Juice(id: id, name: name, recipe: try Recipe(amounts))
    }
    do {
      return try Menu(
        fruits: [
          fruit("strawberry", "Strawberry", "딸기"),
          fruit("banana", "Banana", "바나나"),
          fruit("pineapple", "Pineapple", "파인애플"),
          fruit("kiwi", "Kiwi", "키위"),
          fruit("mango", "Mango", "망고"),
        ],
        juices: [
          juice("strawberry", "Strawberry juice", "딸기쥬스", ["strawberry": 16]),
          juice("banana", "Banana juice", "바나나쥬스", ["banana": 2]),
          juice("kiwi", "Kiwi juice", "키위쥬스", ["kiwi": 3]),
          juice("pineapple", "Pineapple juice", "파인애플쥬스", ["pineapple": 2]),
          juice(
            "strawberry_banana", "Strawberry banana juice", "딸바쥬스",
            ["strawberry": 10, "banana": 1]),
          juice("mango", "Mango juice", "망고쥬스", ["mango": 3]),
          juice("mango_kiwi", "Mango kiwi juice", "망고키위쥬스", ["mango": 2, "kiwi": 1]),
        ])
    } catch {
      preconditionFailure("the built-in menu is wrong: \(error)")
    }
  }()
}
