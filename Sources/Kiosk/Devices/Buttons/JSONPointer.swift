import KioskProtocol

/// A pointer to a value in a JSON text: `/event/type`, `/inputs/0` (RFC 6901).
package struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
  package let description: String
  private let tokens: [String]

  /// Parses a pointer. Returns `nil` if the text does not start with a slash, or has a `~` without
  /// 0 or 1 after it.
  package init?(_ text: String) {
    let behindTildes = text.split(separator: "~", omittingEmptySubsequences: false).dropFirst()
    guard text.hasPrefix("/"), behindTildes.allSatisfy({ $0.first == "0" || $0.first == "1" })
    else { return nil }
    description = text
    // Replaces `~1` before `~0`, so that `~01` becomes `~1` and not a slash.
    tokens = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map {
      String($0.replacing("~1", with: "/").replacing("~0", with: "~"))
    }
  }

  func value(in json: JSON) -> JSON? {
    var value = json
    for token in tokens {
      switch value {
      case .object:
        guard let member = value[token] else { return nil }
        value = member
      case .array(let elements):
        guard token == "0" || !token.hasPrefix("0"), let index = Int(token),
          elements.indices.contains(index)
        else { return nil }
        value = elements[index]
      default: return nil
      }
    }
    return value
  }
}

extension JSON {
  subscript(pointer: JSONPointer) -> JSON? { pointer.value(in: self) }
}
