import JuiceMaker
import KioskMessages

/// An answer without what is its own: what is left, all answers of a kind have in common, and it is
/// written once.
///
/// Of the words in an answer, the entry's id, juice, number and ticket are replaced by a mark for
/// each, and any other number by a mark and itself in `numbers`.
struct AnswerShape: Hashable {
  let bytes: [UInt8]
  /// In the order of their marks, in seven bits to a byte, the least first; `nil` if nothing could
  /// be taken out, and the shape is the answer.
  let numbers: [UInt8]?

  init(bytes: [UInt8], numbers: [UInt8]?) {
    self.bytes = bytes
    self.numbers = numbers
  }

  /// The bytes from which on none stands in UTF-8.
  fileprivate enum Mark: UInt8 {
    case id = 0xFB
    case juice, seq, ticket, number
  }

  /// Takes out of the payload what is the entry's own.
  init(of payload: [UInt8], without words: Words) {
    self = payload.withUnsafeBufferPointer { AnswerShape(of: $0, without: words) }
  }

  private init(of payload: UnsafeBufferPointer<UInt8>, without words: Words) {
    var shape: [UInt8] = []
    var numbers: [UInt8] = []
    shape.reserveCapacity(payload.count)
    var (position, copied) = (0, 0)
    while position < payload.count {
      guard payload[position].isOfIdentifier else {
        guard payload[position] < Mark.id.rawValue else {
          self.init(bytes: Array(payload), numbers: nil)
          return
        }
        position += 1
        continue
      }
      let start = position
      while position < payload.count, payload[position].isOfIdentifier { position += 1 }
      guard let (mark, number) = words.mark(for: start..<position, of: payload) else { continue }
      shape += payload[copied..<start]
      shape.append(mark.rawValue)
      if let number { Self.append(number, to: &numbers) }
      copied = position
    }
    shape += payload[copied...]
    self.init(bytes: shape, numbers: numbers)
  }

  /// The payload again; `nil` if the shape is not one of an answer to this entry.
  func payload(to entry: LedgerEntry) -> [UInt8]? {
    guard let numbers else { return bytes }
    let words = Words(entry)
    var rest = numbers[...]
    var payload: [UInt8] = []
    payload.reserveCapacity(bytes.count + 64)
    for byte in bytes {
      guard byte >= Mark.id.rawValue else {
        payload.append(byte)
        continue
      }
      guard let mark = Mark(rawValue: byte) else { return nil }
      switch mark {
      case .id: payload += words.id
      case .juice: payload += words.juice
      case .seq: payload += String(words.seq).utf8
      case .ticket: payload += String(words.ticket ?? 0).utf8
      case .number:
        guard let number = Self.removeFirst(of: &rest) else { return nil }
        payload += String(number).utf8
      }
    }
    return rest.isEmpty ? payload : nil
  }

  private static func append(_ number: Int, to numbers: inout [UInt8]) {
    var rest = number
    while rest > 0x7F {
      numbers.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    numbers.append(UInt8(rest))
  }

  private static func removeFirst(of numbers: inout ArraySlice<UInt8>) -> Int? {
    var number = 0
    for shift in stride(from: 0, to: 63, by: 7) {
      guard let byte = numbers.popFirst() else { return nil }
      number |= Int(byte & 0x7F) << shift
      if byte < 0x80 { return number }
    }
    return nil
  }

  /// What is an entry's own.
  struct Words {
    fileprivate let id, juice: [UInt8]
    fileprivate let seq: Int
    fileprivate let ticket: Int?

    init(id: String?, juice: String?, seq: Int, ticket: Int?) {
      self.id = Array((id ?? "").utf8)
      self.juice = Array((juice ?? "").utf8)
      self.seq = seq
      self.ticket = ticket
    }

    init(_ entry: LedgerEntry) {
      self.init(
        id: entry.id?.text, juice: entry.order?.juice.text, seq: entry.seq,
        ticket: entry.ticket?.number)
    }

    /// What stands for a word; `nil` if it stays.
    fileprivate func mark(
      for word: Range<Int>, of payload: UnsafeBufferPointer<UInt8>
    ) -> (mark: Mark, number: Int?)? {
      if payload.has(id, at: word) { return (.id, nil) }
      if payload.has(juice, at: word) { return (.juice, nil) }
      guard let number = payload.canonicalNumber(at: word) else { return nil }
      if number == seq { return (.seq, nil) }
      if number == ticket { return (.ticket, nil) }
      return (.number, number)
    }
  }
}

extension LedgerEntry {
  var ticket: Ticket? {
    if case .ready(_, _, let ticket) = outcome { ticket } else { nil }
  }

  /// What was ordered, if it was an order.
  var order: Order? {
    switch outcome {
    case .ready(let order, _, _), .outOfStock(let order, _): order
    case .rejected(_, let order): order
    case .opened, .restocked, .service: nil
    }
  }
}

// By index: a slice for each word would cost more than all else.
extension UnsafeBufferPointer<UInt8> {
  fileprivate func has(_ word: [UInt8], at range: Range<Int>) -> Bool {
    guard word.count == range.count else { return false }
    for index in word.indices where self[range.lowerBound + index] != word[index] { return false }
    return true
  }

  /// A number, if it is written in no other way.
  fileprivate func canonicalNumber(at range: Range<Int>) -> Int? {
    let zero = UInt8(ascii: "0")
    guard range.count <= 18, self[range.lowerBound] != zero || range.count == 1 else { return nil }
    var number = 0
    for index in range {
      guard (zero...UInt8(ascii: "9")).contains(self[index]) else { return nil }
      number = number * 10 + Int(self[index] - zero)
    }
    return number
  }
}
