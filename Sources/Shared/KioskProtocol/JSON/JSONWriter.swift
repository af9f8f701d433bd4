/// Encodes a JSON object member by member, in the order of the calls.
package struct JSONWriter {
  package private(set) var bytes: [UInt8] = [UInt8(ascii: "{")]

  package init() { bytes.reserveCapacity(256) }

  /// Creates a writer whose output begins with `bytes`; without bytes, a placeholder for `swap`.
  init(bytes: [UInt8]) { self.bytes = bytes }

  /// Returns the encoding of an object with the members that `write` adds.
  package static func object(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    write(&writer)
    writer.bytes.append(UInt8(ascii: "}"))
    return writer.bytes
  }

  package mutating func member(_ key: StaticString, _ value: String) {
    writeKey(key)
    write(value)
  }

  package mutating func member(_ key: StaticString, _ value: Int) {
    writeKey(key)
    write(value)
  }

  /// Writes a number so that parsing returns the same number.
  ///
  /// - Parameter value: A finite number.
  package mutating func member(_ key: StaticString, _ value: Double) {
    writeKey(key)
    bytes.append(contentsOf: "\(value)".utf8)
  }

  /// Writes an array of numbers.
  ///
  /// - Parameter numbers: Finite numbers.
  package mutating func member(_ key: StaticString, _ numbers: [Double]) {
    writeKey(key)
    writeArray(numbers) { $0.bytes.append(contentsOf: "\($1)".utf8) }
  }

  package mutating func member(_ key: StaticString, _ value: Bool) {
    writeKey(key)
    bytes.append(contentsOf: (value ? "true" : "false").utf8)
  }

  package mutating func member(_ key: StaticString, _ write: (inout JSONWriter) -> Void) {
    writeKey(key)
    self.write(write)
  }

  package mutating func member(_ key: StaticString, _ texts: [String]) {
    writeKey(key)
    writeArray(texts) { $0.write($1) }
  }

  package mutating func member(_ key: StaticString, _ numbers: [Int]) {
    writeKey(key)
    writeArray(numbers) { $0.write($1) }
  }

  /// Writes an array with one object per element.
  package mutating func member<Element>(
    _ key: StaticString, _ elements: some Sequence<Element>,
    _ write: (inout JSONWriter, Element) -> Void
  ) {
    writeKey(key)
    writeArray(elements) { json, element in json.write { write(&$0, element) } }
  }

  /// Writes a member whose key is not a constant, such as an id.
  package mutating func member(named key: String, _ value: Int) {
    writeKey(named: key)
    write(value)
  }

  package mutating func member(named key: String, _ value: String) {
    writeKey(named: key)
    write(value)
  }

  mutating func member(named key: String, _ numbers: [Int]) {
    writeKey(named: key)
    writeArray(numbers) { $0.write($1) }
  }

  package mutating func member(named key: String, _ write: (inout JSONWriter) -> Void) {
    writeKey(named: key)
    self.write(write)
  }

  private mutating func writeKey(_ key: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    key.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }

  private mutating func writeKey(named key: String) {
    separate()
    write(key)
    bytes.append(UInt8(ascii: ":"))
  }

  private mutating func separate() {
    if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
  }

  private mutating func write(_ write: (inout JSONWriter) -> Void) {
    bytes.append(UInt8(ascii: "{"))
    write(&self)
    bytes.append(UInt8(ascii: "}"))
  }

  private mutating func writeArray<Element>(
    _ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) -> Void
  ) {
    bytes.append(UInt8(ascii: "["))
    for (index, element) in elements.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      write(&self, element)
    }
    bytes.append(UInt8(ascii: "]"))
  }

  private mutating func write(_ number: Int) {
    if number < 0 { bytes.append(UInt8(ascii: "-")) }
    // Digits in reverse order: the compiler replaces the division by ten with a multiplication.
    var (first, rest) = (bytes.count, number.magnitude)
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
      rest /= 10
    } while rest > 0
    var last = bytes.count - 1
    while first < last {
      bytes.swapAt(first, last)
      (first, last) = (first + 1, last - 1)
    }
  }

  private mutating func write(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { utf8 in
      // Most strings need no escape and are copied in one piece.
      if utf8.contains(where: Self.mustEscape) {
        for byte in utf8 { writeEscaping(byte) }
      } else {
        bytes.append(contentsOf: utf8)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Returns the text as the content of a JSON string, without the quotes.
  package static func escape(_ text: String) -> String {
    var writer = JSONWriter()
    writer.write(text)
    return String(decoding: writer.bytes.dropFirst(2).dropLast(), as: UTF8.self)
  }

  private static func mustEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private mutating func writeEscaping(_ byte: UInt8) {
    if byte < 0x20 {
      let digits = Array("0123456789abcdef".utf8)
      bytes.append(contentsOf: "\\u00".utf8)
      bytes.append(digits[Int(byte >> 4)])
      bytes.append(digits[Int(byte & 15)])
    } else {
      if Self.mustEscape(byte) { bytes.append(UInt8(ascii: "\\")) }
      bytes.append(byte)
    }
  }
}
