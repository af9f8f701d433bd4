import Fleet
import JuiceDomain
import KioskProtocol

/// The page for the screen beside the kiosk: the tickets, what to pay, and the menu.
///
/// The style sheet gives the cards equal rows; the script then chooses the largest text with which
/// everything fits the screen.
struct WallPage {
  let kiosk: KioskState
  /// Whether to show that the kiosk is out of service, because its state is out of date.
  let isOut: Bool
  let now: Timestamp
  let language: Language
  let pictures: OwnPictures

  /// Returns the page.
  ///
  /// - Parameters:
  ///   - path: The path of the page.
  ///   - live: The path of its live updates.
  func page(path: String, live: String) -> ScreenPage {
    let parts = liveParts
    return ScreenPage(
      screen: .wall, title: kiosk.title(language),
      body: """
        <h1\(kiosk.name == nil ? " class=\"hidden\"" : .empty)>\(kiosk.title(language))</h1>
        <p class="closed silence">\(language.outOfService)</p>
        <div class="floor">\(parts.dropLast(2).map(\.html))</div>
        \(parts.suffix(2).map(\.html))
        """, language: language, path: path, live: live)
  }

  /// The boxes, the menu, the kiosk's own words, and the sign of life.
  var liveParts: [LivePart] {
    let tail = [ScreenPage.words(kiosk, language), ScreenPage.alive(now, language)]
    guard !isOut else {
      return [
        LivePart("boxes", tag: "aside", class: "none", .empty),
        LivePart("menu", tag: "section", "<p class=\"closed\">\(language.outOfService)</p>"),
      ] + tail
    }
    let boxes = TicketBoxes(kiosk: kiosk, now: now, language: language).html
    return [
      LivePart(
        "boxes", tag: "aside", class: boxes.isEmpty ? "none" : "some", "\(boxes)"),
      menu(besideBoxes: !boxes.isEmpty),
    ] + tail
  }

  // MARK: The menu

  private func menu(besideBoxes: Bool) -> LivePart {
    let juices = kiosk.menu?.menu.juices ?? []
    let isClosed = kiosk.service == .closed
    let sold = isClosed ? juices : juices.filter { kiosk.reports.obstacle(to: $0) == nil }
    let cards: HTML? =
      sold.isEmpty
      ? nil
      : """
      <div class="can\(isClosed ? " off" : .empty)"><ul class="\(columns(sold.count, besideBoxes))">\(sold.map(card))</ul></div>
      """
    return LivePart(
      "menu", tag: "section",
      """
      \(kiosk.notOrdering(language).map { "<p class=\"closed\">\($0)</p>" as HTML })\(cards)\(isClosed ? nil : unsold(juices))
      """)
  }

  private func card(_ juice: Juice) -> HTML {
    let facts = juice.facts(language)
    return """
      <li><div class="card">\(kiosk.menu?.picture(of: juice, pictures, language))<div class="words">\
      <b class="name">\(juice.name[language])</b>\
      \(juice.price.map { "<span class=\"price\">\($0.text(language))</span>" as HTML })\
      \(facts.isEmpty ? nil : "<small>\(facts)</small>" as HTML)</div></div></li>
      """
  }

  /// The juices that cannot be ordered, by reason.
  private func unsold(_ juices: [Juice]) -> HTML? {
    var groups: [(reason: String, juices: [HTML])] = []
    for juice in juices {
      guard let reason = kiosk.reports.obstacle(to: juice)?.text(language) else { continue }
      let item: HTML = """
        <span class="one">\(kiosk.menu?.picture(of: juice, pictures, language))\(juice.name[language])</span>

        """
      if let index = groups.firstIndex(where: { $0.reason == reason }) {
        groups[index].juices.append(item)
      } else {
        groups.append((reason, [item]))
      }
    }
    guard !groups.isEmpty else { return nil }
    let lines: [HTML] = groups.map { group in
      "<p><span class=\"why\">\(group.reason)</span> \(group.juices)</p>"
    }
    return "<div class=\"cannot\">\(lines)</div>"
  }

  /// Returns the classes for the number of columns on a lying (`w`) and on an upright (`u`) screen.
  private func columns(_ count: Int, _ besideBoxes: Bool) -> HTML {
    // The usual area for the cards, in ninths of the shorter side of the screen.
    let wide = Self.columns(count, width: besideBoxes ? 10.6 : 15.4, height: 7.2)
    let upright = Self.columns(count, width: 8.6, height: besideBoxes ? 8 : 13)
    return "w\(wide) u\(upright)"
  }

  /// Returns the number of columns with which the cards are largest, at most 9.
  static func columns(_ count: Int, width: Double, height: Double) -> Int {
    func rows(_ columns: Int) -> Int { (count + columns - 1) / columns }
    func size(_ columns: Int) -> Double {
      min(width / Double(columns), height / Double(rows(columns)) / 1.15)
    }
    let best = (1...max(1, min(count, 9))).max { size($0) < size($1) } ?? 1
    // Equal rows: 7 juices are 4 and 3, not 5 and 2.
    return (count + rows(best) - 1) / max(1, rows(best))
  }
}

extension HTML {
  var isEmpty: Bool { text.isEmpty }
}
