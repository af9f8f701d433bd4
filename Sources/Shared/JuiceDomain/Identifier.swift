/// The id of an `Entity`: 1 to 64 characters of `A-Z a-z 0-9 _ -`, valid without escaping in a
/// topic, a file name and a URL.
///
/// The type parameter prevents confusing the id of a fruit with that of a juice.
package struct Identifier<Entity>: Hashable, Sendable {
  package let text: String

  /// Creates an identifier, or returns `nil` if the text is invalid.
  package init?(_ text: String) {
    guard text.isIdentifier else { return nil }
    self.text = text
  }

  package init?(_ text: some StringProtocol) { self.init(String(text)) }
}

// Not a member of the generic type: there each byte would cost a metadata lookup.
extension String {
  fileprivate var isIdentifier: Bool {
    (1...64).contains(utf8.count) && utf8.allSatisfy(\.isIdentifierCharacter)
  }
}

extension UInt8 {
  /// Whether the byte is allowed in an identifier: a letter, a digit, `_` or `-`. Inlinable,
  /// because other modules call it for each byte of a received name.
  @inlinable package var isIdentifierCharacter: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default:
      false
    }
  }
}

extension Identifier: Comparable {
  package static func < (left: Self, right: Self) -> Bool { left.text < right.text }
}

extension Identifier: LosslessStringConvertible {
  package var description: String { text }
}

extension Identifier: ExpressibleByStringLiteral {
  /// Creates an id from a literal. An invalid literal is a programming error and traps.
  package init(stringLiteral text: StaticString) {
    guard let id = Self(text.description) else {
      preconditionFailure("\(text) is not an identifier")
    }
    self = id
  }
}

/// The id of a kiosk in a fleet.
package typealias KioskID = Identifier<JuiceMaker>
