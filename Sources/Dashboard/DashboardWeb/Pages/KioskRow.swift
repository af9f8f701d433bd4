import Fleet
import JuiceDomain
import KioskProtocol

/// The row of a kiosk in the list: one line on a laptop, two or three on a phone.
struct KioskRow {
  /// Maximum number of fruits with their own columns.
  static let maximumColumns = 10
  /// Maximum number of fruits shown of a kiosk. Fruits that are out, short or low come first.
  static let maximumFruits = 24

  let kiosk: KioskState
  let now: Timestamp
  let language: Language
  /// The fruits named in the column headers. The row of a kiosk with other fruits names its fruits.
  let columns: [Fruit.ID]

  /// Returns the fruits of the most frequent menu with at most `maximumColumns` fruits, or no
  /// fruits if there is no such menu.
  static func columns(of kiosks: some Sequence<KioskState>) -> [Fruit] {
    let menus = Dictionary(grouping: kiosks.compactMap { $0.menu?.menu.fruits }) { $0.map(\.id) }
    // Compare the ids of equally frequent menus, so that the choice is deterministic.
    let usual = menus.filter { $0.key.count <= maximumColumns }.max { left, right in
      left.value.count == right.value.count
        ? right.key.lexicographicallyPrecedes(left.key) : left.value.count < right.value.count
    }
    return usual?.value.first ?? []
  }

  private var hasColumns: Bool { kiosk.menu.map { $0.menu.fruits.map(\.id) == columns } ?? false }

  var html: HTML {
    """
    <li id="row-\(kiosk.id)" class="kiosk \(style)">
    <a id="kiosk-\(kiosk.id)" class="name" href="/kiosks/\(kiosk.id)" \
    title="\([kiosk.title(language), kiosk.place].compactMap(\.self).joined(separator: ", "))">\
    <b>\(kiosk.title(language))</b>\(place)</a>
    \(signs)
    <span class="levels\(hasColumns ? .empty : " own" as HTML)">\(fruits)</span>
    <span class="fact dry">\(dry)</span>
    <span class="fact sold">\(sold)</span>
    </li>

    """
  }

  private var place: HTML? {
    kiosk.place.map { " <span class=\"place\">\($0)</span>" }
  }

  private var style: HTML {
    switch kiosk.urgency {
    case .offline: "bad away"
    case .noSales, .problem, .out: "bad"
    case .closed, .low: "warn"
    case .fine: problemChips.isEmpty ? "good" : "warn"
    }
  }

  private var problemChips: [HTML] { kiosk.problemChips(language, now: now) }

  private var signs: HTML {
    let problemChips = problemChips
    return problemChips.isEmpty
      ? "<span class=\"chips calm\">\(kiosk.onlineChip(language))</span>"
      : "<span class=\"chips\">\(problemChips)</span>"
  }

  private var fruits: [HTML] {
    let fruits = kiosk.menu?.menu.fruits ?? []
    if kiosk.stock == nil { return [] }
    if fruits.count <= Self.maximumFruits { return fruits.map(slot) }
    let short = fruits.filter { kiosk.shortage(of: $0.id, language) != nil }
    let others = fruits.filter { kiosk.shortage(of: $0.id, language) == nil }
    let more: HTML = "<span class=\"slot muted\">+\(fruits.count - Self.maximumFruits)</span>"
    return (short + others).prefix(Self.maximumFruits).map(slot) + [more]
  }

  /// Returns the stock of a fruit above a bar with its low mark. For a fruit that is out, short or
  /// low, the stock is a link to the restock form.
  private func slot(_ fruit: Fruit) -> HTML {
    let level = StockLevel(of: fruit.id, in: kiosk)
    let name = fruit.name[language]
    let (before, after): (HTML, HTML) =
      hasColumns
      ? ("<span class=\"hidden\">\(name) </span>", "")
      : ("", " <span class=\"fruit-name\">\(name)</span>")
    let room: HTML? = level.capacity.map { "<span class=\"hidden\"> / \($0)</span>" }
    let amount: HTML = "\(before)\(level.stock)\(room)"
    guard let (style, word) = kiosk.shortage(of: fruit.id, language) else {
      return "<span class=\"slot\">\(amount)\(after)\(level.bar())</span>"
    }
    return """
      <a id="\(kiosk.id)-\(fruit.id)" class="slot \(style)" \
      href="\(kiosk.restockAddress([fruit.id]))">\(amount) <small>\(word)</small>\(after)\(level.bar())</a>
      """
  }

  private var dry: HTML? {
    kiosk.nextStockout.map { next in
      let localTime = LocalTime(nil, now: now, language)
      return """
        <span class="key">\(language("Next stockout", "다음 품절"))</span> \
        \(kiosk.name(of: next.fruit, language)) \(localTime.expectation(next.at))
        """
    }
  }

  private var sold: HTML? {
    kiosk.soldToday.map { sold in
      let usual: HTML? = kiosk.usuallySold.map { usual in
        " <span class=\"muted\">\(language("usually", "평소")) \(Int(usual.rounded()))</span>"
      }
      return """
        <span class="key">\(language("Sold today", "오늘 판매"))</span> \
        \(sold)\(usual)
        """
    }
  }
}
