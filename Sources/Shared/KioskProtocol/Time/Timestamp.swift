/// A point in time, in milliseconds since 1970-01-01T00:00:00Z. Payloads contain it as RFC 3339 in
/// UTC.
package struct Timestamp: Hashable, Comparable, Sendable {
  package let milliseconds: Int64

  package init(milliseconds: Int64) { self.milliseconds = milliseconds }

  package static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }

  /// Returns the time elapsed since `earlier`; negative if `earlier` is later.
  package func since(_ earlier: Timestamp) -> Duration {
    .milliseconds(milliseconds.subtractingReportingOverflow(earlier.milliseconds).partialValue)
  }
}

extension Duration {
  /// The duration in whole milliseconds, rounded towards zero.
  package var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }
}

extension Timestamp: LosslessStringConvertible {
  /// The time as `2026-11-21T09:00:00Z`, with milliseconds unless they are 0.
  package var description: String {
    let (days, rest) = milliseconds.flooredQuotient(by: 86_400_000)
    let (seconds, fraction) = (rest / 1000, rest % 1000)
    let date = CivilDate(daysSinceEpoch: days)
    var text: [UInt8] = []
    text.reserveCapacity(24)
    func write(_ digit: Int64) {
      text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit))
    }
    func write(_ number: Int64, _ end: Unicode.Scalar) {
      write(number / 10)
      write(number % 10)
      text.append(UInt8(ascii: end))
    }
    if (0...9999).contains(date.year) {
      write(date.year / 1000)
      write(date.year / 100 % 10)
      write(date.year % 100, "-")
    } else {
      text.append(contentsOf: "\(date.year.padded(4))-".utf8)
    }
    write(date.month, "-")
    write(date.day, "T")
    write(seconds / 3600, ":")
    write(seconds / 60 % 60, ":")
    write(seconds % 60, fraction == 0 ? "Z" : ".")
    if fraction > 0 {
      write(fraction / 100)
      write(fraction % 100, "Z")
    }
    return String(decoding: text, as: UTF8.self)
  }
}

extension Timestamp {
  /// The years 0000 to 9999 in UTC, the range of RFC 3339.
  private static let writable: Range<Int64> = -62_167_219_200_000..<253_402_300_800_000

  /// Parses RFC 3339 with any offset, truncating digits beyond milliseconds. Returns `nil` for any
  /// other text, and if the time in UTC is outside the range of RFC 3339.
  package init?(_ text: String) {
    var scanner = TimestampScanner(text)
    guard
      let date = scanner.date(),
      scanner.take("T") || scanner.take("t") || scanner.take(" "),
      let hour = scanner.number(digits: 2), hour < 24, scanner.take(":"),
      let minute = scanner.number(digits: 2), minute < 60, scanner.take(":"),
      // 60 is a leap second (RFC 3339 5.6).
      let second = scanner.number(digits: 2), second <= 60
    else { return nil }
    guard let fraction = scanner.fraction(), let offset = scanner.offsetMinutes(), scanner.isAtEnd
    else { return nil }
    let minutes = (date.daysSinceEpoch * 24 + hour) * 60 + minute - offset
    milliseconds = (minutes * 60 + second) * 1000 + fraction
    guard Self.writable.contains(milliseconds) else { return nil }
  }
}

extension CivilDate {
  /// Parses `2026-11-21`, or returns `nil` for any other text or a date that does not exist.
  package init?(_ text: String) {
    var scanner = TimestampScanner(text)
    guard let date = scanner.date(), scanner.isAtEnd else { return nil }
    self = date
  }
}

private struct TimestampScanner {
  private var rest: ArraySlice<UInt8>

  init(_ text: String) { rest = Array(text.utf8)[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest.removeFirst()
    return true
  }

  mutating func number(digits: Int) -> Int64? {
    var value: Int64 = 0
    for _ in 0..<digits {
      guard let digit = digit() else { return nil }
      value = value * 10 + digit
    }
    return value
  }

  /// Reads a date that exists in the calendar.
  mutating func date() -> CivilDate? {
    guard let year = number(digits: 4), take("-"),
      let month = number(digits: 2), (1...12).contains(month), take("-"),
      let day = number(digits: 2), (1...31).contains(day)
    else { return nil }
    let date = CivilDate(year: year, month: month, day: day)
    return CivilDate(daysSinceEpoch: date.daysSinceEpoch) == date ? date : nil
  }

  /// Reads the milliseconds of an optional fraction; 0 if there is none.
  mutating func fraction() -> Int64? {
    guard take(".") else { return 0 }
    guard var value = digit() else { return nil }
    for _ in 0..<2 { value = value * 10 + (digit() ?? 0) }
    while digit() != nil {}
    return value
  }

  mutating func offsetMinutes() -> Int64? {
    if take("Z") || take("z") { return 0 }
    let sign: Int64 = take("-") ? -1 : 1
    guard sign == -1 || take("+"), let hours = number(digits: 2), hours < 24, take(":"),
      let minutes = number(digits: 2), minutes < 60
    else { return nil }
    return sign * (hours * 60 + minutes)
  }

  private mutating func digit() -> Int64? {
    guard let byte = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else {
      return nil
    }
    rest.removeFirst()
    return Int64(byte - UInt8(ascii: "0"))
  }
}
