import JuiceDomain
import KioskCore
import KioskDaemon

/// A configuration's menu and limits, written twice: for the kiosk and for the model.
package enum ConfigurationVariant: CaseIterable, Sendable {
  case usual
  /// A variant without kiwis, with oranges, another recipe and other limits.
  case other

  var recipes: [String: [String: Int]] {
    switch self {
    case .usual:
      [
        "strawberry": ["strawberry": 16], "banana": ["banana": 2], "kiwi": ["kiwi": 3],
        "pineapple": ["pineapple": 2], "strawberry_banana": ["strawberry": 10, "banana": 1],
        "mango": ["mango": 3], "mango_kiwi": ["mango": 2, "kiwi": 1],
      ]
    case .other:
      [
        "strawberry": ["strawberry": 16], "banana": ["banana": 1, "orange": 1],
        "pineapple": ["pineapple": 2], "mango": ["mango": 3], "orange": ["orange": 3],
      ]
    }
  }

  var fruits: [String] {
    switch self {
    case .usual: ["strawberry", "banana", "pineapple", "kiwi", "mango"]
    case .other: ["strawberry", "banana", "pineapple", "mango", "orange"]
    }
  }

  static let allFruits = Set(allCases.flatMap(\.fruits))

  /// The fruit that keeps for an hour, if fruit has dates; or `nil` for none.
  var keeps: String? { self == .usual ? "mango" : nil }

  /// Prices in cents of a euro; some juices have none.
  var prices: [String: Int] {
    switch self {
    case .usual: ["banana": 200, "kiwi": 350, "strawberry_banana": 505, "mango_kiwi": 0]
    case .other: ["banana": 240, "orange": 310, "mango": 99]
    }
  }

  var capacity: Int { self == .usual ? 100 : 50 }
  var maximumQuantity: Int { self == .usual ? 10 : 2 }

  /// Replaces the menu and the limits of the settings.
  func apply(to settings: inout KioskSettings, hasDates: Bool) throws {
    func all(_ amount: Int) -> FruitAmounts {
      FruitAmounts(settings.menu.fruits.map { (fruit: $0.id, amount: amount) })
    }
    let menu = try self == .usual ? .standard : Self.menu()
    let fruits = menu.fruits.map { fruit in
      Fruit(
        id: fruit.id, name: fruit.name,
        keepsHours: hasDates && fruit.id.text == keeps ? 1 : nil)
    }
    settings.menu = try Menu(fruits: fruits, juices: menu.juices.map(priced))
    settings.stock = KioskSettings.Stock(
      initial: all(Model.initial), capacities: all(capacity), lowMarks: all(5))
    settings.orders.maximumQuantity = maximumQuantity
  }

  private func priced(_ juice: Juice) -> Juice {
    let price = prices[juice.id.text].flatMap { cents in
      Currency("EUR").map { Money(units: cents, $0) }
    }
    return Juice(id: juice.id, name: juice.name, recipe: juice.recipe, price: price)
  }

  private static func menu() throws -> Menu {
    let orange = LocalizedName(english: "Orange", fallback: "orange")
    func juice(_ id: Juice.ID, _ amounts: FruitAmounts) throws -> Juice {
      Juice(id: id, name: orange, recipe: try Recipe(amounts))
    }
    return try Menu(
      fruits: Menu.standard.fruits.filter { $0.id != "kiwi" } + [Fruit(id: "orange", name: orange)],
      juices: [
        juice("strawberry", ["strawberry": 16]), juice("banana", ["banana": 1, "orange": 1]),
        juice("pineapple", ["pineapple": 2]), juice("mango", ["mango": 3]),
        juice("orange", ["orange": 3]),
      ])
  }
}
