import Fleet
import JuiceDomain
import KioskProtocol

extension KioskState {
  func name(of fruit: Fruit.ID, _ language: Language) -> String {
    reports.name(of: fruit, language)
  }

  func name(of juice: Juice.ID, _ language: Language) -> String {
    reports.name(of: juice)[language]
  }

  func problemText(_ language: Language, now: Timestamp) -> ProblemText {
    ProblemText(reports, language) { LocalTime(nil, now: now, language).expectation($0) }
  }

  /// Returns a chip for each problem, or the chip `Online`. The title of a chip is the cause and the
  /// remedy.
  func chips(for problems: [Problem], _ language: Language, now: Timestamp) -> [HTML] {
    if problems.isEmpty {
      return ["<span class=\"chip good\">\(language("Online", "온라인"))</span>"]
    }
    let text = problemText(language, now: now)
    return problems.map { problem in
      let style: HTML = problem.severity == .note ? "warn" : "bad"
      let since = (offlineSince ?? lastMessageAt).flatMap { time in
        isOnline ? nil : " · \(LocalTime(nil, now: now, language).distance(time))"
      }
      let title = text.title(of: problem.kind)
      let words = title.capitalizedFirst + (since ?? "")
      switch problem.kind {
      case .out(let fruit), .low(let fruit):
        return "<a class=\"chip \(style)\" href=\"\(restockAddress([fruit]))\">\(words)</a>"
      default:
        let help = [text.detail(of: problem.kind), text.remedy(of: problem.kind)]
          .compactMap(\.self).joined(separator: ": ")
        return "<span class=\"chip \(style)\" title=\"\(help)\">\(words)</span>"
      }
    }
  }

  /// Returns the style and the word for a fruit of the menu that is out, too short for a juice, or
  /// low. Returns `nil` for any other fruit.
  func shortage(of fruit: Fruit.ID, _ language: Language) -> (style: HTML, word: String)? {
    if reports.shortFruits.contains(fruit) {
      return reports.stock?.fruits[fruit] ?? 0 == 0
        ? ("bad", language("out", "품절")) : ("bad", language("too little", "모자람"))
    }
    return reports.alerts[fruit] == .low ? ("warn", language("low", "부족")) : nil
  }
}

extension String {
  var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }

  /// Returns the name of a juice with the number of glasses, such as `Kiwi juice × 2`, or without it for
  /// one glass.
  func times(_ quantity: Int) -> String { quantity == 1 ? self : "\(self) × \(quantity)" }
}

// Restocking.
extension KioskState {
  /// Returns the address of the form that restocks these fruits; the first one gets the focus.
  func restockAddress(_ fruits: [Fruit.ID]) -> String {
    "/kiosks/\(id)?fruit=\(fruits.map(\.text).joined(separator: ","))"
  }

  /// Returns the missing fruits that are on the menu, in the order of the menu.
  func known(_ missing: FruitAmounts) -> [Fruit.ID] {
    (reports.menu?.menu.fruits ?? []).map(\.id).filter { missing[$0] != nil }
  }
}
