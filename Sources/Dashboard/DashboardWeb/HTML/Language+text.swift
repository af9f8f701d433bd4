import JuiceDomain

extension Language {
  /// Returns an amount of a fruit, or its change with a sign: `5 Kiwi`, `+5 Kiwi`.
  func amount(_ amount: some CustomStringConvertible, of name: String) -> String {
    self("\(amount) \(name)", "\(name) \(amount)개")
  }

  /// Returns the name of a number of kiosks.
  func kiosks(_ count: Int) -> String { self(count == 1 ? "Kiosk" : "Kiosks", "키오스크") }

  /// Selects the supported language with the highest quality value (`Accept-Language`, RFC 9110
  /// 12.5.4), or English if the header names no supported language.
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
    // Compare the offset, too, so that the first of equal quality values is chosen.
    let best = wanted.enumerated()
      .filter { $0.element.language != nil && $0.element.quality > 0 }
      .min { (-$0.element.quality, $0.offset) < (-$1.element.quality, $1.offset) }
    self = best?.element.language ?? .english
  }
}
