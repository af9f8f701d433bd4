package import JuiceDomain
package import KioskProtocol

// The stock at the time of a visit, whose report arrives later.
extension KioskState {
  /// Returns the amount of a fruit that can be added, or `nil` if the capacity or the stock of the
  /// fruit is unknown.
  ///
  /// - Parameter counted: The counted stock, or `nil` for the recorded one.
  package func room(for fruit: Fruit.ID, counted: Int? = nil) -> Int? {
    guard let capacity = reports.menu?.capacities[fruit],
      let held = counted ?? reports.stock?.fruits[fruit]
    else { return nil }
    return max(0, capacity - held)
  }

  /// Returns the number of pieces that fitted at an earlier time and fit now, or `nil` if the stock or
  /// the capacity is unknown.
  ///
  /// - Parameter counted: The counted stock, or `nil` for the recorded one.
  package func room(for fruit: Fruit.ID, counted: Int? = nil, at time: Timestamp) -> Int? {
    guard let now = room(for: fruit, counted: counted), counted == nil,
      let capacity = reports.menu?.capacities[fruit]
    else { return room(for: fruit, counted: counted) }
    let held = reports.stock?.fruits[fruit] ?? 0
    return min(now, max(0, capacity - held - used(fruit, since: time)))
  }

  /// Returns the amount that orders have used since a time, less the amount that was put in; 0 if the
  /// latest `Recent.limit` orders are not all orders since then.
  private func used(_ fruit: Fruit.ID, since time: Timestamp) -> Int {
    guard orders.count < Recent.limit || orders.last.map({ $0.at <= time }) ?? true else {
      return 0
    }
    return [orders, services].joined().filter { $0.at > time }.reduce(0) { sum, entry in
      switch entry.outcome {
      // The entry of the order has changed the stock, which the fleet does not store.
      case .made(let end):
        let recipe = reports.menu?.menu.juice(end.order.juice)?.recipe.amounts ?? [:]
        return sum + (recipe[fruit] ?? 0) * min(1_000, max(0, end.order.quantity))
      case .failed, .returned: return sum
      default: return sum - (entry.changes[fruit] ?? 0)
      }
    }
  }
}
