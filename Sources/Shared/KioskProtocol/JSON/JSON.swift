/// A JSON value, parsed strictly: ambiguous input is an error.
///
/// Replaces Foundation's decoder, which accepts duplicate keys, rounds numbers, and takes longer
/// than all other processing of an order.
package enum JSON: Hashable, Sendable {
  case null
  case bool(Bool)
  /// A number without fraction and exponent that fits into an `Int`.
  case integer(Int)
  /// Any other number.
  case number(Double)
  case string(String)
  case array([JSON])
  /// Members in the order of the text, with unique keys.
  case object([Member])

  package struct Member: Hashable, Sendable {
    package let key: String
    package let value: JSON

    package init(key: String, value: JSON) { (self.key, self.value) = (key, value) }
  }

  /// The value of a member, or `nil` if there is no such member or the value is not an object.
  package subscript(key: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.key == key }?.value
  }

  /// The number if it is whole (`1`, `1.0`, `1e0`); `nil` for any other value, and for a `Double` of 2^53 or more.
  package var wholeNumber: Int? {
    switch self {
    case .integer(let number): number
    // A `Double` is exact up to 2^53.
    case .number(let number) where number.magnitude < 0x1p53: Int(exactly: number)
    default: nil
    }
  }

  /// The type of the value, for messages to people.
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
