import Fleet
import JuiceDomain
import KioskProtocol

/// The form for one juice, with a new fruit in its recipe if the kiosk does not stock it; or for a new
/// fruit alone.
///
/// | fields | meaning |
/// |---|---|
/// | `juice` | the id of the juice that is changed, or empty for a new one |
/// | `name.id`, `name.en`, `name.ko` | a new juice without an id gets one from its English name, or a number |
/// | `amount.kiwi`, `price`, `allergens.en`, `note.ko`, `picture` | |
/// | `fruit.id`, `fruit.en`, `fruit.ko`, `fruit.amount`, `fruit.color`, `fruit.crate`, `fruit.keeps`, `fruit.capacity` | the new fruit, and its amount in the recipe |
///
/// `Fruit.init(entry:)` and `Juice.init(entry:)` check the values, as they check a command at the kiosk.
struct MenuForm {
  /// The reason why the form contains no valid fruit or juice.
  enum Problem: Error, Equatable {
    case fruit(MenuEntryFlaw)
    case juice(MenuEntryFlaw)
    /// Kiosks have another fruit or juice with the id; no names if it is the kiosk of the page.
    case fruitExists(String, at: [LocalizedName])
    case juiceExists(String, at: [LocalizedName])
    case price(String)
    case currency
    case capacity
    case nothing

    func text(_ language: Language) -> String {
      switch self {
      case .fruit(let flaw): language("New fruit, ", "새 과일, ") + flaw.text(language)
      case .juice(let flaw): language("Juice, ", "쥬스, ") + flaw.text(language)
      case .fruitExists(let id, let kiosks) where !kiosks.isEmpty:
        language("New fruit, id: ", "새 과일, id: ") + Self.another(id, kiosks, language)
      case .fruitExists(let id, _):
        language(
          "New fruit, id: the kiosk has a fruit “\(id)” already.", "새 과일, id: \(id) 과일이 이미 있어요.")
      case .juiceExists(let id, let kiosks) where !kiosks.isEmpty:
        language("Juice, id: ", "쥬스, id: ") + Self.another(id, kiosks, language)
      case .juiceExists(let id, _):
        language(
          "Juice, id: the kiosk has a juice “\(id)” already; change that one, or choose another id.",
          "쥬스, id: \(id) 쥬스가 이미 있어요. 그 쥬스를 바꾸거나 다른 id로 적어 주세요.")
      case .price(let example):
        language(
          "Juice, price: not an amount such as \(example).", "쥬스, 가격: \(example)처럼 적어 주세요.")
      case .currency:
        language(
          "Juice, price: it needs a currency of three capital letters, such as EUR.",
          "쥬스, 가격: KRW처럼 대문자 세 글자의 통화가 필요해요.")
      case .capacity:
        language(
          "New fruit, capacity: write a whole number from 5.", "새 과일, 최대 수량: 5 이상의 정수로 적어 주세요.")
      case .nothing:
        language("Write the name of a juice or of a new fruit.", "쥬스나 새 과일의 이름을 적어 주세요.")
      }
    }

    private static func another(
      _ id: String, _ kiosks: [LocalizedName], _ language: Language
    ) -> String {
      let names = kiosks.map { $0[language] }.joined(separator: ", ")
      return language(
        "these kiosks have another one with the id “\(id)”: \(names). Choose another id, or leave them out.",
        "\(id) id를 다른 것에 쓰는 키오스크가 있어요: \(names). 다른 id로 적거나 그 키오스크를 빼 주세요.")
    }
  }

  private let form: Form
  private let kiosk: KioskState
  /// The other kiosks that get the fruit and the juice.
  private let targets: [KioskState]

  /// Reads the form.
  static func edit(
    _ form: Form, at kiosk: KioskState, and targets: [KioskState] = []
  ) throws(Problem) -> SettingsEdit {
    let reader = MenuForm(form: form, kiosk: kiosk, targets: targets)
    var edit = SettingsEdit()
    let fruit = try reader.fruit()
    if let fruit {
      edit.fruits = [fruit]
      edit.capacities[fruit.id] = try reader.capacity()
    }
    if let juice = try reader.juice(with: fruit) {
      edit.juices = [juice]
      edit.prices[juice.id] = try reader.price()
      if kiosk.currency == nil { edit.currencyChosen = kiosk.id }
    }
    guard fruit != nil || !edit.juices.isEmpty else { throw .nothing }
    return edit
  }

  private func fruit() throws(Problem) -> Fruit? {
    guard ["id", "en", "ko", "amount"].contains(where: { text("fruit.\($0)") != nil }) else {
      return nil
    }
    let fruit: Fruit
    do throws(MenuEntryFlaw) {
      fruit = try Fruit(
        entry: object([
          ("id", id("fruit")), ("name", texts("fruit")), ("crate", number("fruit.crate")),
          ("keeps_hours", number("fruit.keeps")), ("color", text("fruit.color")),
        ]))
    } catch {
      throw .fruit(error)
    }
    let others = kiosks { kiosk in
      kiosk.baseMenu?.menu.contains(fruit.id) == true && !kiosk.change.fruits.contains(fruit)
    }
    if let others { throw .fruitExists(fruit.id.text, at: others) }
    return fruit
  }

  private func juice(with fruit: Fruit?) throws(Problem) -> Juice? {
    let fruits = kiosk.baseMenu?.menu.fruits.map(\.id.text) ?? []
    var recipe = fruits.compactMap { id in number("amount.\(id)").map { (id, $0) } }
    if let fruit, let amount = number("fruit.amount") { recipe.append((fruit.id.text, amount)) }
    let old = form["juice"].flatMap { $0.isEmpty ? nil : $0 }
    guard old != nil || texts("name") != nil || text("name.id") != nil || !recipe.isEmpty else {
      return nil
    }
    let juice: Juice
    do throws(MenuEntryFlaw) {
      juice = try Juice(
        entry: object([
          ("id", old.map { .string($0) } ?? id("name")), ("name", texts("name")),
          ("recipe", object(recipe)), ("allergens", texts("allergens")), ("note", texts("note")),
          ("picture", text("picture")),
        ]))
    } catch {
      throw .juice(error)
    }
    let others = kiosks { kiosk in
      kiosk.baseMenu?.menu.juice(juice.id) != nil && !kiosk.change.juices.contains(juice)
    }
    if old == nil, let others { throw .juiceExists(juice.id.text, at: others) }
    return juice
  }

  /// Returns the names of the kiosks where a new fruit or juice would replace another one: no names if
  /// the kiosk of the page is one of them, `nil` if there are none. A kiosk that has applied the form at
  /// an earlier attempt is none of them.
  private func kiosks(where hasOther: (KioskState) -> Bool) -> [LocalizedName]? {
    func isTaken(_ kiosk: KioskState) -> Bool {
      let isApplied = form.commandID.map { $0 == kiosk.settings?.stored?.id } ?? false
      return !isApplied && hasOther(kiosk)
    }
    if isTaken(kiosk) { return [] }
    let names = targets.filter(isTaken).map { $0.name ?? LocalizedName(fallback: $0.id.text) }
    return names.isEmpty ? nil : names
  }

  private func price() throws(Problem) -> Money? {
    guard form.isChanged("price"), let text = form["price"]?.filter({ !$0.isWhitespace }),
      !text.isEmpty
    else { return nil }
    guard let currency = kiosk.currency ?? form["currency"].flatMap({ Currency($0) }) else {
      throw .currency
    }
    guard let price = Money(text.decimal(currency), currency), price.units <= JSON.maximumUnits
    else { throw .price(currency.example) }
    return price
  }

  private func capacity() throws(Problem) -> Int? {
    guard text("fruit.capacity") != nil else { return nil }
    guard let capacity = form.value("fruit.capacity"), capacity >= Fruit.standardLowMark else {
      throw .capacity
    }
    return capacity
  }

  // MARK: Members

  private func object(_ members: [(String, JSON?)]) -> JSON {
    .object(members.compactMap { key, value in value.map { JSON.Member(key: key, value: $0) } })
  }

  private func text(_ name: String) -> JSON? {
    guard let text = form[name], text.contains(where: { !$0.isWhitespace }) else { return nil }
    return .string(text)
  }

  /// Returns a number, or the text that is none, which the rules reject.
  private func number(_ name: String) -> JSON? {
    guard let text = form[name]?.filter({ !$0.isWhitespace }), !text.isEmpty else { return nil }
    return Int(text).map { .integer($0) } ?? .string(text)
  }

  private func texts(_ name: String) -> JSON? {
    let texts = Language.allCases.map { ($0.rawValue, text("\(name).\($0.rawValue)")) }
    return texts.contains { $0.1 != nil } ? object(texts) : nil
  }

  /// Returns the entered id, or one made from the English name: `orange_juice`. If there is only a Korean
  /// name, returns a number that no other has at any of the kiosks: `juice_1`.
  private func id(_ name: String) -> JSON? {
    if let id = text("\(name).id") { return id }
    let words = (form["\(name).en"] ?? "").lowercased().split { character in
      !character.isASCII || !character.isLetter && !character.isNumber
    }
    if !words.isEmpty { return .string(String(words.joined(separator: "_").prefix(64))) }
    guard text("\(name).ko") != nil else { return nil }
    let kind = name == "fruit" ? "fruit" : "juice"
    let used = Set(
      ([kiosk] + targets).compactMap { $0.baseMenu?.menu }.flatMap { menu in
        name == "fruit" ? menu.fruits.map(\.id.text) : menu.juices.map(\.id.text)
      })
    return (1...1_000).lazy.map { "\(kind)_\($0)" }.first { !used.contains($0) }
      .map { .string($0) }
  }
}
