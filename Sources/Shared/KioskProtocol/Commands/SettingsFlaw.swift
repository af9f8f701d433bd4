package import JuiceDomain

/// The reason why a part of a change does not fit a kiosk.
package enum SettingsFlaw: Hashable, Sendable {
  /// The chain assigns the menu of the kiosk: fruits and juices are not added here.
  case chainMenu
  /// The file has a fruit with this id.
  case fruitOfFile(Fruit.ID)
  /// The recipe of the juice has a fruit that the kiosk does not stock.
  case recipe(Juice.ID, Fruit.ID)
  /// The kiosk has machines, and none of them makes the juice: it would be ready at once, which only
  /// the owner of the file may decide.
  case noMachine(Juice.ID)
  case unknownJuice(Juice.ID)
  case currency(Juice.ID, Currency)
  case noJuice
  case unknownFruit(Fruit.ID)
  case lowAboveCapacity(Fruit.ID, low: Int, capacity: Int)

  package var rejection: Rejection {
    switch self {
    case .chainMenu:
      Rejection(.conflict, "the chain assigns the menu: fruits and juices cannot be added here")
    case .fruitOfFile(let fruit):
      Rejection(.malformed, "\(fruit) is a fruit of the kiosk's file already")
    case .recipe(let juice, let fruit):
      Rejection(.unknownFruit, "the recipe of \(juice) takes \(fruit), which is not on the menu")
    case .noMachine(let juice): Rejection(.machineDown, "no machine of this kiosk makes \(juice)")
    case .unknownJuice(let juice): Rejection(.unknownJuice, "there is no \(juice) on the menu")
    case .currency(let juice, let currency):
      Rejection(.malformed, "the price of \(juice) is not in \(currency.code)")
    case .noJuice: Rejection(.malformed, "a kiosk must sell at least one juice")
    case .unknownFruit(let fruit):
      Rejection(.unknownFruit, "\(fruit) is not a fruit of this kiosk")
    case .lowAboveCapacity(let fruit, let low, let capacity):
      Rejection(
        .malformed, "\(fruit) would be low at \(low), above its capacity of \(capacity)")
    }
  }
}

extension SettingsChange {
  /// Returns the menu, capacities and low marks with this change, and the reasons why parts of the
  /// change are not used. All other parts are used. Kiosk and dashboard use this same function.
  ///
  /// The file's menu is the base; a menu from the chain replaces it, and then no fruits and juices are
  /// added; prices, disabled juices, capacities and low marks of a change apply to either.
  ///
  /// - Parameters:
  ///   - file: The values of the file, or of the chain's menu.
  ///   - isChain: Whether the chain has assigned that menu.
  ///   - isMakeable: Returns whether the kiosk has a machine for a juice, or needs none.
  package func applied(
    to file: MenuReport, isChain: Bool, isMakeable: (Juice.ID) -> Bool = { _ in true }
  ) -> (report: MenuReport, flaws: [SettingsFlaw]) {
    var flaws: [SettingsFlaw] = []
    var base = MenuParts(
      fruits: file.menu.fruits, juices: file.menu.juices, capacities: file.capacities,
      lowMarks: file.lowMarks)
    if isChain {
      if !fruits.isEmpty || !juices.isEmpty { flaws.append(.chainMenu) }
    } else {
      extend(&base, file.menu, isMakeable, &flaws)
    }
    let currency = file.menu.juices.lazy.compactMap(\.price?.currency).first
    for (juice, price) in prices.sorted(by: { $0.key < $1.key }) {
      guard let index = base.juices.firstIndex(where: { $0.id == juice }) else {
        flaws.append(.unknownJuice(juice))
        continue
      }
      if let currency, price.currency != currency {
        flaws.append(.currency(juice, currency))
      } else {
        base.juices[index].price = price
      }
    }
    for juice in disabled.sorted() where !base.juices.contains(where: { $0.id == juice }) {
      flaws.append(.unknownJuice(juice))
    }
    let sold = base.juices.filter { !disabled.contains($0.id) }
    if sold.isEmpty { flaws.append(.noJuice) }
    limit(&base, &flaws)
    // The parts are consistent, so the menu is valid.
    let menu = try? Menu(fruits: base.fruits, juices: sold.isEmpty ? base.juices : sold)
    let report = MenuReport(
      menu: menu ?? file.menu, capacities: base.capacities, lowMarks: base.lowMarks)
    return (report, flaws)
  }

  private struct MenuParts {
    var fruits: [Fruit]
    var juices: [Juice]
    var capacities: FruitAmounts
    var lowMarks: FruitAmounts
  }

  /// Adds the fruits and juices.
  private func extend(
    _ base: inout MenuParts, _ file: Menu, _ isMakeable: (Juice.ID) -> Bool,
    _ flaws: inout [SettingsFlaw]
  ) {
    for fruit in fruits {
      guard !file.contains(fruit.id) else {
        flaws.append(.fruitOfFile(fruit.id))
        continue
      }
      base.fruits.append(fruit)
      base.capacities[fruit.id] = Fruit.standardCapacity
      base.lowMarks[fruit.id] = Fruit.standardLowMark
    }
    for var juice in juices {
      let own = file.juice(juice.id)
      let unknown = juice.recipe.amounts.first { amount in
        !base.fruits.contains { $0.id == amount.fruit }
      }
      if let unknown {
        flaws.append(.recipe(juice.id, unknown.fruit))
      } else if own == nil, !isMakeable(juice.id) {
        flaws.append(.noMachine(juice.id))
      } else {
        juice.price = own?.price
        base.juices.replaceOrAppend(juice)
      }
    }
  }

  private func limit(_ base: inout MenuParts, _ flaws: inout [SettingsFlaw]) {
    for fruit in Set((Array(capacities) + Array(lowMarks)).map(\.fruit)).sorted() {
      guard let capacity = capacities[fruit] ?? base.capacities[fruit],
        let low = lowMarks[fruit] ?? base.lowMarks[fruit],
        base.fruits.contains(where: { $0.id == fruit })
      else {
        flaws.append(.unknownFruit(fruit))
        continue
      }
      guard low <= capacity else {
        flaws.append(.lowAboveCapacity(fruit, low: low, capacity: capacity))
        continue
      }
      (base.capacities[fruit], base.lowMarks[fruit]) = (capacity, low)
    }
  }
}
