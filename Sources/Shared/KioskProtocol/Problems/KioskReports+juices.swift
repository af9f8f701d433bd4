package import JuiceDomain

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

  /// Returns the reason in words for the customer.
  package func text(_ language: Language) -> String {
    switch self {
    case .fruit, .machineOut: language("sold out", "품절")
    case .blocked: language("not available now", "지금은 주문할 수 없음")
    case .machine: language("machine out of order", "기계 고장")
    case .cleaningDue: language("machine must be cleaned", "기계 청소 필요")
    case .payment: language("card terminal out of order", "카드 단말기 고장")
    case .closed: language("closed", "영업 종료")
    }
  }
}

// The juices that a kiosk can sell.
extension KioskReports {
  /// Returns the reason why the juice cannot be sold, or `nil` if it can be sold or the stock is
  /// unknown.
  package func obstacle(to juice: Juice) -> SaleObstacle? {
    guard let stock = stock?.fruits else { return nil }
    let missing = juice.recipe.amounts.filter { stock[$0.fruit] ?? 0 < $0.amount }.map(\.fruit)
    if !missing.isEmpty { return .fruit(missing) }
    let blocked = juice.recipe.amounts.filter { blockedFruits.contains($0.fruit) }.map(\.fruit)
    if !blocked.isEmpty { return .blocked(blocked) }
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

  /// Returns whether the kiosk can make the juice: no sensor blocks its fruits, and either it needs
  /// no machine, or one of its machines takes orders and has the fruits.
  package func isMakeable(_ juice: Juice.ID) -> Bool {
    if machines.isEmpty, blockedFruits.isEmpty { return true }
    let makers = machines.values.filter { $0.makes(juice) }
    let recipe = menu?.menu.juice(juice)?.recipe.amounts ?? [:]
    if recipe.contains(where: { blockedFruits.contains($0.fruit) }) { return false }
    return makers.isEmpty
      || makers.contains { maker in
        maker.takesOrders && recipe.allSatisfy { !maker.out.contains($0.fruit) }
      }
  }

  /// Whether the kiosk has payment devices and none works, so that it sells no juice with a price.
  var isPaymentDown: Bool { !payments.isEmpty && payments.values.allSatisfy { $0.state == .off } }

  /// The juices that cannot be sold, each with its obstacle, in the order of the menu.
  package var unavailableJuices: [(juice: Juice, obstacle: SaleObstacle)] {
    (menu?.menu.juices ?? []).compactMap { juice in obstacle(to: juice).map { (juice, $0) } }
  }

  /// The juices that need a person before they can be sold, each with its obstacle, in the order of
  /// the menu; none while the kiosk is offline.
  package var lostJuices: [(juice: Juice, obstacle: SaleObstacle)] {
    status == .online && !isComplete ? unavailableJuices.filter { $0.obstacle != .closed } : []
  }

  /// Whether the kiosk lacks nothing, so that closing is the only obstacle to a juice.
  private var isComplete: Bool {
    shortFruits.isEmpty && blockedFruits.isEmpty && !isPaymentDown
      && machines.values.allSatisfy { $0.takesOrders && $0.out.isEmpty }
  }

  /// The share of the juices that the kiosk cannot sell, from 0 to 1: 0 while the kiosk is closed,
  /// 1 while it is offline.
  package var lostShare: Double {
    status == .online ? share(ofLost: lostJuices.count) : 1
  }

  /// Returns the share of the juices that a number of `lostJuices` is; 0 while the kiosk is closed.
  func share(ofLost count: Int) -> Double {
    guard service != .closed, let juices = menu?.menu.juices.count, juices > 0 else { return 0 }
    return Double(count) / Double(juices)
  }

  /// Whether the kiosk is open and can sell no juice.
  package var sellsNothing: Bool { status == .online && lostShare == 1 }

  /// Returns the fruits with this alert, in the order of the menu, or by id without a menu.
  package func fruits(_ alert: StockAlert) -> [Fruit.ID] {
    guard alerts.values.contains(alert) else { return [] }
    guard let menu else { return alerts.filter { $0.value == alert }.keys.sorted() }
    return menu.menu.fruits.compactMap { alerts[$0.id] == alert ? $0.id : nil }
  }

  /// Returns the name of a fruit: of the menu, of `otherNames`, or the id.
  package func name(of fruit: Fruit.ID, _ language: Language) -> String {
    let own = menu?.menu.fruits.first { $0.id == fruit }?.name
    return (own ?? otherNames?.fruit(fruit))?[language] ?? fruit.text
  }

  /// Returns the name of a juice: of the menu, of `otherNames`, or the id.
  package func name(of juice: Juice.ID) -> LocalizedName {
    menu?.menu.juice(juice)?.name ?? otherNames?.juice(juice)
      ?? LocalizedName(fallback: juice.text)
  }
}

/// Names of juices and fruits that a kiosk had on its menu, for entries about them.
package final class OtherNames: Sendable {
  package let juice: @Sendable (Juice.ID) -> LocalizedName?
  package let fruit: @Sendable (Fruit.ID) -> LocalizedName?

  package init(
    juice: @escaping @Sendable (Juice.ID) -> LocalizedName?,
    fruit: @escaping @Sendable (Fruit.ID) -> LocalizedName?
  ) {
    (self.juice, self.fruit) = (juice, fruit)
  }
}
