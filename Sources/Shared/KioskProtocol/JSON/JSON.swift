/// A JSON value as it came, strictly read: what is doubtful is an error, not a guess.
///
/// Own code, because Foundation's decoder lets duplicate keys pass, rounds numbers, and costs more
/// than the rest of an order together.
package enum JSON: Hashable, Sendable {
  case null
  case bool(Bool)
  /// A number without fraction and exponent that fits.
  case integer(Int)
  /// Any other number.
  case number(Double)
  case string(String)
  case array([JSON])
  /// Members in the order of the text; every key once.
  case object([Member])

  package struct Member: Hashable, Sendable {
    package let key: String
    package let value: JSON

    package init(key: String, value: JSON) {
      self.key = key
      self.value = value
    }
  }

  /// The value of an object's member; `nil` where there is none, or this is not an object.
  package subscript(key: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.key == key }?.value
  }

  /// What this value is, for a message to a person.
  package var kind: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .integer: "a whole number"
    case .number: "a number that is not whole or too large"
    case .string: "a text"
    case .array: "an array"
    case .object: "an object"
    }
  }
}
