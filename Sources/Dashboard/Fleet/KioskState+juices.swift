package import JuiceDomain
import KioskProtocol

/// The reason why a kiosk cannot sell a juice now.
package enum SaleObstacle: Hashable, Sendable {
  /// The stock of these fruits is too small for one glass.
  case fruit([Fruit.ID])
  /// Each of these fruits is missing in at least one working machine for the juice.
  case machineOut([Fruit.ID])
  /// Sensors block these fruits.
  case blocked([Fruit.ID])
  /// No machine for the juice takes orders.
  case machine
  /// A machine that makes the juice must be cleaned first.
  case cleaningDue
  /// No payment device works, and the price of the juice is above 0.
  case payment
  /// The kiosk is closed.
  case closed

  /// The fruits that are missing or blocked; empty for the other obstacles.
  package var fruits: [Fruit.ID] {
    switch self {
    case .fruit(let fruits), .machineOut(let fruits), .blocked(let fruits): fruits
    case .machine, .cleaningDue, .payment, .closed: []
    }
  }
}

// The juices that a kiosk can sell.
extension KioskState {
  /// Returns the number of glasses of a juice that can be made now; 0 if the stock is unknown.
  package func servings(of juice: Juice) -> Int {
    guard let stock, isMakeable(juice.id) else { return 0 }
    return juice.servings(from: stock.fruits)
  }

  /// Returns the reason why the juice cannot be sold, or `nil` if it can be sold or the stock is
  /// unknown.
  package func obstacle(to juice: Juice) -> SaleObstacle? {
    guard let stock = stock?.fruits else { return nil }
    let missing = juice.recipe.amounts.filter { stock[$0.fruit] ?? 0 < $0.amount }.map(\.fruit)
    if !missing.isEmpty { return .fruit(missing) }
    let blocked = blockedFruits
    let blockedInJuice =
      blocked.isEmpty ? [] : juice.recipe.amounts.map(\.fruit).filter(blocked.contains)
    if !blockedInJuice.isEmpty { return .blocked(blockedInJuice) }
    if !isMakeable(juice.id) {
      let out = Set(
        machines.values.filter { $0.makes(juice.id) && !$0.state.isProblem }.flatMap(\.out))
      let used = juice.recipe.amounts.map(\.fruit).filter(out.contains)
      if !used.isEmpty { return .machineOut(used) }
      let isDue = machines.values.contains { $0.makes(juice.id) && $0.state == .cleaningDue }
      return isDue ? .cleaningDue : .machine
    }
    if isPaymentDown, juice.price.map({ $0.units > 0 }) ?? false { return .payment }
    return service == .closed ? .closed : nil
  }

  /// The juices that cannot be sold, each with its obstacle, in the order of the menu.
  package var unavailableJuices: [(juice: Juice, obstacle: SaleObstacle)] {
    (menu?.menu.juices ?? []).compactMap { juice in obstacle(to: juice).map { (juice, $0) } }
  }

  /// The juices that need a person before they can be sold, each with its obstacle, in the order of
  /// the menu; none while the kiosk is offline.
  package var lostJuices: [(juice: Juice, obstacle: SaleObstacle)] {
    isOnline ? unavailableJuices.filter { $0.obstacle != .closed } : []
  }

  /// Whether the kiosk is open and can sell no juice.
  package var sellsNothing: Bool { isOnline && lostShare == 1 }

  /// The share of the juices that the kiosk cannot sell, from 0 to 1: 0 while the kiosk is closed,
  /// 1 while it is offline.
  package var lostShare: Double {
    if !isOnline { return 1 }
    guard service != .closed, let juices = menu?.menu.juices.count, juices > 0 else { return 0 }
    return Double(lostJuices.count) / Double(juices)
  }

  /// Returns the amount of a fruit that can be added, or `nil` if the capacity or the stock of the
  /// fruit is unknown.
  ///
  /// - Parameter counted: The counted stock, or `nil` for the recorded one.
  package func room(for fruit: Fruit.ID, counted: Int? = nil) -> Int? {
    guard let capacity = menu?.capacities[fruit], let held = counted ?? stock?.fruits[fruit] else {
      return nil
    }
    return max(0, capacity - held)
  }

  /// The fruits with the alert `out`, or with too little stock for one glass of a juice. The second
  /// condition needs a stock and a menu; the fruits have the order of `fruits(_:)`.
  package var shortFruits: [Fruit.ID] {
    guard let stock = stock?.fruits, let menu = menu?.menu else { return fruits(.out) }
    return menu.fruits.map(\.id).filter { fruit in
      alerts[fruit] == .out
        || menu.recipeAmounts[fruit].map { stock[fruit] ?? 0 < $0.upperBound } ?? false
    }
  }
}
