import JuiceDomain
import KioskProtocol

/// A piece of markup. Literals in the source code are inserted unchanged. Every interpolated text
/// is escaped, except for other `HTML`.
///
/// ```swift
/// let name = "Kiwi & mango"
/// let heading: HTML = "<h1>\(name)</h1>"  // <h1>Kiwi &amp; mango</h1>
/// ```
struct HTML: Sendable, Hashable {
  private(set) var text: String

  static let empty: HTML = ""

  static func + (left: HTML, right: HTML) -> HTML {
    var sum = left
    sum.text += right.text
    return sum
  }

  /// Returns the markup with each `old` replaced by `new`, both of which are markup.
  func replacing(_ old: String, with new: String) -> HTML {
    var html = self
    html.text = text.replacing(old, with: new)
    return html
  }
}

extension HTML: ExpressibleByStringInterpolation {
  init(stringLiteral text: StaticString) { self.text = text.description }

  init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

  struct Interpolation: StringInterpolationProtocol {
    fileprivate var text = ""

    init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + interpolationCount * 16)
    }

    mutating func appendLiteral(_ literal: StaticString) { text += literal.description }

    mutating func appendInterpolation(_ html: HTML) { text += html.text }

    /// Appends the markup, or nothing for `nil`.
    mutating func appendInterpolation(_ html: HTML?) {
      if let html { text += html.text }
    }

    mutating func appendInterpolation(_ elements: [HTML]) {
      for element in elements { text += element.text }
    }

    mutating func appendInterpolation(_ number: Int) { text += String(number) }

    /// Appends an id, which contains no character that needs escaping.
    mutating func appendInterpolation<Entity>(_ id: Identifier<Entity>) { text += id.text }

    /// Appends the visible part of a text, escaped for an element's content and for a quoted
    /// attribute.
    mutating func appendInterpolation(_ string: String) {
      let string = string.visibleLines
      for character in string.utf8 {
        switch character {
        case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""),
          UInt8(ascii: "'"):
          return appendEscaped(string)
        default: continue
        }
      }
      text += string
    }

    private mutating func appendEscaped(_ string: String) {
      for scalar in string.unicodeScalars {
        switch scalar {
        case "&": text += "&amp;"
        case "<": text += "&lt;"
        case ">": text += "&gt;"
        case "\"": text += "&quot;"
        case "'": text += "&#39;"
        default: text.unicodeScalars.append(scalar)
        }
      }
    }
  }
}
