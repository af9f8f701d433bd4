/// The decoded fields (BMP) of a packet, without confidential data. A property is `nil` if its field is absent.
///
/// The decoder skips card numbers, tracks, chip data and free texts (22, 23, 24, 2D, 2E, 3C and
/// others), except the last four digits of a card number.
package struct Fields: Hashable, Sendable {
  /// Field 27: 0 means success.
  package private(set) var resultCode: UInt8?
  /// Field 04, in the smallest unit of the currency.
  package private(set) var amount: Int?
  /// Field 49: the ISO 4217 number, such as 978 for EUR.
  package private(set) var currency: Int?
  /// Field 87, or `nil` if the field is absent or has the value FFFF.
  package private(set) var receipt: Int?
  /// Whether field 87 is present, also with the value FFFF.
  package private(set) var hasReceipt = false
  /// Field 0B.
  package private(set) var trace: Int?
  /// Field 29, or element 1F44 of the TLV container.
  package private(set) var terminal: String?
  /// Field 19.
  package private(set) var statusByte: UInt8?
  /// Field 8B, or `nil` also if the field is empty or may contain a card number.
  package private(set) var cardName: String?
  /// The last four digits of field 22, or `nil` also if the field has at most eight digits.
  package private(set) var last4: String?
  /// Field 0D, month and day: `0405`.
  package private(set) var date: String?
  /// Field 0C, hour, minute and second: `225558`.
  package private(set) var time: String?
  /// Month, day, hour, minute and second of the result, `0405225558`; or `nil` without fields 0D and 0C.
  package var moment: String? { date.flatMap { date in time.map { date + $0 } } }
  /// Element 34 of the TLV container, the terminal's clock: `20230405225655`.
  package private(set) var clock: String?
  /// Field 60: the number and the sum of the payments of an end of day.
  package private(set) var totals: Totals?
  /// Element 23 of the TLV container: the receipt numbers of open reservations.
  package private(set) var openReceipts: [Int]?
  /// Whether the TLV container and its element 23 could be read completely; `true` if they are absent.
  package private(set) var isWhole = true

  package struct Totals: Hashable, Sendable {
    package let count: Int
    package let amount: Int
  }

  /// Reads fields up to the end of the bytes.
  ///
  /// - Returns: `nil` if a field is unknown, has an invalid length or is longer than the rest (a TLV container may be
  ///   longer), or if an amount (field 04), a currency, a trace or a receipt number is invalid.
  package init?(_ bytes: [UInt8], _ text: TerminalText) {
    var rest = bytes[...]
    while let id = rest.popFirst() {
      guard let length = Self.length(of: id, &rest) else { return nil }
      if length > rest.count {
        // Accepts a truncated container: it is the last field, and a payment does not need it.
        guard id == 0x06 else { return nil }
        isWhole = false
      }
      guard read(id, rest.prefix(length), text) else { return nil }
      rest = rest.dropFirst(length)
    }
  }

  /// Returns the length of a field's value, and removes the bytes that encode the length from `rest`.
  private static func length(of id: UInt8, _ rest: inout ArraySlice<UInt8>) -> Int? {
    switch id {
    case 0x06: return TLV.length(&rest)
    case 0x22, 0x23, 0x2D, 0x8B, 0xA7, 0xD1, 0xE1...0xE8, 0xF1...0xF8:
      return digits(2, &rest)
    case 0x24, 0x2E, 0x3C, 0x60, 0x92, 0x9A, 0xAF: return digits(3, &rest)
    case 0x01, 0x02, 0x03, 0x05, 0x19, 0x27, 0x72...0x75, 0x8A, 0x8C, 0xA0, 0xD0, 0xD2, 0xD3, 0xE0,
      0xE9, 0xEA, 0xF0, 0xF9...0xFD:
      return 1
    case 0x0D, 0x0E, 0x17, 0x3A, 0x49, 0x87: return 2
    case 0x0B, 0x0C, 0x37, 0x3D, 0x88, 0xAA: return 3
    case 0x29, 0x70, 0x71: return 4
    case 0xBA: return 5
    case 0x04: return 6
    case 0x3B, 0xEB: return 8
    case 0x2A: return 15
    default: return nil
    }
  }

  /// Returns a length in LLVAR or LLLVAR format: one digit in the low half of each byte. Ignores the high half, an F.
  private static func digits(_ count: Int, _ rest: inout ArraySlice<UInt8>) -> Int? {
    var length = 0
    for _ in 0..<count {
      guard let byte = rest.popFirst(), byte & 0xF <= 9 else { return nil }
      length = length * 10 + Int(byte & 0xF)
    }
    return length
  }

  private mutating func read(
    _ id: UInt8, _ value: ArraySlice<UInt8>, _ text: TerminalText
  ) -> Bool {
    switch id {
    case 0x27: resultCode = value.first
    case 0x19: statusByte = value.first
    case 0x04:
      guard let number = BCD.number(value) else { return false }
      amount = number
    case 0x49:
      guard let number = BCD.number(value) else { return false }
      currency = number
    case 0x0B:
      guard let number = BCD.number(value) else { return false }
      trace = number
    case 0x87:
      hasReceipt = true
      guard !value.elementsEqual([0xFF, 0xFF]) else { break }
      guard let number = BCD.number(value) else { return false }
      receipt = number
    // Ignores invalid values of the following fields, because a payment is valid without them: a
    // terminal without a clock may send an invalid time.
    case 0x0C: time = BCD.text(value)
    case 0x0D: date = BCD.text(value)
    case 0x29: terminal = BCD.text(value)
    case 0x22: last4 = Self.last4(value)
    case 0x8B:
      let name = text.decode(value)
      cardName = name.isEmpty ? nil : name.unlessCardNumber
    case 0x60: totals = Totals(value)
    case 0x06: readContainer(value)
    default: break
    }
    return true
  }

  /// Returns the last four digits of a card number, or `nil` if the number has at most eight digits or one of the four
  /// is above 9. `F` fills an odd number of digits, and `D` separates the number from the rest of a track.
  private static func last4(_ value: ArraySlice<UInt8>) -> String? {
    let halves: [UInt8] = value.flatMap { [$0 >> 4, $0 & 0xF] }
    let digits = halves.prefix { $0 != 0xD && $0 != 0xF }
    // Of a shorter number, four digits would be half or more.
    guard digits.count > 8, digits.suffix(4).allSatisfy({ $0 <= 9 }) else { return nil }
    return digits.suffix(4).map { String($0) }.joined()
  }

  private mutating func readContainer(_ value: ArraySlice<UInt8>) {
    let container = TLV.elements(value)
    isWhole = isWhole && container.isWhole
    for element in container.elements {
      switch element.tag {
      case 0x23: readReceipts(element.value)
      case 0x34:
        let parts = TLV.elements(element.value).elements
        if let date = parts.first(where: { $0.tag == 0x1F0E && $0.value.count == 4 }),
          let time = parts.first(where: { $0.tag == 0x1F0F && $0.value.count == 3 })
        {
          clock = BCD.text(date.value + time.value)
        }
      // A longer value may be a card number.
      case 0x1F44 where element.value.count == 4: terminal = terminal ?? BCD.text(element.value)
      default: break
      }
    }
  }

  private mutating func readReceipts(_ value: ArraySlice<UInt8>) {
    let list = TLV.elements(value)
    let receipts = list.elements.filter { $0.tag == 0x08 }
    let numbers = receipts.compactMap { $0.value.count == 2 ? BCD.number($0.value) : nil }
    isWhole = isWhole && list.isWhole && numbers.count == receipts.count
    openReceipts = (openReceipts ?? []) + numbers
  }
}

extension Fields.Totals {
  /// Adds up the numbers and sums of payments by each kind of card, which follow two receipt numbers. Returns `nil` if
  /// a sum is invalid.
  fileprivate init?(_ value: ArraySlice<UInt8>) {
    var (rest, count, amount) = (value.dropFirst(4), 0, 0)
    while rest.count >= 7, let number = rest.popFirst() {
      guard let sum = BCD.number(rest.prefix(6)) else { return nil }
      count += Int(number)
      amount += sum
      rest = rest.dropFirst(6)
    }
    self.init(count: count, amount: amount)
  }
}
