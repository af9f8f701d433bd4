import JuiceDomain

// Elements that many pages share.
extension HTML {
  /// The style of a notice, which also determines whether screen readers announce it at once.
  enum NoticeKind {
    case good, warn, bad
    /// The style of a warning, without an announcement by screen readers.
    case hint
  }

  static func notice(_ kind: NoticeKind, _ text: String) -> HTML { notice(kind, html: "\(text)") }

  static func notice(_ kind: NoticeKind, html: HTML, tag: HTML = "p") -> HTML {
    let attributes: HTML =
      switch kind {
      case .good: "class=\"notice good\" role=\"status\""
      case .warn: "class=\"notice warn\" role=\"alert\""
      case .bad: "class=\"notice bad\" role=\"alert\""
      case .hint: "class=\"notice warn\""
      }
    return "<\(tag) \(attributes)>\(html)</\(tag)>"
  }

  /// Returns the result of an action as an element that gets the focus when the page is loaded.
  static func result(_ notice: HTML) -> HTML {
    "<div class=\"result\" tabindex=\"-1\" autofocus>\(notice)</div>"
  }

  /// Returns a table, with the rows of `foot` as its footer.
  static func table(
    _ heads: [String], _ rows: [HTML], id: HTML? = nil, style: HTML = "review", foot: HTML? = nil
  ) -> HTML {
    let heads: [HTML] = heads.map { "<th scope=\"col\">\($0)</th>\n" }
    return """
      <table class="\(style)"\(id.map { " id=\"\($0)\"" as HTML })><thead><tr>\(heads)</tr></thead>
      <tbody>\(rows)</tbody>\(foot.map { "<tfoot>\($0)</tfoot>" as HTML })</table>
      """
  }

  /// Returns a tile with a number and its name.
  ///
  /// - Parameters:
  ///   - style: The style for a number above 0.
  ///   - href: The address of the page that lists the counted items, or `nil` if there is none.
  static func tile(_ name: String, _ number: Int, _ style: HTML, href: String? = nil) -> HTML {
    let value: HTML = href.map { "<a href=\"\($0)\">\(number)</a>" } ?? "\(number)"
    return
      "<div class=\"tile \(number > 0 ? style : .empty)\"><dt>\(name)</dt><dd>\(value)</dd></div>\n"
  }

  static func hidden(_ name: String, _ value: String) -> HTML {
    "<input type=\"hidden\" name=\"\(name)\" value=\"\(value)\">"
  }
}

extension Language {
  func notice(_ kind: HTML.NoticeKind, _ english: String, _ korean: String) -> HTML {
    .notice(kind, self(english, korean))
  }
}

extension PageContext {
  /// Returns the hidden fields of a form: the CSRF token, and the id of the command if the form
  /// sends a command.
  func fields(id: CommandID? = nil) -> HTML {
    "\(HTML.hidden("csrf_token", csrfToken))\(id.map { HTML.hidden("id", $0.text) })"
  }
}

extension FruitAmounts {
  /// Returns a hidden field for each fruit, such as `add.kiwi`.
  func fields(_ kind: String) -> [HTML] { map { .hidden("\(kind).\($0.fruit)", "\($0.amount)") } }
}
