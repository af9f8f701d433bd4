package import JuiceDomain
package import KioskCore
import YAMLConfiguration

extension KioskSettings.Stock {
  /// Creates the default amounts for a menu.
  package init(of menu: Menu) {
    let fruits = menu.fruits.map(\.id)
    self.init(
      initial: FruitAmounts(Amounts.initial, of: fruits),
      capacities: FruitAmounts(Fruit.standardCapacity, of: fruits),
      lowMarks: FruitAmounts(Fruit.standardLowMark, of: fruits))
  }

  init(_ section: inout Section, fruits: [Fruit.ID]) {
    let errorsBefore = section.collector.errors.count
    let initial = Amounts(&section, "initial", default: Amounts.initial, of: fruits)
    let capacity = Amounts(&section, "capacity", default: Fruit.standardCapacity, of: fruits)
    let low = Amounts(&section, "low", default: Fruit.standardLowMark, of: fruits)
    self.init(
      initial: initial.amounts, capacities: capacity.amounts, lowMarks: low.amounts)
    // A default that replaces an invalid amount may contradict the others: no further error.
    guard section.collector.errors.count == errorsBefore else { return }
    for amounts in [initial, low] { amounts.check(atMost: capacity, in: section) }
  }
}

extension FruitAmounts {
  fileprivate init(_ amount: Int, of fruits: [Fruit.ID]) {
    self.init(fruits.lazy.map { (fruit: $0, amount: amount) })
  }
}

/// One amount for all fruits; or an amount for each named fruit, and a `default` for the others.
private struct Amounts {
  static let initial = 10

  private struct Excess: Hashable {
    let amount: Int
    let limit: Int
    let place: ConfigurationError.Place
  }

  let key: String
  let amounts: FruitAmounts
  /// The place in the file, or the variable, that gives the amount of each fruit. The built-in
  /// default has none.
  private var places: [Fruit.ID: ConfigurationError.Place] = [:]

  init(
    _ section: inout Section, _ key: String, default defaultAmount: Int, of fruits: [Fruit.ID]
  ) {
    self.key = key
    let format = Format.integer(0...1_000_000_000)
    guard section.isSection(key) else {
      let amount = section.read(key, format) ?? defaultAmount
      amounts = FruitAmounts(amount, of: fruits)
      if section.has(key) {
        for fruit in fruits { places[fruit] = section.place(of: key) }
      }
      return
    }
    var places: [Fruit.ID: ConfigurationError.Place] = [:]
    amounts = section.section(
      key, hasVariables: false, unknown: "the menu has no such fruit"
    ) { section in
      let others = section.read("default", format)
      return FruitAmounts(
        fruits.map { fruit in
          let amount = section.read(fruit.text, format)
          if amount != nil {
            places[fruit] = section.place(of: fruit.text)
          } else if others != nil {
            places[fruit] = section.place(of: "default")
          }
          return (fruit, amount ?? others ?? defaultAmount)
        })
    }
    self.places = places
  }

  /// Reports each amount above the capacity, at the place of the amount; or at that of the
  /// capacity, if the amount is the built-in default.
  func check(atMost capacity: Amounts, in section: Section) {
    var fruits: [Excess: [Fruit.ID]] = [:]
    for (fruit, amount) in amounts {
      guard let limit = capacity.amounts[fruit], amount > limit,
        let place = places[fruit] ?? capacity.places[fruit]
      else { continue }
      fruits[Excess(amount: amount, limit: limit, place: place), default: []].append(fruit)
    }
    // An amount that is written once for several fruits is reported once.
    for (excess, fruits) in fruits.sorted(by: { $0.value[0] < $1.value[0] }) {
      let names = fruits.map(\.text).joined(separator: ", ")
      section.collector.report(
        Diagnostic(
          "\(excess.amount) is more than the capacity of \(excess.limit) (\(names))",
          hint: "lower '\(key)' or raise 'capacity'"),
        at: excess.place, path: ["stock", key])
    }
  }
}
