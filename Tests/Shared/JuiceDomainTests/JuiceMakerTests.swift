import Testing

@testable import JuiceDomain

@Suite struct JuiceMakerTests {
  private var juiceMaker = JuiceMaker(menu: .standard, store: FruitStore(quantities: fresh))

  /// The initial stock of a kiosk.
  private static let fresh = FruitAmounts(
    Menu.standard.fruits.map { (fruit: $0.id, amount: 10) })

  @Test(
    arguments: [
      ("banana", ["banana": 2], ["banana": 8]),
      ("kiwi", ["kiwi": 3], ["kiwi": 7]),
      ("pineapple", ["pineapple": 2], ["pineapple": 8]),
      ("strawberry_banana", ["strawberry": 10, "banana": 1], ["strawberry": 0, "banana": 9]),
      ("mango", ["mango": 3], ["mango": 7]),
      ("mango_kiwi", ["mango": 2, "kiwi": 1], ["mango": 8, "kiwi": 9]),
    ] as [(Juice.ID, FruitAmounts, FruitAmounts)])
  mutating func aRecipeTakesItsFruitAndNoOther(
    juice: Juice.ID, used: FruitAmounts, left: FruitAmounts
  ) throws {
    #expect(try juiceMaker.make(juice) == .ready(used: used))
    var expected = Self.fresh
    for (fruit, amount) in left { expected[fruit] = amount }
    #expect(juiceMaker.stock == expected)
  }

  @Test mutating func strawberryJuiceTakesMoreThanAFreshKioskHas() throws {
    #expect(try juiceMaker.make("strawberry") == .outOfStock(missing: ["strawberry": 6]))
    #expect(juiceMaker.stock == Self.fresh)
    #expect(
      juiceMaker.restock(Restock(add: ["strawberry": 6])) == .applied(changes: ["strawberry": 6]))
    #expect(try juiceMaker.make("strawberry") == .ready(used: ["strawberry": 16]))
    #expect(juiceMaker.stock["strawberry"] == 0)
  }

  @Test mutating func aShortRecipeMovesNoFruit() throws {
    _ = try juiceMaker.make("strawberry_banana")
    let before = juiceMaker.stock
    #expect(before["strawberry"] == 0)
    #expect(before["banana"] == 9)
    #expect(try juiceMaker.make("strawberry_banana") == .outOfStock(missing: ["strawberry": 10]))
    #expect(juiceMaker.stock == before)
  }

  @Test mutating func everyShortFruitIsNamed() throws {
    _ = juiceMaker.restock(Restock(set: ["mango": 1, "kiwi": 0]))
    #expect(try juiceMaker.make("mango_kiwi") == .outOfStock(missing: ["mango": 1, "kiwi": 1]))
  }

  @Test mutating func severalGlassesAreMadeTogetherOrNotAtAll() throws {
    #expect(try #require(juiceMaker.menu.juice("mango_kiwi")).servings(from: juiceMaker.stock) == 5)
    _ = juiceMaker.restock(Restock(set: ["mango": 8]))
    #expect(try juiceMaker.make("mango_kiwi", quantity: 5) == .outOfStock(missing: ["mango": 2]))
    #expect(juiceMaker.stock["mango"] == 8)
    #expect(juiceMaker.stock["kiwi"] == 10)
    #expect(
      try juiceMaker.make("mango_kiwi", quantity: 4) == .ready(used: ["mango": 8, "kiwi": 4]))
    #expect(juiceMaker.stock["mango"] == 0)
    #expect(juiceMaker.stock["kiwi"] == 6)
  }

  @Test(arguments: [Int.max, Int.max / 2 + 1, Int.max / 3 + 1])
  mutating func moreGlassesThanCanBeCountedAreOutOfStock(quantity: Int) throws {
    #expect(
      try juiceMaker.make("mango", quantity: quantity) == .outOfStock(missing: ["mango": .max - 10])
    )
    #expect(juiceMaker.stock == Self.fresh)
  }

  @Test func servingsFollowTheScarcestFruit() {
    let counts = juiceMaker.menu.juices.map { $0.servings(from: juiceMaker.stock) }
    #expect(counts == [0, 5, 3, 5, 1, 3, 5])
  }

  @Test mutating func servingsAreAsManyAsCanBeMade() {
    for juice in juiceMaker.menu.juices {
      let count = juice.servings(from: juiceMaker.stock)
      guard count > 0 else { continue }
      var (enough, tooMany) = (juiceMaker, juiceMaker)
      guard case .ready = enough.make(juice, quantity: count) else {
        Issue.record("\(count) of \(juice.id) cannot be made")
        continue
      }
      guard case .outOfStock = tooMany.make(juice, quantity: count + 1) else {
        Issue.record("\(count + 1) of \(juice.id) can be made")
        continue
      }
    }
  }

  @Test func aJuiceWhoseFruitIsNotHeldHasNoServings() throws {
    var empty = JuiceMaker(menu: .standard, store: FruitStore(quantities: [:]))
    #expect(empty.menu.juices.allSatisfy { $0.servings(from: empty.stock) == 0 })
    #expect(try empty.make("kiwi", quantity: 2) == .outOfStock(missing: ["kiwi": 6]))
  }
}

extension JuiceMaker {
  /// Makes a juice of the menu.
  mutating func make(_ id: Juice.ID, quantity: Int = 1) throws -> OrderOutcome {
    make(try #require(menu.juice(id)), quantity: quantity)
  }
}
