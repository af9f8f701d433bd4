package import JuiceDomain

/// The published menu: names in each language, recipes, prices, capacities and low marks.
package struct MenuReport: Hashable, Sendable {
  package let menu: Menu
  /// Maximum amounts after a restock.
  package let capacities: FruitAmounts
  /// The low marks: amounts at or below which a fruit is low.
  package let lowMarks: FruitAmounts

  package init(menu: Menu, capacities: FruitAmounts, lowMarks: FruitAmounts) {
    self.menu = menu
    self.capacities = capacities
    self.lowMarks = lowMarks
  }
}

extension MenuReport: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    let fruits = try members.all("fruits", \.stocked, upTo: JSON.maximumMenuEntries)
    let juices = try members.all("juices", \.menu.juices, upTo: JSON.maximumMenuEntries)
    menu = try members.made(\.menu) { () throws(JSONError) in
      do { return try Menu(fruits: fruits.map(\.fruit), juices: juices) } catch {
        throw JSONError("\(error)")
      }
    }
    func amounts(_ get: (StockedFruit) -> Int?) -> FruitAmounts {
      FruitAmounts(fruits.compactMap { each in get(each).map { (each.fruit.id, $0) } })
    }
    capacities = try members.made(\.capacities) { amounts(\.capacity) }
    lowMarks = try members.made(\.lowMarks) { amounts(\.low) }
  }

  private var stocked: [StockedFruit] {
    menu.fruits.map { StockedFruit(fruit: $0, capacity: capacities[$0.id], low: lowMarks[$0.id]) }
  }
}

/// A fruit of the menu, with its capacity and its low mark.
private struct StockedFruit: FormattedMessage {
  let fruit: Fruit
  let capacity, low: Int?

  init(fruit: Fruit, capacity: Int?, low: Int?) {
    (self.fruit, self.capacity, self.low) = (fruit, capacity, low)
  }

  init(_ members: inout Members<Self>) throws(JSONError) {
    let amounts = 0...Int(JSON.maximumAmount)
    fruit = try members.members(\.fruit)
    capacity = members.optional("capacity", \.capacity, where: amounts.contains)
    low = members.optional("low", \.low, where: amounts.contains)
  }
}

extension Fruit: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    let id = try members.required("id", \.id)
    self.init(
      id: id, name: members.name(\.name, of: id),
      crate: members.optional("crate", \.crate, where: Self.crates.contains),
      keepsHours: members.optional("keeps_hours", \.keepsHours, where: Self.keeps.contains),
      cost: members.money("cost", \.cost, upTo: JSON.maximumAmount),
      color: members.optional("color", \.color))
  }
}

extension Fruit.Color: MemberValue {}

extension Juice: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    let id = try members.required("id", \.id)
    let name = members.name(\.name, of: id)
    let amounts = try members.required("recipe", \.recipe.amounts)
    let recipe: Recipe
    do { recipe = try Recipe(amounts) } catch { throw JSONError("\(error)") }
    self.init(
      id: id, name: name, recipe: recipe,
      price: members.money("price", \.price, upTo: JSON.maximumAmount),
      allergens: members.text("allergens", \.allergens, upTo: Self.maximumText),
      note: members.text("note", \.note, upTo: Self.maximumText),
      picture: members.optional("picture", \.picture))
  }
}

extension Juice.Picture: MemberValue {}

extension Members {
  /// Reads or writes the name of a fruit or juice. Reads a missing one as the id.
  fileprivate mutating func name<Entity>(
    _ get: (Message) -> LocalizedName, of id: Identifier<Entity>
  ) -> LocalizedName {
    other(
      get, read: { LocalizedName($0["name"], fallback: id.text) },
      write: { $0.member("name", $1) }) ?? LocalizedName(fallback: id.text)
  }
}

extension JSONWriter {
  package mutating func member(_ key: StaticString, _ name: LocalizedName) {
    member(key) { json in
      json.member("en", name[.english])
      json.member("ko", name[.korean])
    }
  }
}

extension LocalizedName {
  /// Reads a text, or returns `nil` if there is none in any language.
  ///
  /// - Parameter limit: Maximum number of Unicode scalars in one language.
  package init?(_ json: JSON, upTo limit: Int) {
    let english = json.visibleText("en", upTo: limit)
    let korean = json.visibleText("ko", upTo: limit)
    guard let fallback = english ?? korean else { return nil }
    self.init(english: english, korean: korean, fallback: fallback)
  }

  package init(_ json: JSON?, fallback: String) {
    self.init(
      english: json?.visibleText("en"), korean: json?.visibleText("ko"), fallback: fallback)
  }
}
