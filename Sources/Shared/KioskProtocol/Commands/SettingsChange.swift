package import JuiceDomain

/// The values that an operator has set instead of those of the kiosk's configuration file.
package struct SettingsChange: Hashable, Sendable {
  /// Fruits that the kiosk stocks in addition to those of the file, without a cost.
  package var fruits: [Fruit] = []
  /// Juices that the kiosk sells in addition to those of the file, or instead of the one with the same
  /// id; without a price, because `prices` has those of all juices.
  package var juices: [Juice] = []
  package var prices: [Juice.ID: Money] = [:]
  package var capacities: FruitAmounts = [:]
  package var lowMarks: FruitAmounts = [:]
  /// The juices of the menu that are not sold.
  package var disabled: Set<Juice.ID> = []
  /// The opening hours, or `nil` for those of the file.
  package var hours: OpeningHours?

  /// Creates an empty change, which removes the previous change.
  package init() {}

  package var isEmpty: Bool { self == Self() }
}

/// A command to use `change` instead of the previous change.
package struct SettingsCommand: Hashable, Sendable {
  /// The id of the change that the operator has seen, or `nil` if there was none. The kiosk rejects
  /// the command if another change is in force.
  package let replaced: Request.ID?
  package let change: SettingsChange

  package init(replacing replaced: Request.ID?, with change: SettingsChange) {
    (self.replaced, self.change) = (replaced, change)
  }
}

extension SettingsCommand {
  package init(_ json: JSON) throws(Rejection) {
    var replaced: Request.ID?
    if let value = json["replaces"], value != .null {
      guard case .string(let text) = value, let id = Request.ID(text) else {
        throw Rejection(.malformed, "replaces is not the id of a change")
      }
      replaced = id
    }
    self.init(replacing: replaced, with: try SettingsChange(json))
  }
}

extension SettingsChange {
  /// Parses the members of an object; unknown ones are ignored.
  init(_ json: JSON) throws(Rejection) {
    fruits = try json.entries("fruits") { json throws(MenuEntryFlaw) in try Fruit(entry: json) }
    juices = try json.entries("juices") { json throws(MenuEntryFlaw) in try Juice(entry: json) }
    let currency = json.text("currency").flatMap { Currency($0) }
    for member in try json.members("prices") {
      guard let juice = Juice.ID(member.key) else {
        throw Rejection(.unknownJuice, "a key under prices is not a juice id")
      }
      guard let currency, case .string(let text) = member.value, let price = Money(text, currency),
        price.units <= JSON.maximumUnits
      else {
        throw Rejection(
          .malformed, "prices.\(juice) is not a text such as \"3.50\", or currency is missing")
      }
      prices[juice] = price
    }
    capacities = try json.limits("capacity")
    lowMarks = try json.limits("low")
    if let value = json["disabled"], value != .null {
      guard case .array(let juices) = value else {
        throw Rejection(.malformed, "disabled is \(value.kind); a list of juices is expected")
      }
      for juice in juices {
        guard case .string(let text) = juice, let id = Juice.ID(text) else {
          throw Rejection(.unknownJuice, "an element of disabled is not a juice id")
        }
        disabled.insert(id)
      }
    }
    if let value = json["hours"], value != .null { hours = try OpeningHours(value) }
  }

  /// The valid capacities and low marks of a fruit, as in the kiosk's configuration file.
  fileprivate static let amounts = 0...1_000_000_000
}

extension JSON {
  /// Returns the members of the object at `key`; none if the object is absent.
  fileprivate func members(_ key: String) throws(Rejection) -> [Member] {
    guard let value = self[key], value != .null else { return [] }
    guard case .object(let members) = value else {
      throw Rejection(.malformed, "\(key) is \(value.kind); an object is expected")
    }
    return members
  }

  /// Returns the fruits or juices of the array at `key`; none if the array is absent.
  fileprivate func entries<Entry: Identifiable>(
    _ key: String, _ read: (JSON) throws(MenuEntryFlaw) -> Entry
  ) throws(Rejection) -> [Entry] {
    guard let value = self[key], value != .null else { return [] }
    guard case .array(let elements) = value else {
      throw Rejection(.malformed, "\(key) is \(value.kind); an array is expected")
    }
    var entries: [Entry] = []
    var ids: Set<Entry.ID> = []
    for (index, element) in elements.enumerated() {
      do throws(MenuEntryFlaw) {
        let entry = try read(element)
        guard ids.insert(entry.id).inserted else { throw MenuEntryFlaw(.id, .duplicate) }
        entries.append(entry)
      } catch {
        let name = element.visibleText("id", upTo: 64) ?? "\(index + 1)"
        throw Rejection(.malformed, "\(key).\(name).\(error)")
      }
    }
    return entries
  }

  fileprivate func limits(_ key: String) throws(Rejection) -> FruitAmounts {
    var amounts: FruitAmounts = [:]
    for member in try members(key) {
      guard let fruit = Fruit.ID(member.key) else {
        throw Rejection(.unknownFruit, "a key under \(key) is not a fruit id")
      }
      guard let amount = member.value.wholeNumber, SettingsChange.amounts.contains(amount) else {
        throw Rejection(
          .malformed, "\(key).\(fruit) is not a whole number from 0 to 1000000000")
      }
      amounts[fruit] = amount
    }
    return amounts
  }
}

extension JSONWriter {
  package mutating func members(_ command: SettingsCommand) {
    if let replaced = command.replaced { member("replaces", replaced.text) }
    members(command.change)
  }

  mutating func members(_ change: SettingsChange) {
    if !change.fruits.isEmpty { member("fruits", change.fruits) { $0.members($1) } }
    if !change.juices.isEmpty { member("juices", change.juices) { $0.members($1) } }
    if let currency = change.prices.values.first?.currency {
      member("currency", currency.code)
      member("prices") { json in
        for (juice, price) in change.prices.sorted(by: { $0.key < $1.key }) {
          json.member(named: juice.text, price.text)
        }
      }
    }
    if !change.capacities.isEmpty { member("capacity", change.capacities) }
    if !change.lowMarks.isEmpty { member("low", change.lowMarks) }
    if !change.disabled.isEmpty { member("disabled", change.disabled.map(\.text).sorted()) }
    if let hours = change.hours { member("hours", hours) }
  }
}
