import JuiceDomain

extension Language {
  /// The text in this language. Translations stand side by side where they are used: none can be forgotten.
  func callAsFunction(_ english: String, _ korean: String) -> String {
    switch self {
    case .english: english
    case .korean: korean
    }
  }

  /// The language that a browser likes best (`Accept-Language`, RFC 9110 12.5.4) of those of the pages;
  /// English if it asks for none of them.
  init(accepting header: String) {
    let wanted = header.split(separator: ",").prefix(20).map { entry in
      let parts = entry.split(separator: ";").map { part in String(part.filter { $0 != " " }) }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }
      let code = parts.first?.split(separator: "-").first?.lowercased()
      return (
        language: code.flatMap { Language(rawValue: $0) },
        quality: weight.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
      )
    }
    // The sort is not stable: of equal ones the first must win.
    let best = wanted.enumerated()
      .filter { $0.element.language != nil && $0.element.quality > 0 }
      .min { (-$0.element.quality, $0.offset) < (-$1.element.quality, $1.offset) }
    self = best?.element.language ?? .english
  }
}
