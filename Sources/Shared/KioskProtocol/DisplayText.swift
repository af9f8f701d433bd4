// Filters text for people. Decoding filters names and reasons from the network. The log, the web
// pages, notifications and standard error filter all of their text again.

extension Unicode.Scalar {
  /// Whether the scalar is a control character, a format character or a line break. A terminal, a
  /// browser or a mail program may interpret such a scalar: U+202E reverses the text after it.
  package var isInvisible: Bool {
    if value < 0x7F { return value < 0x20 }
    return switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}

/// The reason why a text that a person has written is rejected.
package enum TextFlaw: Hashable, Sendable, CustomStringConvertible {
  case empty
  /// The text has several lines or invisible characters.
  case invisible
  /// The text is longer than this number of Unicode scalars.
  case tooLong(limit: Int)

  package var description: String {
    switch self {
    case .empty: "must not be empty"
    case .invisible: "must be one line without control characters"
    case .tooLong(let limit): "must not be longer than \(limit) characters"
    }
  }
}

extension String {
  /// Returns the reason why the text cannot be a name or a note, or `nil` if it can.
  ///
  /// - Parameter limit: Maximum length in Unicode scalars, because a `Character` has no maximum size.
  package func flaw(upTo limit: Int = .max) -> TextFlaw? {
    if allSatisfy(\.isWhitespace) { return .empty }
    if unicodeScalars.contains(where: \.isInvisible) { return .invisible }
    return unicodeScalars.count > limit ? .tooLong(limit: limit) : nil
  }

  /// Returns the text on one line without invisible characters, truncated after `limit` Unicode
  /// scalars. Line breaks and tabs become spaces.
  package func visible(upTo limit: Int = .max) -> String {
    filtered(upTo: limit, keepingLines: false)
  }

  /// The text without invisible characters. Line feeds stay; other line breaks and tabs become spaces.
  package var visibleLines: String { filtered(upTo: .max, keepingLines: true) }

  private func filtered(upTo limit: Int, keepingLines: Bool) -> String {
    if limit == .max || utf8.count <= limit, !utf8.contains(where: \.mayBeginInvisible) {
      return self
    }
    var shown = String.UnicodeScalarView()
    var count = 0
    for scalar in unicodeScalars where count < limit {
      let isSpace = scalar.isInvisible && scalar.properties.isWhitespace
      guard isSpace || !scalar.isInvisible else { continue }
      shown.append(isSpace && !(keepingLines && scalar == "\n") ? " " : scalar)
      count += 1
    }
    return String(shown)
  }
}

extension UInt8 {
  /// Whether an invisible character may begin with this byte in UTF-8. No Hangul syllable begins
  /// with such a byte.
  fileprivate var mayBeginInvisible: Bool {
    if (0x20..<0x7F).contains(self) { return false }
    return self < 0x80 || self == 0xC2 || (0xD8...0xE2).contains(self) || self >= 0xEF
  }
}

extension JSON {
  /// Returns the text of a member without invisible characters, truncated after `limit` Unicode
  /// scalars; or `nil` if the member is not a text, or if only whitespace remains.
  package func visibleText(_ key: String, upTo limit: Int = .max) -> String? {
    guard let text = text(key)?.visible(upTo: limit), !text.allSatisfy(\.isWhitespace) else {
      return nil
    }
    return text
  }
}
