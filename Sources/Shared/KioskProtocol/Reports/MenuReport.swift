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

  package var payload: [UInt8] { JSONWriter.object { $0.members(self) } }

  /// Parses a payload, ignoring unknown members.
  ///
  /// - Throws: `JSONError` if the payload is not a menu, or the menu is inconsistent.
  package init(payload: [UInt8]) throws(JSONError) { try self.init(JSON.parse(payload)) }

  init(_ json: JSON) throws(JSONError) {
    guard let fruits = json.elements("fruits"), let juices = json.elements("juices") else {
      throw JSONError("fruits or juices is missing")
    }
    do {
      menu = try Menu(fruits: fruits.map { try Fruit($0) }, juices: juices.map { try Juice($0) })
    } catch {
      throw JSONError("\(error)")
    }
    capacities = FruitAmounts(fruits, "capacity")
    lowMarks = FruitAmounts(fruits, "low")
  }
}

extension JSONWriter {
  mutating func members(_ report: MenuReport) {
    member("fruits", report.menu.fruits) { json, fruit in
      json.members(fruit, capacity: report.capacities[fruit.id], low: report.lowMarks[fruit.id])
    }
    member("juices", report.menu.juices) { $0.members($1) }
  }

  mutating func members(_ fruit: Fruit, capacity: Int? = nil, low: Int? = nil) {
    member("id", fruit.id.text)
    member("name", fruit.name)
    if let capacity { member("capacity", capacity) }
    if let low { member("low", low) }
    if let crate = fruit.crate { member("crate", crate) }
    if let hours = fruit.keepsHours { member("keeps_hours", hours) }
    if let cost = fruit.cost { member("cost", cost) }
    if let color = fruit.color { member("color", color.description) }
  }

  mutating func members(_ juice: Juice) {
    member("id", juice.id.text)
    member("name", juice.name)
    member("recipe", juice.recipe.amounts)
    if let price = juice.price { member("price", price) }
    if let allergens = juice.allergens { member("allergens", allergens) }
    if let note = juice.note { member("note", note) }
    if let picture = juice.picture { member("picture", picture.description) }
  }

  package mutating func member(_ key: StaticString, _ name: LocalizedName) {
    member(key) { json in
      json.member("en", name[.english])
      json.member("ko", name[.korean])
    }
  }
}

extension Fruit {
  fileprivate init(_ json: JSON) throws {
    guard let id = json.text("id").flatMap({ Fruit.ID($0) }) else {
      throw JSONError("a fruit has no id")
    }
    let crate = json.integer("crate").flatMap { Self.crates.contains($0) ? $0 : nil }
    let hours = json.integer("keeps_hours").flatMap { Self.keeps.contains($0) ? $0 : nil }
    self.init(
      id: id, name: LocalizedName(json["name"], fallback: id.text), crate: crate,
      keepsHours: hours, cost: json.money("cost"),
      color: json.text("color").flatMap { Color($0) })
  }
}

extension Juice {
  fileprivate init(_ json: JSON) throws {
    guard let id = json.text("id").flatMap({ Juice.ID($0) }), let recipe = json.amounts("recipe")
    else { throw JSONError("a juice has no id or no recipe") }
    self.init(
      id: id, name: LocalizedName(json["name"], fallback: id.text), recipe: try Recipe(recipe),
      price: json.money("price"),
      allergens: json["allergens"].flatMap { LocalizedName($0, upTo: Juice.maximumText) },
      note: json["note"].flatMap { LocalizedName($0, upTo: Juice.maximumText) },
      picture: json.text("picture").flatMap { Picture($0) })
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

extension FruitAmounts {
  /// Reads the amount at `key` of each fruit; omits a fruit without a valid amount.
  fileprivate init(_ fruits: [JSON], _ key: String) {
    self.init()
    for fruit in fruits {
      guard let id = fruit.text("id").flatMap({ Fruit.ID($0) }), let amount = fruit[key]?.amount,
        amount >= 0
      else { continue }
      self[id] = amount
    }
  }
}
