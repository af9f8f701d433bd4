/// A correction of the stock: up or down by some, or to a given number, in one step for all fruits.
package struct Restock: Hashable, Sendable {
  /// Added to the stock; a negative amount takes away.
  package let add: FruitAmounts
  /// What the stock is set to, before `add` is applied.
  package let set: FruitAmounts
  /// What the stock must be now for the restock to count.
  package let expect: FruitAmounts

  package init(add: FruitAmounts = [:], set: FruitAmounts = [:], expect: FruitAmounts = [:]) {
    self.add = add
    self.set = set
    self.expect = expect
  }
}

/// What became of a restock. Everything but `applied` has changed nothing.
package enum RestockOutcome: Hashable, Sendable {
  /// Done; `changes` holds the fruits whose number is another now, with the difference.
  case applied(changes: FruitAmounts)
  /// The stock was not what the restock expected; `actual` holds what it is.
  case conflict(actual: FruitAmounts)
  /// A fruit would go above what the store can hold.
  case exceedsCapacity(Fruit.ID, capacity: Int, held: Int)
  /// A fruit would go below zero.
  case belowZero(Fruit.ID, held: Int)
  /// The store holds no such fruit.
  case unknownFruit(Fruit.ID)
}
