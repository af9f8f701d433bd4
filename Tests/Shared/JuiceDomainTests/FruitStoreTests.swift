import Testing

@testable import JuiceDomain

@Suite struct FruitStoreTests {
  private var store = FruitStore(
    quantities: ["kiwi": 10, "mango": 4, "banana": 0],
    capacities: ["kiwi": 20, "mango": 20, "banana": 20])

  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let restock: Restock
    let outcome: RestockOutcome
    var testDescription: String { name }

    init(_ name: String, _ restock: Restock, _ outcome: RestockOutcome) {
      (self.name, self.restock, self.outcome) = (name, restock, outcome)
    }
  }

  @Test(arguments: [
    Case("adding", Restock(add: ["kiwi": 5]), .applied(changes: ["kiwi": 5])),
    Case("taking away", Restock(add: ["kiwi": -1]), .applied(changes: ["kiwi": -1])),
    Case("the last one", Restock(add: ["mango": -4]), .applied(changes: ["mango": -4])),
    Case("setting", Restock(set: ["mango": 20]), .applied(changes: ["mango": 16])),
    Case("setting to zero", Restock(set: ["mango": 0]), .applied(changes: ["mango": -4])),
    Case(
      "up, down and set at once",
      Restock(add: ["kiwi": -1, "banana": 3], set: ["mango": 5]),
      .applied(changes: ["banana": 3, "kiwi": -1, "mango": 1])),
    Case(
      "set, then added to", Restock(add: ["kiwi": 2], set: ["kiwi": 7]),
      .applied(changes: ["kiwi": -1])),
    Case(
      "as expected", Restock(add: ["kiwi": 1], expect: ["mango": 4, "kiwi": 10]),
      .applied(changes: ["kiwi": 1])),
    Case("exactly full", Restock(add: ["kiwi": 10]), .applied(changes: ["kiwi": 10])),
  ])
  mutating func aRestockTellsWhatChanged(_ test: Case) {
    let before = store.quantities
    #expect(store.apply(test.restock) == test.outcome)
    guard case .applied(let changes) = test.outcome else { return }
    for (fruit, quantity) in store.quantities {
      #expect(quantity == (before[fruit] ?? 0) + (changes[fruit] ?? 0))
    }
  }

  @Test(arguments: [
    Restock(), Restock(add: ["kiwi": 0]), Restock(set: ["kiwi": 10]),
    Restock(add: ["kiwi": 3], set: ["kiwi": 7]), Restock(expect: ["mango": 4]),
  ])
  mutating func aRestockThatChangesNothingTellsNothing(_ restock: Restock) {
    #expect(store.apply(restock) == .applied(changes: [:]))
    #expect(store.quantities == ["kiwi": 10, "mango": 4, "banana": 0])
  }

  @Test(arguments: [
    Case(
      "moved on", Restock(add: ["kiwi": 1], expect: ["mango": 5]),
      .conflict(actual: ["mango": 4])),
    Case(
      "only the changed fruits are reported",
      Restock(set: ["kiwi": 1], expect: ["kiwi": 9, "mango": 4]),
      .conflict(actual: ["kiwi": 10])),
    Case(
      "conflict before capacity", Restock(set: ["kiwi": 99], expect: ["banana": 1]),
      .conflict(actual: ["banana": 0])),
    Case(
      "too many", Restock(add: ["mango": 1, "kiwi": 11]),
      .exceedsCapacity("kiwi", capacity: 20, held: 10)),
    Case(
      "set too high", Restock(set: ["mango": 21]),
      .exceedsCapacity("mango", capacity: 20, held: 4)),
    Case("below zero", Restock(add: ["kiwi": 1, "mango": -5]), .belowZero("mango", held: 4)),
    Case("set below zero", Restock(set: ["mango": -1]), .belowZero("mango", held: 4)),
    Case("nothing to take", Restock(add: ["banana": -1]), .belowZero("banana", held: 0)),
    Case("unknown in add", Restock(add: ["kiwi": 1, "durian": 1]), .unknownFruit("durian")),
    Case("unknown in set", Restock(add: ["kiwi": 1], set: ["durian": 0]), .unknownFruit("durian")),
    Case(
      "unknown in expect", Restock(add: ["kiwi": 1], expect: ["durian": 0]),
      .unknownFruit("durian")),
    Case(
      "sum too large", Restock(add: ["kiwi": .max]),
      .exceedsCapacity("kiwi", capacity: 20, held: 10)),
    Case(
      "set and sum too large", Restock(add: ["kiwi": .max], set: ["kiwi": .max]),
      .exceedsCapacity("kiwi", capacity: 20, held: 10)),
    Case("sum too small", Restock(add: ["mango": .min]), .belowZero("mango", held: 4)),
    Case(
      "set and sum too small", Restock(add: ["mango": -1], set: ["mango": .min]),
      .belowZero("mango", held: 4)),
  ])
  mutating func aRefusedRestockChangesNothing(_ test: Case) {
    #expect(store.apply(test.restock) == test.outcome)
    #expect(store.quantities == ["kiwi": 10, "mango": 4, "banana": 0])
  }

  @Test mutating func whatCannotBeCountedIsRefusedEvenWithoutACapacity() {
    store = FruitStore(quantities: ["kiwi": .max])
    #expect(
      store.apply(Restock(add: ["kiwi": 1]))
        == .exceedsCapacity("kiwi", capacity: .max, held: .max))
    #expect(store.apply(Restock(set: ["kiwi": .max])) == .applied(changes: [:]))
    #expect(store.apply(Restock(set: ["kiwi": 0])) == .applied(changes: ["kiwi": -.max]))
  }

  @Test mutating func aFruitAboveALoweredCapacityMayBeLoweredButNotRaised() {
    store = FruitStore(quantities: ["kiwi": 30, "mango": 4], capacities: ["kiwi": 20])
    #expect(store.apply(Restock(add: ["kiwi": -1])) == .applied(changes: ["kiwi": -1]))
    #expect(store.apply(Restock(add: ["mango": 1])) == .applied(changes: ["mango": 1]))
    #expect(
      store.apply(Restock(add: ["kiwi": 1])) == .exceedsCapacity("kiwi", capacity: 20, held: 29))
    #expect(store.quantities == ["kiwi": 29, "mango": 5])
  }

  @Test mutating func takingChecksEveryFruitFirst() {
    #expect(store.take(["kiwi": 3, "mango": 5, "durian": 2]) == ["mango": 1, "durian": 2])
    #expect(store.quantities == ["kiwi": 10, "mango": 4, "banana": 0])
    #expect(store.take(["kiwi": 3, "mango": 2], times: 2) == [:])
    #expect(store.quantities == ["kiwi": 4, "mango": 0, "banana": 0])
  }
}
