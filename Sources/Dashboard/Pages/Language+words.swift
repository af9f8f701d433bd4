import JuiceDomain

extension Language {
  /// The one of the two that is in this language: translations stand side by side, where they are
  /// used, and none can be forgotten.
  func callAsFunction(_ english: String, _ korean: String) -> String {
    switch self {
    case .english: english
    case .korean: korean
    }
  }

  /// The first of the languages that a browser asks for (`Accept-Language`, RFC 9110 12.5.4) that
  /// there is; English if there is none.
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
