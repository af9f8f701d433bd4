import JuiceMaker
import KioskMessages

/// A record as named fields: what its two ways of writing have in common.
struct RecordFields {
  /// In the order in which they are written.
  enum Name: String, CaseIterable {
    case record, version, after, seq, at, source, id, status, juice, quantity, day, ticket, reason
    case missing, changes, topic, correlation, answer
    /// In place of `answer`, where it is no UTF-8.
    case answerBytes = "answer_bytes"
    case service, confirmed, packet, digest, first, last, checksum, key, value, stock
  }

  enum Value {
    case integer(Int)
    case text(String)
    case amounts(FruitAmounts)
    /// Of a table, where nothing tells what it is.
    case cell(String)
  }

  private(set) var values: [Name: Value] = [:]

  subscript(name: Name) -> Value? {
    get { values[name] }
    set { values[name] = newValue }
  }

  // MARK: Taking them out

  /// A field that must be there.
  mutating func integer(_ name: Name, in range: ClosedRange<Int>) throws(RecordError) -> Int {
    guard let number = try integer(ifThere: name) else { throw missing(name) }
    guard range.contains(number) else {
      throw RecordError(name.rawValue, "\(number) is not possible here")
    }
    return number
  }

  mutating func integer(ifThere name: Name) throws(RecordError) -> Int? {
    switch values.removeValue(forKey: name) {
    case nil: return nil
    case .integer(let number): return number
    case .cell(let text):
      guard let number = Int(text), String(number) == text else { fallthrough }
      return number
    default: throw RecordError(name.rawValue, "it is not a whole number")
    }
  }

  mutating func text(_ name: Name) throws(RecordError) -> String {
    guard let text = try text(ifThere: name) else { throw missing(name) }
    return text
  }

  mutating func text(ifThere name: Name) throws(RecordError) -> String? {
    switch values.removeValue(forKey: name) {
    case nil: nil
    case .text(let text), .cell(let text): text
    default: throw RecordError(name.rawValue, "it is not a text")
    }
  }

  /// None if the field is not there.
  mutating func amounts(
    _ name: Name, in range: ClosedRange<Int> = -LedgerRecord.most...LedgerRecord.most
  ) throws(RecordError) -> FruitAmounts {
    let amounts: FruitAmounts
    switch values.removeValue(forKey: name) {
    case nil: return [:]
    case .amounts(let found): amounts = found
    case .cell(let text):
      guard let found = Self.amounts(text) else { fallthrough }
      amounts = found
    default: throw RecordError(name.rawValue, "it is not amounts of fruit")
    }
    if let wrong = amounts.first(where: { !range.contains($0.amount) }) {
      throw RecordError(name.rawValue, "\(wrong.amount) of \(wrong.fruit) is not possible here")
    }
    return amounts
  }

  mutating func bytes(ifThere name: Name) throws(RecordError) -> [UInt8]? {
    guard let text = try text(ifThere: name) else { return nil }
    guard let bytes = [UInt8](hexadecimal: text) else {
      throw RecordError(name.rawValue, "it is not bytes in hexadecimal digits")
    }
    return bytes
  }

  /// A field that is one of the words or ids of a type.
  mutating func value<Value>(
    _ name: Name, as read: (String) -> Value?
  ) throws(RecordError) -> Value {
    guard let value = try value(ifThere: name, as: read) else { throw missing(name) }
    return value
  }

  mutating func value<Value>(
    ifThere name: Name, as read: (String) -> Value?
  ) throws(RecordError) -> Value? {
    guard let text = try text(ifThere: name) else { return nil }
    guard let value = read(text) else {
      throw RecordError(name.rawValue, "there is no such \(name.rawValue)")
    }
    return value
  }

  /// To be called when all is taken that belongs to the record.
  func finish(_ kind: String) throws(RecordError) {
    if let name = Name.allCases.first(where: { values[$0] != nil }) {
      throw RecordError(name.rawValue, "it does not belong to \(kind)")
    }
  }

  private func missing(_ name: Name) -> RecordError { RecordError(name.rawValue, "it is missing") }

  /// `banana 1; kiwi -2`
  private static func amounts(_ text: String) -> FruitAmounts? {
    var amounts: FruitAmounts = [:]
    if text.isEmpty { return amounts }
    for part in text.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false) {
      let words = part.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) }
      guard words.count == 2, let fruit = Fruit.ID(words[0]), amounts[fruit] == nil,
        let amount = Int(words[1])
      else { return nil }
      amounts[fruit] = amount
    }
    return amounts
  }
}

extension [UInt8] {
  /// `nil` if it is no such text.
  init?(hexadecimal text: String) {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    self.init()
    reserveCapacity(digits.count / 2)
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = Self.value(of: digits[index]), let low = Self.value(of: digits[index + 1])
      else { return nil }
      append(high << 4 | low)
    }
  }

  var hexadecimal: String {
    let digits = [UInt8]("0123456789abcdef".utf8)
    return String(
      decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  private static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
