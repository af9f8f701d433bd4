package import JuiceDomain
package import KioskProtocol

/// The values that an operator changes at one or several kiosks together.
package struct SettingsEdit: Hashable, Sendable {
  package var prices: [Juice.ID: Money] = [:]
  package var capacities: FruitAmounts = [:]
  package var lowMarks: FruitAmounts = [:]
  /// Whether each juice is sold.
  package var sold: [Juice.ID: Bool] = [:]
  package var hours: Hours?

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
  package var fileMenu: MenuReport? { settings?.file ?? menu }

  /// The stored change of an operator, with unused parts (`SettingsReport.unused`); empty if none.
  package var change: SettingsChange { settings?.stored?.change ?? SettingsChange() }

  /// Returns the price in force, also of a juice that is not sold at the moment.
  package func price(of juice: Juice.ID) -> Money? {
    menu?.menu.juice(juice)?.price ?? change.prices[juice] ?? fileMenu?.menu.juice(juice)?.price
  }

  /// The currency of the kiosk's prices, or `nil` if no juice has a price.
  package var currency: Currency? {
    (fileMenu?.menu.juices ?? []).lazy.compactMap { self.price(of: $0.id)?.currency }.first
  }

  /// Returns whether the kiosk has each juice, capacity and low mark of an edit, and no prices in
  /// another currency.
  package func hasAll(of edit: SettingsEdit) -> Bool {
    guard let file = fileMenu else { return edit.isEmpty }
    let currency = currency
    let hasPrices = edit.prices.allSatisfy { juice, price in
      file.menu.juice(juice) != nil && (currency == nil || price.currency == currency)
    }
    return hasPrices && edit.sold.keys.allSatisfy { file.menu.juice($0) != nil }
      && edit.capacities.allSatisfy { file.capacities[$0.fruit] != nil }
      && edit.lowMarks.allSatisfy { file.lowMarks[$0.fruit] != nil }
  }

  /// Returns `change` with the values of an edit. Omits values that equal those of the file,
  /// juices, capacities and low marks that the file does not have, and prices in another currency.
  /// Returns `change` if the menu is unknown.
  package func change(by edit: SettingsEdit) -> SettingsChange {
    var change = change
    guard let file = fileMenu else { return change }
    change.prices.merge(edit.prices) { $1 }
    let currency = currency
    change.prices = change.prices.filter { juice, price in
      guard let own = file.menu.juice(juice) else { return false }
      return own.price != price && (currency == nil || price.currency == currency)
    }
    for (juice, isSold) in edit.sold {
      if isSold { change.disabled.remove(juice) } else { change.disabled.insert(juice) }
    }
    change.disabled = change.disabled.filter { file.menu.juice($0) != nil }
    func merged(
      _ amounts: FruitAmounts, _ new: FruitAmounts, file: FruitAmounts
    ) -> FruitAmounts {
      var amounts = amounts
      for (fruit, amount) in new { amounts[fruit] = amount }
      return FruitAmounts(amounts.filter { file[$0.fruit] != nil && file[$0.fruit] != $0.amount })
    }
    change.capacities = merged(change.capacities, edit.capacities, file: file.capacities)
    change.lowMarks = merged(change.lowMarks, edit.lowMarks, file: file.lowMarks)
    switch edit.hours {
    case .file: change.hours = nil
    case .own(let hours): change.hours = hours == settings?.fileHours ? nil : hours
    case nil: break
    }
    return change
  }
}
