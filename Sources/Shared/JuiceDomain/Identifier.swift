/// The id of an `Entity`: 1 to 64 characters of `A-Z a-z 0-9 _ -`, so that it may stand in a topic,
/// a file name and a URL as it is.
///
/// The type parameter keeps a fruit's id from being taken for a juice's.
package struct Identifier<Entity>: Hashable, Sendable {
  package let text: String

  /// `nil` if the text is not an identifier.
  package init?(_ text: String) {
    guard text.isIdentifier else { return nil }
    self.text = text
  }

  package init?(_ text: some StringProtocol) { self.init(String(text)) }
}

// Not in the generic type, where it would be looked up for each byte what a string is.
extension String {
  fileprivate var isIdentifier: Bool {
    (1...64).contains(utf8.count) && utf8.allSatisfy(\.isIdentifierCharacter)
  }
}

extension UInt8 {
  /// Whether an identifier may hold it: a letter, a digit, `_` or `-`. Inlined into other modules,
  /// too, which ask it for each byte that comes.
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

extension Identifier: CustomStringConvertible {
  package var description: String { text }
}

extension Identifier: ExpressibleByStringLiteral {
  /// For ids written in source code; an invalid literal is a programming error and traps.
  package init(stringLiteral text: StaticString) {
    guard let id = Self(text.description) else {
      preconditionFailure("\(text) is not an identifier")
    }
    self = id
  }
}

/// The id of a kiosk, one among the many of a fleet.
package typealias KioskID = Identifier<JuiceMaker>
