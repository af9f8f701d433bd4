package import JuiceDomain
import KioskProtocol
package import MessageBroker
import TimeZones

// Fruit with a date.
extension Kiosk {
  /// The fruits whose expiry times the kiosk publishes: all in the stock or in batches if
  /// `Batches.isActive`, else none.
  package var datedFruits: Set<Fruit.ID> {
    batches.isActive
      ? Set(stock.map(\.fruit)).union(batches.held.keys.map(\.fruit)) : []
  }

  package var announcements: [Message] {
    batches.isActive ? settings.announcementsWithDates : settings.announcements
  }

  /// Applies the last entry to the batches. Called for each entry, so that the next change of the
  /// stock finds the batches that are left.
  mutating func applyLastEntry(in decision: inout Decision) {
    guard batches.isActive, let last = decision.transaction.records.indices.last else { return }
    batches.apply(
      &decision.transaction.records[last].row.entry, stock: juiceMaker.stock, at: decision.now)
    removeExpiredFruit(in: &decision)
  }

  /// Takes expired fruit out of the stock, and blocks fruit whose age is in doubt.
  mutating func removeExpiredFruit(in decision: inout Decision) {
    guard batches.isActive else { return }
    let changes = batches.expire(at: decision.now)
    if !changes.isEmpty {
      var amounts: FruitAmounts = [:]
      for change in changes { amounts += [change.id.fruit: change.amount] }
      for (fruit, amount) in amounts {
        // Takes nothing if the fruit is no longer on the menu: its stock is only in the ledger.
        // guard: expired fruit is not sold
        _ = juiceMaker.take([fruit: -amount])
      }
      record(.expired(changes: amounts), batches: changes, in: &decision)
    }
    blockDoubtfulFruit(in: &decision)
  }

  /// Blocks the fruit whose age or date is in doubt, with the sensor `clock`, until the doubt ends.
  private mutating func blockDoubtfulFruit(in decision: inout Decision) {
    // guard: fruit whose age is in doubt is not sold
    let fruits = elapsed.blocks ? batches.inDoubt(since: elapsed.doubtful ?? 0) : []
    guard !fruits.isEmpty || sensors.record(blocking: .clock) != nil else { return }
    let now = decision.now
    changeSensors(in: &decision) { $0.doubt(fruits.sorted(), at: now, into: &$1) }
  }

  /// Returns the restock with the end of each day by the kiosk's clock.
  func withTimes(_ restock: Restock) -> Restock {
    // guard: fruit is sold until the end of the day on its package, and no longer
    restock.withTimes { settings.wallClock.start(ofDay: $0 + 1).milliseconds }
  }

  /// Applies a restock.
  ///
  /// - Parameter undone: The `seq` of the entry that the restock undoes, or `nil` for none. Of fruit
  ///   with a date, such a restock subtracts only what is still there as the batch of the entry.
  mutating func apply(
    _ restock: Restock, undoing undone: Int?, at now: Timestamp
  ) throws(Rejection) -> LedgerEntry.Outcome {
    func isUndone(_ fruit: Fruit.ID) -> Bool { undone != nil && restock.add[fruit] ?? 0 < 0 }
    for (fruit, time) in restock.bestBefore {
      if let undone, isUndone(fruit) {
        // guard: a restock whose fruit has expired is not undone
        guard batches.held[BatchID(fruit: fruit, number: undone)]?.quantity ?? 0 > 0 else {
          throw Rejection(.expired, "\(fruit) of entry \(undone) has expired, or was used")
        }
        continue
      }
      // guard: fruit that has expired is not brought
      guard time > now.milliseconds else {
        throw Rejection(.expired, "best_before of \(fruit) is in the past")
      }
      guard time <= now.milliseconds + Batches.longest else {
        throw Rejection(
          .malformed,
          "best_before of \(fruit) is more than two years ahead: check it, and the kiosk's clock")
      }
    }
    var maker = juiceMaker
    switch maker.restock(restock) {
    case .applied(let changes):
      if let fruit = restock.bestBefore.keys.sorted().first(where: {
        changes[$0] ?? 0 <= 0 && !isUndone($0)
      }) {
        throw Rejection(.malformed, "best_before names \(fruit), of which the restock adds nothing")
      }
      juiceMaker = maker
      return .restocked(changes: changes)
    case .conflict(let actual):
      throw Rejection(.conflict, "the stock has changed: \(actual)")
    case .exceedsCapacity(let fruit, let capacity, let held):
      throw Rejection(
        .exceedsCapacity, "the capacity for \(fruit) is \(capacity), and its stock is \(held)")
    case .belowZero(let fruit, let held):
      throw Rejection(.belowZero, "there are only \(held) of \(fruit)")
    case .unknownFruit(let fruit):
      throw Rejection(.unknownFruit, "\(fruit) is not a fruit of this kiosk")
    }
  }

  mutating func apply(_ removal: Removal) throws(Rejection) -> LedgerEntry.Outcome {
    let expired = batches.expiredAmounts
    if let fruit = removal.amounts.map(\.fruit).first(where: {
      stock[$0] == nil && expired[$0] == nil
    }) {
      throw Rejection(.unknownFruit, "\(fruit) is not a fruit of this kiosk")
    }
    for (fruit, amount) in removal.expired {
      // guard: expired fruit is taken out once
      guard amount == expired[fruit] ?? 0 else {
        throw Rejection(.conflict, "there are \(expired[fruit] ?? 0) expired of \(fruit)")
      }
    }
    if let missing = juiceMaker.take(removal.stock).first {
      throw Rejection(.belowZero, "there are only \(stock[missing.fruit] ?? 0) of \(missing.fruit)")
    }
    batches.takeOut(removal.expired)
    return .removed(removal)
  }

  /// Returns the cost of removed fruit, or `nil` if the menu has no cost for any of it.
  func cost(of removal: Removal) -> Money? {
    settings.menu.fruits.reduce(nil) { sum, fruit in
      guard let amount = removal.amounts[fruit.id], let cost = fruit.cost?.times(amount) else {
        return sum
      }
      let (units, overflows) = cost.units.addingReportingOverflow(sum?.units ?? 0)
      return Money(units: overflows ? .max : units, cost.currency)
    }
  }
}
