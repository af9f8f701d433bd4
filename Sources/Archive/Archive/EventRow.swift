package import JuiceDomain
import KioskProtocol
package import MessageBroker

/// An entry of a kiosk's ledger as a row of the table `event`.
///
/// It is decoded from the event itself and not from a `LedgerEntry`: a kiosk that is newer than the
/// archive may send members that `LedgerEntry` lacks, and the archive stores these in `more`. It is
/// a class, so that sorting moves references.
package final class EventRow: Sendable {
  package let key: EventKey
  let at: Timestamp
  /// All columns as one line in the text format of COPY.
  package let line: [UInt8]
  /// The original message.
  let message: Message

  /// The names of the columns in the order of `line`.
  static let columns = ["kiosk"] + EventColumn.all.map(\.name) + ["more"]
  package static let columnList = columns.joined(separator: ", ")

  /// Decodes an event.
  ///
  /// - Parameter kiosk: The kiosk that sent the event.
  /// - Throws: `UnreadableEvent` if the event is not an entry of a ledger, or contains a value that
  ///   PostgreSQL cannot store (U+0000), a time that other programs cannot read (the year 0 or
  ///   10000), or one that exceeds a limit of `EventColumn`.
  package init(_ message: Message, of kiosk: KioskID) throws(UnreadableEvent) {
    let bytes = message.payload
    let members: [(member: JSON.Member, text: Range<Int>)]?
    do { members = try JSON.members(of: bytes) } catch { throw UnreadableEvent("\(error)") }
    guard let members else { throw UnreadableEvent("it is not an object") }
    var values = [JSON.Member?](repeating: nil, count: EventColumn.all.count)
    var more: [UInt8] = []
    for (member, text) in members {
      if let column = EventColumn.all.firstIndex(where: { $0.stores(member) }) {
        values[column] = member
      } else {
        more.append(UInt8(ascii: more.isEmpty ? "{" : ","))
        more.append(contentsOf: bytes[text])
      }
    }
    var line = CopyText(capacity: bytes.count + 128)
    line.field(kiosk.text)
    var (seq, at, epoch) = (Int?.none, Timestamp?.none, 0)
    for (index, column) in EventColumn.all.enumerated() {
      guard let member = values[index] else {
        // `epoch` is the only column that an event may omit and that must not be null.
        line.field(index == EventColumn.epoch ? epoch : nil)
        continue
      }
      switch column.kind {
      case .text(let limit): line.field(try member.text(upTo: limit))
      case .decimal: line.field(try member.decimal())
      case .amounts: line.field(plain: try member.amounts())
      case .time:
        at = try member.time()
        line.field(at?.description)
      case .whole(let range):
        let number = try member.integer(in: range)
        if index == EventColumn.seq { seq = number }
        if index == EventColumn.epoch { epoch = number }
        line.field(number)
      }
    }
    guard let seq else { throw UnreadableEvent("'seq' is missing") }
    guard let at else { throw UnreadableEvent("'at' is missing") }
    guard values[EventColumn.status] != nil else { throw UnreadableEvent("'status' is missing") }
    try Self.checkMoney(values)
    if more.isEmpty {
      line.null()
    } else {
      more.append(UInt8(ascii: "}"))
      try Self.checkStorable(more)
      line.field(text: more)
    }
    line.endRow()
    key = EventKey(ledger: LedgerKey(kiosk: kiosk, epoch: epoch), seq: seq)
    (self.at, self.line, self.message) = (at, line.bytes, message)
  }

  /// Checks that a currency has a valid code, and that its amount is an amount of it: the sums of a
  /// chain are then amounts, too, whatever one kiosk sends.
  private static func checkMoney(_ values: [JSON.Member?]) throws(UnreadableEvent) {
    guard case .string(let code)? = values[EventColumn.currency]?.value else { return }
    guard let currency = Currency(code) else {
      throw UnreadableEvent("'currency' is not a currency")
    }
    guard case .string(let amount)? = values[EventColumn.amount]?.value else { return }
    guard let money = Money(amount, currency), money.units <= JSON.maximumUnits else {
      throw UnreadableEvent("'amount' is not an amount of its currency")
    }
  }

  /// Checks that a JSON text is within the limits of `EventColumn`, and that `jsonb` can store it.
  private static func checkStorable(_ json: [UInt8]) throws(UnreadableEvent) {
    guard json.count <= EventColumn.maximumMore else {
      throw UnreadableEvent("its unknown members have more than \(EventColumn.maximumMore) bytes")
    }
    let zero = Array("u0000".utf8)
    let inNumbers = Array("0123456789+-.eE".utf8)
    var (position, isText) = (0, false)
    while position < json.count {
      switch json[position] {
      case UInt8(ascii: "\""): isText.toggle()
      case UInt8(ascii: "\\"):
        guard !json[(position + 1)...].starts(with: zero) else {
          throw UnreadableEvent("it contains U+0000, which PostgreSQL cannot store")
        }
        position += 1
      case UInt8(ascii: "0")...UInt8(ascii: "9") where !isText:
        let number = json[position...].prefix { inNumbers.contains($0) }
        let exponent = number.drop { $0 | 0x20 != UInt8(ascii: "e") }.dropFirst()
        let power = Int(String(decoding: exponent, as: UTF8.self)) ?? (exponent.isEmpty ? 0 : .max)
        guard number.count <= EventColumn.maximumDigits,
          (-EventColumn.maximumDigits...EventColumn.maximumDigits).contains(power)
        else { throw UnreadableEvent("it contains a number that is too large or too precise") }
        position = number.endIndex - 1
      default: break
      }
      position += 1
    }
  }
}

extension JSON.Member {
  fileprivate func text(upTo limit: Int) throws(UnreadableEvent) -> String {
    guard case .string(let text) = value else {
      throw UnreadableEvent("'\(key)' is \(value.kind), not a text")
    }
    guard text.utf8.count <= limit else {
      throw UnreadableEvent("'\(key)' has more than \(limit) bytes")
    }
    guard !text.utf8.contains(0) else {
      throw UnreadableEvent("'\(key)' contains U+0000, which PostgreSQL cannot store")
    }
    return text
  }

  fileprivate func integer(in range: ClosedRange<Int>) throws(UnreadableEvent) -> Int {
    guard case .integer(let number) = value else {
      throw UnreadableEvent("'\(key)' is \(value.kind), not a whole number")
    }
    guard range.contains(number) else { throw UnreadableEvent("'\(key)' is out of range") }
    return number
  }

  fileprivate func time() throws(UnreadableEvent) -> Timestamp {
    guard let time = Timestamp(try text(upTo: 64)), Self.times.contains(time) else {
      throw UnreadableEvent("'\(key)' is not a valid time")
    }
    return time
  }

  /// The times that are in the years 1 to 9999 in each time zone: other programs cannot read other
  /// years.
  private static let times =
    Timestamp(milliseconds: -62_135_510_400_000)...Timestamp(milliseconds: 253_402_214_399_999)

  /// Returns an amount. It must be a JSON string, because some JSON parsers round numbers.
  fileprivate func decimal() throws(UnreadableEvent) -> String {
    let text = try text(upTo: 32)
    guard text.utf8.isDecimal else { throw UnreadableEvent("'\(key)' is not a valid amount") }
    return text
  }

  fileprivate func amounts() throws(UnreadableEvent) -> [UInt8] {
    guard case .object(let members) = value else {
      throw UnreadableEvent("'\(key)' is \(value.kind), not an object")
    }
    guard members.count <= EventColumn.maximumFruits else {
      throw UnreadableEvent("'\(key)' has more than \(EventColumn.maximumFruits) fruits")
    }
    var amounts: [(fruit: Fruit.ID, amount: Int)] = []
    for part in members {
      guard let fruit = Fruit.ID(part.key), case .integer(let amount) = part.value,
        EventColumn.amounts.contains(amount)
      else { throw UnreadableEvent("'\(key)' has an invalid fruit or amount") }
      amounts.append((fruit, amount))
    }
    return JSONWriter.object { json in
      for (fruit, amount) in amounts { json.member(named: fruit.text, amount) }
    }
  }
}

extension String.UTF8View {
  /// Whether the text consists of digits, optionally with a decimal point between digits. Uses no
  /// `Regex`, which would take longer than the rest of the decoder.
  fileprivate var isDecimal: Bool {
    var (digits, points) = (0, 0)
    for byte in self {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digits += 1
      case UInt8(ascii: ".") where digits > 0 && points == 0: (digits, points) = (0, 1)
      default: return false
      }
    }
    return digits > 0
  }
}

/// The key of an entry among those of all kiosks.
package struct EventKey: Hashable, Sendable {
  package let ledger: LedgerKey
  package let seq: Int
}

/// The key of a ledger. After a restore, a kiosk continues with a new epoch.
package struct LedgerKey: Hashable, Sendable {
  package let kiosk: KioskID
  package let epoch: Int

  package init(kiosk: KioskID, epoch: Int) {
    self.kiosk = kiosk
    self.epoch = epoch
  }
}

extension LedgerKey: Comparable {
  package static func < (left: Self, right: Self) -> Bool {
    (left.kiosk, left.epoch) < (right.kiosk, right.epoch)
  }
}

extension EventKey: Comparable {
  package static func < (left: Self, right: Self) -> Bool {
    (left.ledger, left.seq) < (right.ledger, right.seq)
  }
}

/// The reason why the archive cannot decode a message.
package struct UnreadableEvent: Error, Hashable, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}
