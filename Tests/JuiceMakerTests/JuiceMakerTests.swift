import JuiceMaker
import Testing

@Suite struct JuiceMakerTests {
  private var juiceMaker = JuiceMaker(
    menu: .standard,
    store: FruitStore(
      quantities: FruitAmounts(Menu.standard.fruits.map { (fruit: $0.id, amount: 10) })))

  @Test mutating func aRecipeTakesItsFruit() throws {
    #expect(
      try juiceMaker.make("strawberry_banana") == .ready(used: ["strawberry": 10, "banana": 1]))
    #expect(juiceMaker.stock["strawberry"] == 0)
    #expect(juiceMaker.stock["banana"] == 9)
  }

  @Test mutating func aShortRecipeMovesNoFruit() throws {
    _ = try juiceMaker.make("strawberry_banana")
    #expect(try juiceMaker.make("strawberry_banana") == .outOfStock(missing: ["strawberry": 10]))
    #expect(juiceMaker.stock["banana"] == 9)
  }
}
