package import JuiceDomain
package import KioskProtocol

/// An event as kiosks write it: known members, ASCII, no spaces and no escapes. It is read once, from the first
/// byte to the last, and its values go to COPY as they stand there.
///
/// Any other event is left to `EventTree`, which would make the same line of this one.
package struct PlainEvent {
  package private(set) var epoch = 0
  package private(set) var seq = 0
  package private(set) var at = Timestamp(milliseconds: 0)
  private let bytes: [UInt8]
  private var position = 0
  /// Where the values of `EventColumn.all` are; `missing` if they are not there.
  private var values: [Range<Int>]

  /// No value stands at the first byte.
  private static let missing = 0..<0

  /// `nil` if it is not certain that this is an event.
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

  /// The column that a key names.
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

  /// Reads a value as it has to be in its column, without its quotes.
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

  /// What is in quotes.
  private mutating func text() -> Range<Int>? {
    guard take("\"") else { return nil }
    let start = position
    while let byte = next, byte != UInt8(ascii: "\"") {
      guard (0x20..<0x80).contains(byte), byte != UInt8(ascii: "\\") else { return nil }
      position += 1
    }
    return take("\"") ? start..<position - 1 : nil
  }

  /// Without a sign, and as `String` would write it.
  private mutating func number() -> Int? {
    let start = position
    var number = 0
    while let digit = digit() {
      // With 19 digits it might be more than an `Int` holds.
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

  /// In the order of the fruits, in which kiosks write them: so none is there twice.
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

  /// As `Timestamp` writes it; but PostgreSQL knows no year 0.
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
  /// Digits, and perhaps a point with digits on both sides; no more than PostgreSQL's `numeric` takes. By hand:
  /// a Regex would take longer than all else.
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
