extension JSON {
  /// Maximum depth of nested arrays and objects.
  package static let maximumDepth = 32

  /// Parses a single value (RFC 8259) that spans all of `bytes`.
  ///
  /// - Throws: `JSONError` at the first invalid byte. Invalid UTF-8, a duplicate key, nesting beyond
  ///   `maximumDepth`, and a number that overflows a `Double` are errors too.
  package static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSON {
    var parser = JSONParser(bytes: bytes)
    return try parser.parseText()
  }

  /// Parses an object like `parse(_:)`. Use this function to copy members exactly as written.
  ///
  /// - Returns: The members, each with the range of its text in `bytes`, from its key to its value;
  ///   or `nil` if the value is not an object.
  package static func members(
    of bytes: [UInt8]
  ) throws(JSONError) -> [(member: Member, text: Range<Int>)]? {
    var parser = JSONParser(bytes: bytes)
    parser.recordsTexts = true
    guard case .object(let members) = try parser.parseText() else { return nil }
    return Array(zip(members, parser.texts))
  }
}

/// A syntax error in a JSON text, or a missing or invalid member of a message.
package struct JSONError: Error, Hashable, CustomStringConvertible {
  /// The position of a syntax error in bytes, from 0; or `nil` for an error of a member.
  package let offset: Int?
  package let problem: String

  fileprivate init(offset: Int, problem: String) { (self.offset, self.problem) = (offset, problem) }

  /// Creates the error of a message whose member is missing or invalid.
  package init(_ problem: String) { (offset, self.problem) = (nil, problem) }

  package var description: String {
    offset.map { "not valid JSON at byte \($0): \(problem)" } ?? problem
  }
}

private struct JSONParser {
  let bytes: [UInt8]
  var position = 0
  /// Whether `texts` receives the ranges of the outermost object's members.
  var recordsTexts = false
  private(set) var texts: [Range<Int>] = []

  private static let fewMembers = 24

  init(bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }
  var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  func error(_ problem: String) -> JSONError { JSONError(offset: position, problem: problem) }

  mutating func skipWhitespace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
      position += 1
    }
  }

  mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  mutating func parseText() throws(JSONError) -> JSON {
    let value = try parseValue(depth: 0)
    skipWhitespace()
    guard isAtEnd else { throw error("extra text after the value") }
    return value
  }

  mutating func parseValue(depth: Int) throws(JSONError) -> JSON {
    skipWhitespace()
    switch next {
    case UInt8(ascii: "{"): return try parseObject(depth: depth + 1)
    case UInt8(ascii: "["): return try parseArray(depth: depth + 1)
    case UInt8(ascii: "\""): return .string(try parseString())
    case UInt8(ascii: "t"): return try parse(literal: "true", as: .bool(true))
    case UInt8(ascii: "f"): return try parse(literal: "false", as: .bool(false))
    case UInt8(ascii: "n"): return try parse(literal: "null", as: .null)
    case UInt8(ascii: "-"): return try parseNumber()
    case let digit? where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit):
      return try parseNumber()
    case nil: throw error("a value is missing")
    default: throw error("not a JSON value")
    }
  }

  private mutating func parse(
    literal: StaticString, as value: JSON
  ) throws(JSONError) -> JSON {
    let text = literal.description.utf8
    guard bytes[position...].starts(with: text) else { throw error("not a JSON value") }
    position += text.count
    return value
  }

  private mutating func parseObject(depth: Int) throws(JSONError) -> JSON {
    guard depth <= JSON.maximumDepth else { throw error("nested too deeply") }
    position += 1
    var members: [JSON.Member] = []
    // The set is only for objects with many members; for few, a linear search is faster.
    var keys: Set<String> = []
    skipWhitespace()
    if take(UInt8(ascii: "}")) { return .object(members) }
    repeat {
      skipWhitespace()
      guard next == UInt8(ascii: "\"") else { throw error("a key in double quotes is missing") }
      let start = position
      let key = try parseString()
      if members.count == Self.fewMembers { keys = Set(members.lazy.map(\.key)) }
      let isNew =
        members.count < Self.fewMembers
        ? !members.contains { $0.key == key } : keys.insert(key).inserted
      guard isNew else { throw error("a key occurs twice") }
      skipWhitespace()
      guard take(UInt8(ascii: ":")) else { throw error("a colon is missing") }
      members.append(JSON.Member(key: key, value: try parseValue(depth: depth)))
      if recordsTexts, depth == 1 { texts.append(start..<position) }
      skipWhitespace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw error("a comma or a closing brace is missing") }
    return .object(members)
  }

  private mutating func parseArray(depth: Int) throws(JSONError) -> JSON {
    guard depth <= JSON.maximumDepth else { throw error("nested too deeply") }
    position += 1
    var elements: [JSON] = []
    skipWhitespace()
    if take(UInt8(ascii: "]")) { return .array(elements) }
    repeat {
      elements.append(try parseValue(depth: depth))
      skipWhitespace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw error("a comma or a closing bracket is missing") }
    return .array(elements)
  }

  private mutating func parseString() throws(JSONError) -> String {
    position += 1
    let start = position
    while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
      guard byte >= 0x20 else { throw error("a control character in a text") }
      position += 1
    }
    // Most strings contain no escape and are copied in one piece.
    if take(UInt8(ascii: "\"")) {
      return try string(bytes.span.extracting(start..<position - 1), from: start)
    }
    var unescaped = Array(bytes[start..<position])
    while let byte = next {
      if take(UInt8(ascii: "\"")) { return try string(unescaped.span, from: start) }
      guard byte >= 0x20 else { throw error("a control character in a text") }
      position += 1
      if byte == UInt8(ascii: "\\") {
        try parseEscape(into: &unescaped)
      } else {
        unescaped.append(byte)
      }
    }
    throw error("a text is not closed")
  }

  private func string(_ bytes: Span<UInt8>, from start: Int) throws(JSONError) -> String {
    do { return String(copying: try UTF8Span(validating: bytes)) } catch {
      throw JSONError(offset: start, problem: "a text is not valid UTF-8")
    }
  }

  private mutating func parseEscape(into text: inout [UInt8]) throws(JSONError) {
    guard let escaped = next else { throw error("a text is not closed") }
    position += 1
    switch escaped {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(escaped)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"):
      var scalar = try parseHexadecimal()
      if (0xD800..<0xDC00).contains(scalar) {
        guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
          throw error("half of a surrogate pair")
        }
        let low = try parseHexadecimal()
        guard (0xDC00..<0xE000).contains(low) else { throw error("half of a surrogate pair") }
        scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(scalar) else { throw error("half of a surrogate pair") }
      text.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    default:
      throw error("an unknown escape")
    }
  }

  private mutating func parseHexadecimal() throws(JSONError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw error("four hexadecimal digits are missing")
      }
      value = value << 4 | UInt32(digit)
      position += 1
    }
    return value
  }

  private mutating func parseNumber() throws(JSONError) -> JSON {
    let start = position
    var isInteger = true
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")) { try skipDigits() }
    if take(UInt8(ascii: ".")) {
      isInteger = false
      try skipDigits()
    }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      isInteger = false
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try skipDigits()
    }
    if isInteger, position - start <= 18 {
      let isNegative = bytes[start] == UInt8(ascii: "-")
      var number = 0
      for digit in (isNegative ? start + 1 : start)..<position {
        number = number * 10 + Int(bytes[digit] - UInt8(ascii: "0"))
      }
      return .integer(isNegative ? -number : number)
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if isInteger, let integer = Int(text) { return .integer(integer) }
    guard let number = Double(text), number.isFinite else {
      throw JSONError(offset: start, problem: "a number is too large")
    }
    return .number(number)
  }

  private mutating func skipDigits() throws(JSONError) {
    let start = position
    while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
    guard position > start else { throw error("a digit is missing") }
  }
}
