/// A builder for rows in the text format of COPY: fields separated by a tab, each row ended by a
/// newline.
struct CopyText {
  private(set) var bytes: [UInt8] = []
  private var isRowBegun = false

  /// Creates a builder without rows.
  ///
  /// - Parameter capacity: The expected size in bytes.
  init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  /// Appends a text.
  ///
  /// - Parameter text: Text without U+0000, which PostgreSQL rejects; `nil` becomes NULL.
  mutating func field(_ text: String?) {
    guard let text else { return null() }
    field(text: text.utf8)
  }

  /// Appends a text in UTF-8.
  ///
  /// - Parameter text: UTF-8 without U+0000.
  mutating func field(text: some Collection<UInt8>) {
    // Most texts need no escape and are copied as a whole.
    guard text.contains(where: Self.mustEscape) else { return field(plain: text) }
    beginField()
    for byte in text {
      guard Self.mustEscape(byte) else {
        bytes.append(byte)
        continue
      }
      bytes.append(UInt8(ascii: "\\"))
      switch byte {
      case UInt8(ascii: "\n"): bytes.append(UInt8(ascii: "n"))
      case UInt8(ascii: "\r"): bytes.append(UInt8(ascii: "r"))
      case UInt8(ascii: "\t"): bytes.append(UInt8(ascii: "t"))
      default: bytes.append(byte)
      }
    }
  }

  /// Appends a text without a check for characters to escape.
  ///
  /// - Parameter text: UTF-8 without a character that has to be escaped.
  mutating func field(plain text: some Collection<UInt8>) {
    beginField()
    bytes.append(contentsOf: text)
  }

  mutating func field(_ number: Int?) {
    guard let number else { return null() }
    beginField()
    bytes.append(contentsOf: String(number).utf8)
  }

  /// Appends binary data in the hex format of `bytea`.
  mutating func field(_ data: some Sequence<UInt8>) {
    beginField()
    let digits = Array("0123456789abcdef".utf8)
    bytes.append(contentsOf: #"\\x"#.utf8)
    for byte in data {
      bytes.append(digits[Int(byte >> 4)])
      bytes.append(digits[Int(byte & 15)])
    }
  }

  mutating func null() {
    beginField()
    bytes.append(UInt8(ascii: "\\"))
    bytes.append(UInt8(ascii: "N"))
  }

  mutating func endRow() {
    bytes.append(UInt8(ascii: "\n"))
    isRowBegun = false
  }

  private mutating func beginField() {
    if isRowBegun { bytes.append(UInt8(ascii: "\t")) }
    isRowBegun = true
  }

  private static func mustEscape(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
      || byte == UInt8(ascii: "\t")
  }
}
