package import JuiceDomain

// Reads the fruits and juices of a change strictly: `MenuReport` omits an invalid value, a change with
// one is rejected. The dashboard reads its forms with the same code.

extension Fruit {
  /// Reads the fruit of a change.
  package init(entry json: JSON) throws(MenuEntryFlaw) {
    try json.permit(["id", "name", "crate", "keeps_hours", "color"])
    let id: ID = try json.entryID()
    guard id != Self.reservedID else { throw MenuEntryFlaw(.id, .reserved) }
    var color: Color?
    if let value = json.entry("color") {
      guard case .string(let text) = value, let read = Color(text) else {
        throw MenuEntryFlaw(.color, .notColor)
      }
      color = read
    }
    self.init(
      id: id, name: try json.entryName(),
      crate: try json.number("crate", in: Self.crates, .crate),
      keepsHours: try json.number("keeps_hours", in: Self.keeps, .keepsHours), color: color)
  }
}

extension Juice {
  /// Reads the juice of a change.
  package init(entry json: JSON) throws(MenuEntryFlaw) {
    try json.permit(["id", "name", "recipe", "allergens", "note", "picture"])
    var picture: Picture?
    if let value = json.entry("picture") {
      guard case .string(let text) = value, let read = Picture(text) else {
        throw MenuEntryFlaw(.picture, .notPicture)
      }
      picture = read
    }
    self.init(
      id: try json.entryID(), name: try json.entryName(), recipe: try json.recipe(),
      allergens: try json.texts("allergens", upTo: Self.maximumText) { .allergens($0) },
      note: try json.texts("note", upTo: Self.maximumText) { .note($0) }, picture: picture)
  }
}

extension JSON {
  /// Returns a member, or `nil` if it is absent or `null`.
  fileprivate func entry(_ key: String) -> JSON? {
    guard let value = self[key], value != .null else { return nil }
    return value
  }

  fileprivate func permit(_ keys: Set<String>) throws(MenuEntryFlaw) {
    guard case .object(let members) = self else { throw MenuEntryFlaw(.other("it"), .notObject) }
    if let other = members.first(where: { !keys.contains($0.key) }) {
      throw MenuEntryFlaw(.other(other.key.visible(upTo: 64)), .unknown)
    }
  }

  fileprivate func entryID<Entity>() throws(MenuEntryFlaw) -> Identifier<Entity> {
    guard let value = entry("id") else { throw MenuEntryFlaw(.id, .missing) }
    guard case .string(let text) = value, let id = Identifier<Entity>(text) else {
      throw MenuEntryFlaw(.id, .notIdentifier)
    }
    return id
  }

  fileprivate func entryName() throws(MenuEntryFlaw) -> LocalizedName {
    let name = try texts("name", upTo: KioskInfo.maximumName) { .nameIn($0) }
    guard let name else { throw MenuEntryFlaw(.name, .missing) }
    return name
  }

  fileprivate func number(
    _ key: String, in range: ClosedRange<Int>, _ field: MenuEntryFlaw.Field
  ) throws(MenuEntryFlaw) -> Int? {
    guard let value = entry(key) else { return nil }
    guard let number = value.wholeNumber, range.contains(number) else {
      throw MenuEntryFlaw(field, .notIn(range))
    }
    return number
  }

  fileprivate func recipe() throws(MenuEntryFlaw) -> Recipe {
    guard let value = entry("recipe") else { throw MenuEntryFlaw(.recipe, .missing) }
    guard case .object(let members) = value else { throw MenuEntryFlaw(.recipe, .notObject) }
    var amounts: FruitAmounts = [:]
    for member in members {
      let field = MenuEntryFlaw.Field.amount(member.key.visible(upTo: 64))
      guard let fruit = Fruit.ID(member.key) else { throw MenuEntryFlaw(field, .notIdentifier) }
      amounts[fruit] = try value.number(member.key, in: Recipe.validAmounts, field)
    }
    guard let recipe = try? Recipe(amounts) else { throw MenuEntryFlaw(.recipe, .missing) }
    return recipe
  }

  /// Reads a text in each language, or returns `nil` if there is none. A missing language gets the text
  /// of the other one, as in a `MenuReport`.
  fileprivate func texts(
    _ key: String, upTo limit: Int, _ field: (Language) -> MenuEntryFlaw.Field
  ) throws(MenuEntryFlaw) -> LocalizedName? {
    guard let value = entry(key) else { return nil }
    guard case .object(let members) = value else { throw MenuEntryFlaw(.other(key), .notObject) }
    var texts: [Language: String] = [:]
    for member in members where member.value != .null {
      guard let language = Language(rawValue: member.key) else {
        throw MenuEntryFlaw(.other("\(key).\(member.key.visible(upTo: 64))"), .unknown)
      }
      guard case .string(let text) = member.value else {
        throw MenuEntryFlaw(field(language), .notText)
      }
      if let flaw = text.flaw(upTo: limit) { throw MenuEntryFlaw(field(language), .text(flaw)) }
      texts[language] = text
    }
    guard let fallback = texts[.english] ?? texts[.korean] else { return nil }
    return LocalizedName(
      english: fallback, korean: texts[.korean] ?? fallback, fallback: fallback)
  }
}
