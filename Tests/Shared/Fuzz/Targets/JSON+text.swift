import KioskProtocol

extension JSON {
  /// The encoding, implemented independently of `JSONWriter`, which cannot encode arbitrary values.
  var text: String {
    switch self {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .number(let value): value.text
    case .string(let text): text.quoted
    case .array(let elements): "[\(elements.map(\.text).joined(separator: ", "))]"
    case .object(let members):
      "{\(members.map { "\($0.key.quoted) : \($0.value.text)" }.joined(separator: ","))}"
    }
  }
}

extension Double {
  /// The number with a fraction or an exponent, so that it is not parsed as an integer.
  fileprivate var text: String { "\(self)" }
}

extension String {
  /// The string with all non-ASCII characters escaped as `\u`, in surrogate pairs where necessary.
  fileprivate var quoted: String {
    let escaped = utf16.map { unit in
      guard (0x20..<0x7F).contains(unit), unit != 0x22, unit != 0x5C,
        let scalar = Unicode.Scalar(unit)
      else {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
      return String(Character(scalar))
    }
    return "\"\(escaped.joined())\""
  }
}
