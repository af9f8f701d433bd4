import KioskProtocol

/// The character sets of terminals: one byte for each character.
package enum TerminalText: String, CaseIterable, Sendable {
  case cp437, latin1

  /// The characters of code page 437 from 0x80 on.
  private static let upper = Array(
    """
    ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀\
    αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}
    """.unicodeScalars)

  /// Decodes a text for display: without control characters and repeated spaces, at most 32
  /// characters.
  func decode(_ bytes: some Sequence<UInt8>) -> String {
    var text = String.UnicodeScalarView()
    for byte in bytes {
      if byte < 0x80 || self == .latin1 {
        text.append(Unicode.Scalar(byte))
      } else {
        text.append(Self.upper[Int(byte) - 0x80])
      }
    }
    let shown = String(text).visible(upTo: 32)
    return shown.split(separator: " ").joined(separator: " ")
  }

  /// Encodes at most `limit` Unicode scalars. A scalar outside the set becomes a question mark, a
  /// scalar below U+0020 a space.
  func encode(_ text: String, upTo limit: Int) -> [UInt8] {
    text.unicodeScalars.prefix(limit).map { scalar in
      if scalar.value < 0x80 { return scalar.value < 0x20 ? 0x20 : UInt8(scalar.value) }
      if self == .latin1, scalar.value <= 0xFF { return UInt8(scalar.value) }
      let index = self == .cp437 ? Self.upper.firstIndex(of: scalar) : nil
      return index.map { UInt8($0 + 0x80) } ?? UInt8(ascii: "?")
    }
  }

  /// Returns whether every character of the text is in the set.
  func contains(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { scalar in
      scalar.value < 0x80
        || (self == .latin1 ? scalar.value <= 0xFF : Self.upper.contains(scalar))
    }
  }
}

extension String {
  /// The text, or `nil` if the text may contain a card number: 12 or more digits with nothing but
  /// spaces and hyphens between them.
  var unlessCardNumber: String? {
    var run = 0
    for byte in utf8 {
      if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
        run += 1
      } else if byte != UInt8(ascii: " "), byte != UInt8(ascii: "-") {
        run = 0
      }
      if run >= 12 { return nil }
    }
    return self
  }
}
