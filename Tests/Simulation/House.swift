import JuiceDomain
import KioskController
import KioskCore

/// What a configuration says of menu and limits; written twice, for the kiosk and for the model.
package enum House: CaseIterable, Sendable {
  case usual
  /// Without kiwis, with oranges, and with another recipe and other limits.
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

  var capacity: Int { self == .usual ? 100 : 50 }
  var maximumQuantity: Int { self == .usual ? 10 : 2 }

  /// The rest of the settings stays.
  func furnish(_ settings: inout KioskSettings) throws {
    func all(_ amount: Int) -> FruitAmounts {
      FruitAmounts(settings.menu.fruits.map { (fruit: $0.id, amount: amount) })
    }
    settings.menu = try self == .usual ? .standard : Self.menu()
    settings.stock = KioskSettings.Stock(
      initial: all(Model.initial), capacities: all(capacity), lowMarks: all(5))
    settings.orders.maximumQuantity = maximumQuantity
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
