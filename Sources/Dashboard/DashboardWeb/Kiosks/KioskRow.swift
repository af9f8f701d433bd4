import Fleet
import JuiceDomain
import KioskProtocol

/// The row of a kiosk in the list: one line on a laptop, two or three on a phone.
struct KioskRow {
  /// Maximum number of fruits with their own columns.
  static let maximumColumns = 10
  /// Maximum number of fruits shown of a kiosk. Fruits that are out, short or low come first.
  static let maximumFruits = 24
  /// Maximum number of chips in the row, with the one that says how many more the kiosk's page has.
  static let maximumChips = 3

  let kiosk: KioskState
  let problems: [Problem]
  let now: Timestamp
  let language: Language
  /// The fruits named in the column headers. The row of a kiosk with other fruits names its fruits.
  let columns: [Fruit.ID]

  /// Returns the fruits of the most frequent menu with at most `maximumColumns` fruits, or no
  /// fruits if there is no such menu.
  static func columns(of kiosks: some Sequence<KioskState>) -> [Fruit] {
    let menus = Dictionary(grouping: kiosks.compactMap { $0.menu?.menu.fruits }) { $0.map(\.id) }
    // Of equally frequent menus the shortest one, because a kiosk with more fruits uses its columns;
    // then compare the ids, so that the choice is deterministic.
    let usual = menus.filter { $0.key.count <= maximumColumns }.max { left, right in
      guard left.value.count == right.value.count else {
        return left.value.count < right.value.count
      }
      return left.key.count == right.key.count
        ? right.key.lexicographicallyPrecedes(left.key) : left.key.count > right.key.count
    }
    return usual?.value.first ?? []
  }

  var html: HTML {
    """
    <li id="row-\(kiosk.id)" class="kiosk \(style(problems.first))">
    <a id="kiosk-\(kiosk.id)" class="name" href="/kiosks/\(kiosk.id)" \
    title="\([kiosk.title(language), kiosk.place].compactMap(\.self).joined(separator: ", "))">\
    <b>\(kiosk.title(language))</b>\(place)</a>
    \(signs)
    \(levels)
    <span class="fact dry">\(dry)</span>
    <span class="fact sold">\(sold)</span>
    </li>

    """
  }

  private var place: HTML? {
    kiosk.place.map { " <span class=\"place\">\($0)</span>" }
  }

  private func style(_ worst: Problem?) -> HTML {
    guard let worst else { return "good" }
    return worst.kind == .offline ? "bad away" : worst.severity == .note ? "warn" : "bad"
  }

  /// Returns the chips of the problems. The slots of the fruits show which are short or low.
  private var signs: HTML {
    let shown = problems.filter { $0.kind.group != .stock }
    let chips = kiosk.chips(for: shown, language, now: now)
    let hidden = chips.count > Self.maximumChips ? chips.count - Self.maximumChips + 1 : 0
    let more: HTML? =
      hidden > 0
      ? "<span class=\"chip bad\">\(language("+\(hidden) more", "외 \(hidden)건"))</span>" : nil
    let calm: HTML = shown.isEmpty ? " calm" : ""
    return "<span class=\"chips\(calm)\">\(Array(chips.dropLast(hidden)))\(more)</span>"
  }

  /// The slots of the fruits: those with a column below its header, then others with their names.
  private var levels: HTML {
    guard kiosk.reports.stock != nil else { return "<span class=\"levels\"></span>" }
    let fruits = kiosk.reports.menu?.menu.fruits ?? []
    let main = columns.compactMap { id in fruits.first { $0.id == id } }
    // A kiosk that lacks a fruit of the columns uses none of them.
    guard !main.isEmpty, main.count == columns.count else {
      return "<span class=\"levels own\">\(named(fruits, atMost: Self.maximumFruits))</span>"
    }
    let others = fruits.filter { !columns.contains($0.id) }
    let first: HTML = "<span class=\"levels\">\(main.map { slot($0, isNamed: false) })</span>"
    if others.isEmpty { return first }
    return """
      <span class="stock">\(first)<span class="levels own">\(named(others, atMost: Self.maximumFruits - main.count))</span></span>
      """
  }

  /// Returns slots with names; of more than `limit` fruits those that are out, short or low first.
  private func named(_ fruits: [Fruit], atMost limit: Int) -> [HTML] {
    let short = fruits.filter { kiosk.shortage(of: $0.id, language) != nil }
    let others = fruits.filter { kiosk.shortage(of: $0.id, language) == nil }
    let shown = fruits.count <= limit ? fruits : Array((short + others).prefix(limit))
    let more: HTML = "<span class=\"slot muted\">+\(fruits.count - shown.count)</span>"
    return shown.map { slot($0, isNamed: true) } + (shown.count < fruits.count ? [more] : [])
  }

  /// Returns the stock of a fruit above a bar with its low mark. For a fruit that is out, short or
  /// low, the stock is a link to the restock form.
  private func slot(_ fruit: Fruit, isNamed: Bool) -> HTML {
    let level = StockLevel(of: fruit.id, in: kiosk)
    let name = fruit.name[language]
    let (before, after): (HTML, HTML) =
      !isNamed
      ? ("<span class=\"hidden\">\(name) </span>", "")
      : ("", " <span class=\"fruit-name\">\(name)</span>")
    let room: HTML? = level.capacity.map { "<span class=\"hidden\"> / \($0)</span>" }
    let amount: HTML = "\(before)\(level.stock)\(room)"
    guard let (style, shortage) = kiosk.shortage(of: fruit.id, language) else {
      return "<span class=\"slot\">\(amount)\(after)\(level.bar())</span>"
    }
    // "10 too little" would be read as a number of missing fruits.
    let isLeft = style == "bad" && level.stock > 0
    let word = isLeft ? language("left", "남음") : shortage
    return """
      <a id="\(kiosk.id)-\(fruit.id)" class="slot \(style)" \
      href="\(kiosk.restockAddress([fruit.id]))">\(amount) <small>\(word)</small>\(after)\(level.bar())</a>
      """
  }

  private var dry: HTML? {
    kiosk.nextStockout.map { next in
      let (name, time) = (
        kiosk.name(of: next.fruit, language),
        LocalTime(nil, now: now, language).expectation(next.at)
      )
      // On a wide page the column has a header.
      return language == .english
        ? "\(name) <span class=\"key\">out</span> \(time)"
        : "\(name) \(time) <span class=\"key\">품절</span>"
    }
  }

  private var sold: HTML? {
    kiosk.sold(on: LocalTime(kiosk.timeZone, now: now, language).today).map { sold in
      let usual: HTML? = kiosk.usuallySold.map { usual in
        " <span class=\"muted\">\(language("usually", "평소")) \(Int(usual.rounded()))</span>"
      }
      return """
        <span class="key">\(language.madeToday)</span> \
        \(sold)\(usual)
        """
    }
  }
}
