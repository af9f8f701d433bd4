import JuiceDomain

/// The part of a long list that is on one page: up to a hundred items.
struct ListSlice: Sendable {
  static let length = 100

  /// The page number, from 1.
  let page: Int
  let pages: Int
  /// Number of items in the whole list.
  let count: Int

  /// Creates the slice of a page.
  ///
  /// - Parameter page: The requested page number, which is clamped to the existing pages.
  init(page: Int, of count: Int) {
    self.count = count
    pages = max(1, (count + Self.length - 1) / Self.length)
    self.page = min(max(1, page), pages)
  }

  /// Number of items on the preceding pages.
  var start: Int { (page - 1) * Self.length }

  /// Returns links to the other pages, or empty markup if there is only one page.
  func links(_ language: Language, _ address: (Int) -> String) -> HTML {
    guard pages > 1 else { return .empty }
    // Link only the first page, the last page, and three pages on either side of the current page,
    // because a chain may have a hundred pages.
    let shown = (1...pages).filter { $0 == 1 || $0 == pages || abs($0 - page) <= 3 }
    let links: [HTML] = zip(shown, [0] + shown).map { number, previous in
      let gap: HTML? = number > previous + 1 ? "<span>…</span> " : nil
      return number == page
        ? "\(gap)<strong aria-current=\"page\">\(number)</strong> "
        : "\(gap)<a id=\"page-\(number)\" href=\"\(address(number))\">\(number)</a> "
    }
    return "<nav class=\"pages\" aria-label=\"\(language("Pages", "페이지"))\">\(links)</nav>"
  }
}
