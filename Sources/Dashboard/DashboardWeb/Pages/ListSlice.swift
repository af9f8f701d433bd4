import JuiceDomain

/// A hundred of many: the part of a long list that is on one page.
struct ListSlice: Sendable {
  static let length = 100

  /// From 1.
  let page: Int
  let pages: Int
  /// Of the whole list.
  let count: Int

  /// - Parameter page: as it was asked for; if there is no such page, the nearest is taken.
  init(page: Int, of count: Int) {
    self.count = count
    pages = max(1, (count + Self.length - 1) / Self.length)
    self.page = min(max(1, page), pages)
  }

  /// How many are on the pages before.
  var start: Int { (page - 1) * Self.length }

  /// Links to the other pages, if there are any.
  func links(_ language: Language, _ address: (Int) -> String) -> HTML {
    guard pages > 1 else { return .empty }
    // The first page, the last, and three on either side: a chain has a hundred pages.
    let shown = (1...pages).filter { $0 == 1 || $0 == pages || abs($0 - page) <= 3 }
    let links: [HTML] = shown.map { number in
      number == page
        ? "<strong aria-current=\"page\">\(number)</strong> "
        : "<a id=\"page-\(number)\" href=\"\(address(number))\">\(number)</a> "
    }
    return "<nav class=\"pages\" aria-label=\"\(language("Pages", "페이지"))\">\(links)</nav>"
  }
}
