extension String {
  /// The width in columns of a terminal; a Korean syllable has a width of 2.
  package var columns: Int { reduce(0) { $0 + $1.columns } }

  package func padded(to width: Int, left: Bool = false) -> String {
    let padding = String(repeating: " ", count: max(0, width - columns))
    return left ? padding + self : self + padding
  }

  /// Returns the longest beginning that is at most `width` columns wide.
  package func cut(to width: Int) -> String {
    var rest = width
    return String(
      prefix { character in
        rest -= character.columns
        return rest >= 0
      })
  }

  /// Returns the text with line breaks between words. A word wider than a line stays whole.
  ///
  /// - Parameters:
  ///   - width: The width of the terminal, or `nil` to change nothing.
  ///   - indent: The beginning of each further line. The first line is shorter by the same width.
  package func wrapped(to width: Int?, indent: String = "") -> String {
    guard let width else { return self }
    var lines: [String] = []
    for line in split(separator: "\n", omittingEmptySubsequences: false) {
      let words = line.split(separator: " ", omittingEmptySubsequences: false)
      var current = String(words.first ?? "")
      for word in words.dropFirst() {
        let longer = "\(current) \(word)"
        let isTooWide = longer.columns > width - indent.columns
        if isTooWide, current.contains(where: { $0 != " " }) {
          lines.append(current)
          current = String(word)
        } else {
          current = longer
        }
      }
      lines.append(current)
    }
    return lines.joined(separator: "\n\(indent)")
  }

  /// Returns the text in a color of the terminal (ECMA-48, SGR).
  package func painted(_ color: Color, if isColored: Bool) -> String {
    isColored && !isEmpty ? "\u{1B}[\(color.rawValue)m\(self)\u{1B}[0m" : self
  }

  package enum Color: Int {
    case red = 31
    case green = 32
    case yellow = 33
  }
}

extension Character {
  /// The width in columns: 2 for a character that Unicode classifies as wide or fullwidth (UAX 11),
  /// otherwise 1. Only the ranges that names of juices use are complete.
  fileprivate var columns: Int {
    guard let scalar = unicodeScalars.first else { return 0 }
    if scalar.properties.isEmojiPresentation { return 2 }
    return switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
      0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60,
      0xFFE0...0xFFE6, 0x20000...0x3FFFD:
      2
    default: 1
    }
  }
}
