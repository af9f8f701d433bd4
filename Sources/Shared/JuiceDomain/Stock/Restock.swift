/// A change of the stock by relative or absolute amounts, applied as one step for all fruits.
package struct Restock: Hashable, Sendable {
  /// Amounts to add; negative amounts are subtracted.
  package let add: FruitAmounts
  /// Amounts to set, before `add` is applied.
  package let set: FruitAmounts
  /// Amounts that the stock must have; otherwise the restock is rejected.
  package let expect: FruitAmounts
  /// The times at which the added fruits expire, in milliseconds since 1970-01-01T00:00:00Z. For
  /// any other added fruit, `Fruit.keepsHours` determines the time.
  package let bestBefore: [Fruit.ID: Int64]
  /// The days at whose end the added fruits expire, counted from 1970-01-01, in the kiosk's time zone.
  package let bestBeforeDay: [Fruit.ID: Int64]

  package init(
    add: FruitAmounts = [:], set: FruitAmounts = [:], expect: FruitAmounts = [:],
    bestBefore: [Fruit.ID: Int64] = [:], bestBeforeDay: [Fruit.ID: Int64] = [:]
  ) {
    self.add = add
    self.set = set
    self.expect = expect
    (self.bestBefore, self.bestBeforeDay) = (bestBefore, bestBeforeDay)
  }

  /// Returns the restock with times instead of days.
  ///
  /// - Parameter end: Returns the end of a day, in milliseconds since 1970-01-01T00:00:00Z.
  package func withTimes(end: (Int64) -> Int64) -> Restock {
    if bestBeforeDay.isEmpty { return self }
    let times = bestBeforeDay.mapValues(end)
    return Restock(
      add: add, set: set, expect: expect, bestBefore: bestBefore.merging(times) { min($0, $1) })
  }
}

/// The outcome of a restock. All outcomes except `applied` leave the stock unchanged.
package enum RestockOutcome: Hashable, Sendable {
  /// The restock was applied; `changes` contains the differences that are not zero.
  case applied(changes: FruitAmounts)
  /// The stock differs from `expect`; `actual` contains the current amounts where it differs.
  case conflict(actual: FruitAmounts)
  /// The amount of a fruit would exceed its capacity.
  case exceedsCapacity(Fruit.ID, capacity: Int, held: Int)
  /// The amount of a fruit would become negative.
  case belowZero(Fruit.ID, held: Int)
  /// The fruit is not in the store.
  case unknownFruit(Fruit.ID)
}
