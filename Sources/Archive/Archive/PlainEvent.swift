package import JuiceDomain
package import KioskProtocol

/// A fast decoder for events in the form that kiosks write: known members, ASCII, no spaces and no
/// escapes. It reads an event once from start to end and copies the values unchanged to COPY.
///
/// `EventTree` decodes every other event, and would produce the same line for this one.
package struct PlainEvent {
  package private(set) var epoch = 0
  package private(set) var seq = 0
  package private(set) var at = Timestamp(milliseconds: 0)
  private let bytes: [UInt8]
  private var position = 0
  /// The byte ranges of the values of `EventColumn.all`; `missing` for members that are absent.
  private var values: [Range<Int>]

  /// The range of an absent value. No value starts at the first byte.
  private static let missing = 0..<0

  /// Decodes an event. Returns `nil` if the payload has another form; it may still be an event.
  package init?(_ payload: [UInt8]) {
    bytes = payload
    values = Array(repeating: Self.missing, count: EventColumn.all.count)
    guard take("{") else { return nil }
    repeat {
      guard let column = column(), take(":"), values[column] == Self.missing else { return nil }
      guard let value = value(of: column) else { return nil }
      values[column] = value
    } while take(",")
    guard take("}"), position == bytes.count else { return nil }
    for column in [EventColumn.seq, EventColumn.at, EventColumn.status] {
      guard values[column] != Self.missing else { return nil }
    }
  }

  package func line(of kiosk: KioskID) -> [UInt8] {
    var text = CopyText(capacity: bytes.count + 128)
    text.field(kiosk.text)
    text.field(epoch)
    for value in values.dropFirst() {
      if value == Self.missing { text.null() } else { text.field(plain: bytes[value]) }
    }
    text.null()
    text.endRow()
    return text.bytes
  }
}

extension PlainEvent {
  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  /// Reads a key and returns the index of its column.
  private mutating func column() -> Int? {
    guard take("\"") else { return nil }
    var key: UInt64 = 0
    for _ in 0...8 {
      if take("\"") { return EventColumn.all.firstIndex { $0.key == key } }
      guard let byte = next, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) else { break }
      key = key << 8 | UInt64(byte)
      position += 1
    }
    return nil
  }

  /// Reads a value as its column requires it, and returns its range without quotes.
  private mutating func value(of column: Int) -> Range<Int>? {
    let start = position
    switch EventColumn.all[column].kind {
    case .whole(let range):
      guard let number = number(), range.contains(number) else { return nil }
      if column == EventColumn.seq { seq = number }
      if column == EventColumn.epoch { epoch = number }
    case .amounts:
      guard skipAmounts() else { return nil }
    case .text:
      return text()
    case .decimal:
      guard let text = text(), bytes[text].isDecimal else { return nil }
      return text
    case .time:
      guard take("\""), let time = time(), take("\"") else { return nil }
      at = time
      return start + 1..<position - 1
    }
    return start..<position
  }

  /// Reads a quoted text and returns the range between the quotes.
  private mutating func text() -> Range<Int>? {
    guard take("\"") else { return nil }
    let start = position
    while let byte = next, byte != UInt8(ascii: "\"") {
      guard (0x20..<0x80).contains(byte), byte != UInt8(ascii: "\\") else { return nil }
      position += 1
    }
    return take("\"") ? start..<position - 1 : nil
  }

  /// Reads a number without a sign or leading zeros, as `String` writes it.
  private mutating func number() -> Int? {
    let start = position
    var number = 0
    while let digit = digit() {
      // A number with more digits may exceed `Int.max`.
      guard position - start <= 18 else { return nil }
      number = number * 10 + digit
    }
    let isWritten = position == start + 1 || position > start && bytes[start] != UInt8(ascii: "0")
    return isWritten ? number : nil
  }

  private mutating func digit() -> Int? {
    guard let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else {
      return nil
    }
    position += 1
    return Int(byte - UInt8(ascii: "0"))
  }

  /// Requires fruits in ascending order, as kiosks write them, which excludes duplicates.
  private mutating func skipAmounts() -> Bool {
    guard take("{") else { return false }
    if take("}") { return true }
    var last = bytes[0..<0]
    repeat {
      guard let fruit = text(), (1...64).contains(fruit.count),
        bytes[fruit].allSatisfy(\.isIdentifierCharacter),
        last.lexicographicallyPrecedes(bytes[fruit]), take(":")
      else { return false }
      last = bytes[fruit]
      let isNegative = take("-")
      guard let amount = number(), EventColumn.amounts.contains(amount),
        !isNegative || amount > 0
      else { return false }
    } while take(",")
    return take("}")
  }

  /// Reads a time as `Timestamp` writes it, except for the year 0, which PostgreSQL does not have.
  private mutating func time() -> Timestamp? {
    guard let year = number(digits: 4), year > 0, take("-"),
      let month = number(digits: 2), take("-"), let day = number(digits: 2), take("T"),
      let hour = number(digits: 2), hour < 24, take(":"),
      let minute = number(digits: 2), minute < 60, take(":"),
      let second = number(digits: 2), second < 60
    else { return nil }
    var fraction: Int64 = 0
    if take(".") {
      guard let digits = number(digits: 3), digits > 0 else { return nil }
      fraction = digits
    }
    let date = CivilDate(year: year, month: month, day: day)
    let days = date.daysSinceEpoch
    guard take("Z"), CivilDate(daysSinceEpoch: days) == date else { return nil }
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    return Timestamp(milliseconds: seconds * 1000 + fraction)
  }

  private mutating func number(digits: Int) -> Int64? {
    var number = 0
    for _ in 0..<digits {
      guard let digit = digit() else { return nil }
      number = number * 10 + digit
    }
    return Int64(number)
  }
}

extension Collection<UInt8> {
  /// Whether the bytes are digits, optionally with a decimal point between digits, within the
  /// limits of PostgreSQL's `numeric`. Written by hand: a Regex would take longer than the rest of
  /// the decoder.
  var isDecimal: Bool {
    var (digits, points) = (0, 0)
    for byte in self {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digits += 1
      case UInt8(ascii: ".") where digits > 0 && points == 0: (digits, points) = (0, 1)
      default: return false
      }
    }
    return digits > 0 && count <= 32
  }
}
