import JuiceDomain

/// Markup. Only literals in the source are taken as they are: every value that is interpolated is escaped,
/// unless it is `HTML` itself.
struct HTML: Sendable, Hashable {
  private(set) var text: String

  static let empty: HTML = ""

  /// The elements, one after the other.
  static func + (left: HTML, right: HTML) -> HTML {
    var sum = left
    sum.text += right.text
    return sum
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

    /// `nil` adds nothing.
    mutating func appendInterpolation(_ html: HTML?) {
      if let html { text += html.text }
    }

    mutating func appendInterpolation(_ elements: [HTML]) {
      for element in elements { text += element.text }
    }

    mutating func appendInterpolation(_ number: Int) { text += String(number) }

    /// An id holds nothing that could be markup.
    mutating func appendInterpolation<Entity>(_ id: Identifier<Entity>) { text += id.text }

    /// Escaped for a text and for an attribute in quotes.
    mutating func appendInterpolation(_ string: String) {
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
