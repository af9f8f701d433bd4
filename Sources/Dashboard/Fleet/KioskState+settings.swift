package import JuiceDomain
package import KioskProtocol

/// The values that an operator changes at one or several kiosks together.
package struct SettingsEdit: Hashable, Sendable {
  package var prices: [Juice.ID: Money] = [:]
  /// The kiosk without prices whose form has chosen the currency of `prices`. Other kiosks without
  /// prices get none.
  package var currencyChosen: KioskID?
  package var capacities: FruitAmounts = [:]
  package var lowMarks: FruitAmounts = [:]
  /// Whether each juice is sold.
  package var sold: [Juice.ID: Bool] = [:]
  package var hours: Hours?
  /// The fruits to add.
  package var fruits: [Fruit] = []
  /// The juices to add, or to replace.
  package var juices: [Juice] = []
  /// The added fruits and juices to remove, and the replaced juices that become those of the file.
  package var removedFruits: Set<Fruit.ID> = []
  package var removedJuices: Set<Juice.ID> = []

  package enum Hours: Hashable, Sendable {
    /// The opening hours of the kiosk's file.
    case file
    case own(OpeningHours)
  }

  package init() {}

  package var isEmpty: Bool { self == Self() }
}

extension KioskState {
  /// The values of the kiosk's file, or of its chain, without the change of an operator.
  package var fileMenu: MenuReport? { settings?.file ?? reports.menu }

  /// The stored change of an operator, with unused parts (`SettingsReport.unused`); empty if none.
  package var change: SettingsChange { settings?.stored?.change ?? SettingsChange() }

  /// Whether the chain has assigned the menu, to which no fruits and juices are added.
  package var hasChainMenu: Bool { menuVersion != nil }

  /// The values of the file with the fruits and juices of the change: those that have prices and limits.
  package var baseMenu: MenuReport? { baseMenu(with: change) }

  /// Returns the values of the file with the fruits and juices of a change.
  package func baseMenu(with change: SettingsChange) -> MenuReport? {
    guard let file = fileMenu, !change.fruits.isEmpty || !change.juices.isEmpty else {
      return fileMenu
    }
    var additions = SettingsChange()
    (additions.fruits, additions.juices) = (change.fruits, change.juices)
    return additions.applied(to: file, isChain: hasChainMenu).report
  }

  /// Returns the price in force, also of a juice that is not sold at the moment.
  package func price(of juice: Juice.ID) -> Money? {
    reports.menu?.menu.juice(juice)?.price ?? change.prices[juice]
      ?? fileMenu?.menu.juice(juice)?.price
  }

  /// The currency of the kiosk's prices, or `nil` if no juice has a price.
  package var currency: Currency? {
    (fileMenu?.menu.juices.map(\.id) ?? []).lazy.compactMap { self.price(of: $0)?.currency }.first
      ?? change.prices.values.first?.currency
  }

  /// Returns whether the kiosk can have each part of an edit.
  package func hasAll(of edit: SettingsEdit) -> Bool {
    let after = change(by: edit)
    guard let base = baseMenu(with: after) else { return edit.isEmpty }
    let hasPrices = edit.prices.allSatisfy { juice, price in
      base.menu.juice(juice) != nil && canHave(price, of: edit)
    }
    return hasPrices && edit.sold.keys.allSatisfy { base.menu.juice($0) != nil }
      && edit.capacities.allSatisfy { base.capacities[$0.fruit] != nil }
      && edit.lowMarks.allSatisfy { base.lowMarks[$0.fruit] != nil }
      && edit.fruits.allSatisfy { base.menu.contains($0.id) }
      && edit.juices.allSatisfy(after.juices.contains)
  }

  /// Returns the reasons why the parts of an edit do not fit this kiosk, which checks a command with the
  /// same function. Reasons that exist without the edit are not included.
  package func flaws(of edit: SettingsEdit) -> [SettingsFlaw] {
    guard let file = fileMenu else { return [] }
    func flaws(_ change: SettingsChange) -> [SettingsFlaw] {
      change.applied(to: file, isChain: hasChainMenu) { juice in
        reports.machines.isEmpty || reports.machines.values.contains { $0.makes(juice) }
      }.flaws
    }
    var merged = change
    merged.merge(edit)
    let before = Set(flaws(change))
    return flaws(merged).filter { !before.contains($0) }
  }

  /// Returns `change` with the values of an edit. Omits values that equal those of the file, and all
  /// parts that do not fit the kiosk, such as prices in another currency. Returns `change` if the menu
  /// is unknown.
  package func change(by edit: SettingsEdit) -> SettingsChange {
    var change = change
    guard let file = fileMenu else { return change }
    change.merge(edit)
    change.fruits.removeAll { hasChainMenu || file.menu.contains($0.id) }
    let fruits = Set((file.menu.fruits + change.fruits).map(\.id))
    change.juices.removeAll { juice in
      hasChainMenu || !juice.recipe.amounts.allSatisfy { fruits.contains($0.fruit) }
    }
    let base = baseMenu(with: change) ?? file
    change.prices = change.prices.filter { juice, price in
      base.menu.juice(juice) != nil && file.menu.juice(juice)?.price != price
        && canHave(price, of: edit)
    }
    change.disabled = change.disabled.filter { base.menu.juice($0) != nil }
    func reduced(_ amounts: FruitAmounts, _ base: FruitAmounts) -> FruitAmounts {
      FruitAmounts(amounts.filter { base[$0.fruit] != nil && base[$0.fruit] != $0.amount })
    }
    change.capacities = reduced(change.capacities, base.capacities)
    change.lowMarks = reduced(change.lowMarks, base.lowMarks)
    if let hours = change.hours, hours == settings?.fileHours { change.hours = nil }
    return change
  }

  /// Returns whether a price of an edit has the kiosk's currency, which a kiosk without prices gets only
  /// from its own form.
  private func canHave(_ price: Money, of edit: SettingsEdit) -> Bool {
    currency.map { $0 == price.currency } ?? (edit.currencyChosen == id)
  }
}

extension SettingsChange {
  /// Replaces the values of an edit.
  fileprivate mutating func merge(_ edit: SettingsEdit) {
    for fruit in edit.fruits { fruits.replaceOrAppend(fruit) }
    for juice in edit.juices { juices.replaceOrAppend(juice) }
    fruits.removeAll { edit.removedFruits.contains($0.id) }
    juices.removeAll { edit.removedJuices.contains($0.id) }
    for juice in edit.removedJuices { prices[juice] = nil }
    prices.merge(edit.prices) { $1 }
    for (juice, isSold) in edit.sold {
      if isSold { disabled.remove(juice) } else { disabled.insert(juice) }
    }
    for (fruit, amount) in edit.capacities { capacities[fruit] = amount }
    for (fruit, amount) in edit.lowMarks { lowMarks[fruit] = amount }
    switch edit.hours {
    case .file: hours = nil
    case .own(let own): hours = own
    case nil: break
    }
  }
}
