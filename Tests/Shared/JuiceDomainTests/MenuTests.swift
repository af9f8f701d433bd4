import Testing

@testable import JuiceDomain

@Suite struct MenuTests {
  private static func fruit(_ id: Fruit.ID) -> Fruit {
    Fruit(id: id, name: LocalizedName(fallback: id.text))
  }

  private static func juice(_ id: Juice.ID, _ amounts: FruitAmounts) throws -> Juice {
    Juice(id: id, name: LocalizedName(fallback: id.text), recipe: try Recipe(amounts))
  }

  @Test(
    arguments: [
      ("strawberry", "Strawberry juice", "딸기쥬스", ["strawberry": 16]),
      ("banana", "Banana juice", "바나나쥬스", ["banana": 2]),
      ("kiwi", "Kiwi juice", "키위쥬스", ["kiwi": 3]),
      ("pineapple", "Pineapple juice", "파인애플쥬스", ["pineapple": 2]),
      (
        "strawberry_banana", "Strawberry banana juice", "딸바쥬스",
        ["strawberry": 10, "banana": 1]
      ),
      ("mango", "Mango juice", "망고쥬스", ["mango": 3]),
      ("mango_kiwi", "Mango kiwi juice", "망고키위쥬스", ["mango": 2, "kiwi": 1]),
    ] as [(Juice.ID, String, String, FruitAmounts)])
  func theBuiltInMenuIsTheOriginalOne(
    id: Juice.ID, english: String, korean: String, recipe: FruitAmounts
  ) throws {
    let juice = try #require(Menu.standard.juice(id))
    #expect(juice.name[.english] == english)
    #expect(juice.name[.korean] == korean)
    #expect(juice.recipe.amounts == recipe)
  }

  @Test func theBuiltInMenuHasNothingElse() {
    #expect(Menu.standard.juices.count == 7)
    #expect(
      Menu.standard.fruits.map(\.id) == ["strawberry", "banana", "pineapple", "kiwi", "mango"])
    #expect(Menu.standard.juice("orange") == nil)
    #expect(Menu.standard.contains("mango"))
    #expect(!Menu.standard.contains("orange"))
  }

  @Test func anOrangeJuiceNeedsNoRecompile() throws {
    let menu = try Menu(
      fruits: [Self.fruit("orange")], juices: [Self.juice("orange", ["orange": 4])])
    var juiceMaker = JuiceMaker(menu: menu, store: FruitStore(quantities: ["orange": 4]))
    #expect(try juiceMaker.make("orange") == .ready(used: ["orange": 4]))
  }

  @Test func aFruitTwiceIsRefused() {
    #expect(throws: MenuError(entry: "kiwi", flaw: .duplicateFruit)) {
      try Menu(
        fruits: [Self.fruit("kiwi"), Self.fruit("mango"), Self.fruit("kiwi")],
        juices: [Self.juice("kiwi", ["kiwi": 1])])
    }
  }

  @Test func aJuiceTwiceIsRefused() {
    #expect(throws: MenuError(entry: "kiwi", flaw: .duplicateJuice)) {
      try Menu(
        fruits: [Self.fruit("kiwi")],
        juices: [Self.juice("kiwi", ["kiwi": 1]), Self.juice("kiwi", ["kiwi": 2])])
    }
  }

  @Test func aMenuWithoutAJuiceIsRefused() {
    #expect(throws: MenuError(entry: "menu", flaw: .noJuice)) {
      try Menu(fruits: [Self.fruit("kiwi")], juices: [])
    }
  }

  @Test func aRecipeWithAFruitThatIsNotOnTheMenuIsRefused() {
    #expect(throws: MenuError(entry: "kiwi", flaw: .unknownFruit("durian"))) {
      try Menu(
        fruits: [Self.fruit("kiwi")], juices: [Self.juice("kiwi", ["kiwi": 1, "durian": 1])])
    }
  }

  @Test func anEmptyRecipeIsRefused() {
    #expect(throws: MenuError.Flaw.emptyRecipe) { try Recipe([:]) }
  }

  @Test(arguments: [0, -1, Int.min, 1_000_000_001, Int.max])
  func theAmountsOfARecipeHaveLimits(amount: Int) {
    #expect(throws: MenuError.Flaw.badAmount("kiwi", amount)) {
      try Recipe(["banana": 1, "kiwi": amount])
    }
  }

  @Test(
    arguments: [
      (.duplicateFruit, "this fruit is listed twice; keep one of them"),
      (.duplicateJuice, "this juice is listed twice; keep one of them"),
      (
        .noJuice, "there is no juice; list at least one, or leave the menu out for the built-in one"
      ),
      (.emptyRecipe, "the recipe is empty; name at least one fruit"),
      (
        .badAmount("kiwi", 0), "the recipe takes 0 of kiwi; use a whole number from 1 to 1000000000"
      ),
      (
        .unknownFruit("durian"),
        "the recipe takes durian, which is not among the fruits; add it there or correct its name"
      ),
    ] as [(MenuError.Flaw, String)])
  func eachFlawSaysWhatToDo(flaw: MenuError.Flaw, text: String) {
    #expect(MenuError(entry: "kiwi", flaw: flaw).description == "kiwi: \(text)")
  }
}
