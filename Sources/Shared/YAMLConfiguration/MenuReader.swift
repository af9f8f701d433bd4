package import JuiceDomain
package import KioskProtocol

/// Reads the section `menu`.
///
/// ```yaml
/// menu:
///   base: standard        # adds to the built-in menu; an entry with a built-in id replaces only
///                         # the values that it contains
///   fruits:
///     orange: {en: Orange, ko: 오렌지, crate: 12}   # or only a name: `orange: Orange`
///     kiwi: {keeps_hours: 72, cost: 0.40, color: "#94d82d"}   # hours of sale after a restock
///   juices:
///     orange: {en: Orange juice, ko: 오렌지쥬스, recipe: {orange: 3}, price: 3.50}
///   currency: EUR         # only with prices
/// ```
///
/// Without `base`, the fruits and juices of the section are the whole menu. An absent or empty
/// section selects the built-in menu.
package struct MenuReader {
  /// All valid fruits, even if the menu as a whole is invalid.
  package private(set) var fruits: [Fruit] = []
  private var juices: [Juice] = []
  /// The menu; the built-in menu if the section is invalid.
  package private(set) var menu = Menu.standard
  /// Whether the fruits are those of the kiosk, so that the section may not contain fruits.
  private var hasFruits = false
  /// Whether the fruits of the kiosk are unknown, so that the juices may use any fruit.
  private var allowsAnyFruit = false

  /// The menu to which the section adds its entries.
  private enum Base: String, CaseIterable {
    case none
    case standard
  }

  package init(_ root: inout Section) { read(&root) }

  private mutating func read(_ root: inout Section) {
    let errorsBefore = root.collector.errors.count
    root.section("menu", hasVariables: false) { readMenu(&$0) }
    guard root.collector.errors.count == errorsBefore else { return }
    do throws(MenuError) {
      if allowsAnyFruit {
        fruits = Set(juices.flatMap { $0.recipe.amounts.map(\.fruit) }).sorted().map { Fruit($0) }
      }
      menu = try Menu(fruits: fruits, juices: juices)
    } catch {
      root.report(Diagnostic("\(error.flaw)"), at: "menu")
    }
  }

  /// Reads a menu from upstream: `base`, `currency` and `juices`. The fruits are those of the
  /// kiosk.
  ///
  /// - Parameters:
  ///   - file: The path of the menu's file, or `nil` to name its version in error messages.
  ///   - fruits: The fruits of the kiosk, or `nil` if they are not known.
  package init(
    _ desired: DesiredMenu, file: String? = nil, fruits: [Fruit]?,
    into collector: DiagnosticCollector
  ) {
    (self.fruits, hasFruits, allowsAnyFruit) = (fruits ?? [], true, fruits == nil)
    let own = DiagnosticCollector(file: file ?? "menu \(desired.version)", environment: [:])
    if let document = Document.compose(desired.text, collector: own) {
      var root = Section(document.root, at: .file(own.file), collector: own)
      if !root.has("menu") { root.report(Diagnostic("is missing"), at: "menu") }
      read(&root)
      root.reportUnknownKeys()
    }
    collector.merge(own)
  }

  private mutating func readMenu(_ section: inout Section) {
    let base = section.read("base", .choice()) ?? (section.keys.isEmpty ? Base.standard : .none)
    if base == .standard {
      if !hasFruits { fruits = Menu.standard.fruits }
      juices = Menu.standard.juices
    }
    let currency = section.read("currency", .currency)
    let isMissing = !section.has("currency")
    // If the currency is invalid, the reader reports the currency, but no prices.
    let price = currency.map(Format.price) ?? (isMissing ? Format.inNoCurrency : nil)
    section.section(
      "fruits", unknown: hasFruits ? "is allowed only in the kiosk's own file" : Section.unknownKey
    ) {
      section in
      guard !hasFruits else { return }
      for key in section.keys {
        let base = fruits.first { $0.id.text == key }
        if let fruit = Fruit(&section, key, base, price) { fruits.replaceOrAppend(fruit) }
      }
    }
    section.section("juices") { section in
      for key in section.keys {
        let base = juices.first { $0.id.text == key }
        if let juice = Juice(
          &section, key, base, fruits: allowsAnyFruit ? nil : fruits, price)
        {
          juices.replaceOrAppend(juice)
        }
      }
    }
  }
}

extension Fruit {
  /// Creates a fruit whose name is its id.
  package init(_ id: ID) { self.init(id: id, name: LocalizedName(fallback: id.text)) }

  /// Reads the fruit `key`. Reports each error, and returns `nil` if the id is invalid or reserved.
  ///
  /// - Parameter base: The fruit with this id in the base menu.
  fileprivate init?(
    _ section: inout Section, _ key: String, _ base: Fruit?, _ format: Format<Money>?
  ) {
    var (name, crate, keeps, cost) = (base?.name, base?.crate, base?.keepsHours, base?.cost)
    var color = base?.color
    if section.isSection(key) {
      section.section(key) { section in
        name = LocalizedName(&section, fallback: key) ?? name
        section.read("crate", .integer(Fruit.crates), into: &crate)
        section.read("keeps_hours", .integer(Fruit.keeps), into: &keeps)
        cost = Money(&section, "cost", format) ?? cost
        color = section.read("color", .color) ?? color
      }
    } else if let text = section.read(key, .text) {
      name = LocalizedName(fallback: text)
    }
    guard key != Fruit.reservedID.text else {
      section.report(
        Diagnostic("this id is reserved: 'stock' uses it for all other fruits"), at: key)
      return nil
    }
    guard let id = ID(section, key) else { return nil }
    // A fruit with an invalid name stays on the menu, so that recipes with it are not errors, too.
    self.init(
      id: id, name: name ?? LocalizedName(fallback: key), crate: crate, keepsHours: keeps,
      cost: cost, color: color)
  }
}

extension Juice {
  /// Reads the juice `key`. Reports each error, and returns `nil` if the id or recipe is invalid.
  ///
  /// - Parameter base: The juice with this id in the base menu.
  fileprivate init?(
    _ section: inout Section, _ key: String, _ base: Juice?, fruits: [Fruit]?,
    _ format: Format<Money>?
  ) {
    let juice = section.section(key) { section -> Juice? in
      let name = LocalizedName(&section, fallback: key)
      let recipe = Recipe(&section, "recipe", base?.recipe, fruits: fruits)
      let price = Money(&section, "price", format)
      let allergens = section.readText("allergens", upTo: Juice.maximumText)
      let note = section.readText("note", upTo: Juice.maximumText)
      let picture = section.read("picture", .picture)
      // The id is checked last, because it belongs to the section around this one.
      guard let recipe, let id = ID(key) else { return nil }
      return Juice(
        id: id, name: name ?? base?.name ?? LocalizedName(fallback: key), recipe: recipe,
        price: price, allergens: allergens, note: note, picture: picture)
    }
    guard ID(section, key) != nil, let juice else { return nil }
    self = juice
  }
}

extension LocalizedName {
  /// Reads the name, or returns `nil` if there is no name in any language.
  fileprivate init?(_ section: inout Section, fallback: String) {
    let english = section.read(Language.english.rawValue, .text)
    let korean = section.read(Language.korean.rawValue, .text)
    guard english != nil || korean != nil else { return nil }
    self.init(english: english, korean: korean, fallback: fallback)
  }
}

extension Section {
  /// Reads a text for customers: one text for all languages, or texts by language. Returns `nil` if
  /// there is none.
  ///
  /// - Parameter limit: Maximum length in each language, in Unicode scalars.
  package mutating func readText(_ key: String, upTo limit: Int) -> LocalizedName? {
    let format = Format.text(upTo: limit)
    guard isSection(key) else { return read(key, format).map { LocalizedName(fallback: $0) } }
    let (english, korean) = section(key, hasVariables: false) { section in
      if section.keys.isEmpty {
        section.report(Diagnostic("has no language", hint: "write it like '{en: City hall}'"))
      }
      return (
        section.read(Language.english.rawValue, format),
        section.read(Language.korean.rawValue, format)
      )
    }
    guard let fallback = english ?? korean else { return nil }
    return LocalizedName(english: english, korean: korean, fallback: fallback)
  }
}

extension Format where Value == Fruit.Color {
  fileprivate static let color = Format { scalar throws(Diagnostic) in
    let text = try scalar.string()
    guard let color = Fruit.Color(text) else {
      throw Diagnostic("\(text.quoted) is not a color", hint: "write it like '\"#ff922b\"'")
    }
    return color
  }
}

extension Format where Value == Juice.Picture {
  fileprivate static let picture = Format { scalar throws(Diagnostic) in
    let text = try scalar.string()
    guard let picture = Juice.Picture(text) else {
      throw Diagnostic(
        "\(text.quoted) is not the name of a picture",
        hint: "write it like 'mango.svg'; it may end in .svg, .png or .jpg")
    }
    return picture
  }
}

extension Recipe {
  fileprivate init?(
    _ section: inout Section, _ key: String, _ base: Recipe?, fruits: [Fruit]?
  ) {
    let errorsBefore = section.collector.errors.count
    let amounts = section.section(key, unknown: "the menu has no such fruit") { section in
      let ids = fruits?.map(\.id) ?? section.keys.compactMap { Fruit.ID($0) }
      return FruitAmounts(
        ids.compactMap { id in
          section.read(id.text, .integer(Recipe.validAmounts)).map { (id, $0) }
        })
    }
    guard section.collector.errors.count == errorsBefore else { return nil }
    if let base, !section.has(key) {
      self = base
      return
    }
    do throws(MenuError.Flaw) {
      try self.init(amounts)
    } catch {
      section.report(Diagnostic("\(error)"), at: key)
      return nil
    }
  }
}

extension Money {
  /// Reads the amount `key`, or returns `nil` if it is absent or invalid.
  ///
  /// - Parameter format: The format of a price, or `nil` if the currency is invalid.
  fileprivate init?(_ section: inout Section, _ key: String, _ format: Format<Money>?) {
    guard let format else {
      section.read(key, Format<Void> { _ in })
      return nil
    }
    guard let price = section.read(key, format) else { return nil }
    self = price
  }
}

extension Identifier {
  /// Creates an id from a key of the section, or reports an error and returns `nil`.
  fileprivate init?(_ section: Section, _ key: String) {
    do throws(Diagnostic) {
      self = try Format<Self>.identifier().read(Scalar(variable: key))
    } catch {
      section.report(error, at: key)
      return nil
    }
  }
}
