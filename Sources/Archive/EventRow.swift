package import JuiceDomain
import KioskMessages
package import MessageBroker

/// An entry of a kiosk's ledger as a row of the table `event`.
///
/// It is read from the event itself and not by way of `LedgerEntry`: a kiosk that is newer than the
/// archive may tell of things that no `LedgerEntry` holds yet, and the archive keeps them. A class, since
/// rows are sorted.
package final class EventRow: Sendable {
  package let key: EventKey
  let at: Timestamp
  /// All columns, as COPY reads them.
  let line: [UInt8]
  /// As it arrived.
  let message: Message

  /// In the order of `line`.
  static let columns = [
    "kiosk", "epoch", "seq", "at", "status", "source", "id", "juice", "reason", "machine",
    "currency", "job", "ticket", "quantity", "place", "amount", "changes", "missing", "more",
  ]
  package static let columnList = columns.joined(separator: ", ")

  /// Reads an event.
  ///
  /// - Parameter kiosk: who has told it.
  /// - Throws: `UnreadableEvent`: it is no entry of a ledger, or holds what PostgreSQL cannot (U+0000, the
  ///   year 0).
  package init(_ message: Message, of kiosk: KioskID) throws(UnreadableEvent) {
    let json: JSON
    do { json = try JSON.parse(message.payload) } catch { throw UnreadableEvent("\(error)") }
    guard case .object(let members) = json else {
      throw UnreadableEvent("it is \(json.kind), not an object")
    }
    var fields = Fields()
    for member in members { try fields.take(member) }
    guard let seq = fields.seq else { throw UnreadableEvent("'seq' is missing") }
    guard let at = fields.at else { throw UnreadableEvent("'at' is missing") }
    guard let status = fields.status else { throw UnreadableEvent("'status' is missing") }
    key = EventKey(ledger: LedgerKey(kiosk: kiosk, epoch: fields.epoch), seq: seq)
    self.at = at
    self.message = message

    var text = CopyText(capacity: message.payload.count)
    text.field(kiosk.text)
    text.field(fields.epoch)
    text.field(seq)
    text.field(at.description)
    text.field(status)
    text.field(fields.source)
    text.field(fields.id)
    text.field(fields.juice)
    text.field(fields.reason)
    text.field(fields.machine)
    text.field(fields.currency)
    text.field(fields.job)
    text.field(fields.ticket)
    text.field(fields.quantity)
    text.field(fields.place)
    text.field(fields.amount)
    text.field(fields.changes)
    text.field(fields.missing)
    text.field(fields.more.map { "{\($0)}" })
    text.endRow()
    line = text.bytes
  }
}

/// Names an entry among those of all kiosks.
package struct EventKey: Hashable, Sendable {
  package let ledger: LedgerKey
  package let seq: Int
}

/// Names a ledger: after a restore a kiosk goes on with another one.
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

/// Why a message cannot be archived as an event.
package struct UnreadableEvent: Error, Hashable, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}

extension EventRow {
  /// What a seq may be: so many that nothing is ever computed beyond an `Int`.
  static let seqs = 1...(1 << 53)
}

/// The members of an event, as they are found.
private struct Fields {
  var seq: Int?
  var epoch = 0
  var at: Timestamp?
  var status: String?
  var source: String?
  var id: String?
  var juice: String?
  var reason: String?
  var machine: String?
  var currency: String?
  var job: Int?
  var ticket: Int?
  var quantity: Int?
  var place: Int?
  /// What the glasses cost, as it is written.
  var amount: String?
  var changes: String?
  var missing: String?
  /// Members that have no column, as JSON.
  var more: String?

  /// PostgreSQL knows no year 0.
  private static let firstTime = Timestamp(milliseconds: -62_135_596_800_000)

  mutating func take(_ member: JSON.Member) throws(UnreadableEvent) {
    switch member.key {
    case "seq": seq = try integer(member, in: EventRow.seqs)
    case "epoch": epoch = try integer(member, in: 0...Int.max)
    case "at":
      at = Timestamp(try text(member))
      guard let at, at >= Self.firstTime else { throw UnreadableEvent("'at' is no time") }
    case "status": status = try text(member)
    case "source": source = try text(member)
    case "id": id = try text(member)
    case "juice": juice = try text(member)
    case "reason": reason = try text(member)
    case "machine": machine = try text(member)
    case "job": job = try integer(member, in: EventRow.seqs)
    case "ticket": ticket = try integer(member, in: 0...Int(Int32.max))
    case "quantity": quantity = try integer(member, in: 0...Int(Int32.max))
    case "place": place = try integer(member, in: 0...Int(Int32.max))
    case "currency": currency = try text(member)
    case "amount": amount = try decimal(member)
    case "changes": changes = try amounts(member)
    case "missing": missing = try amounts(member)
    default:
      guard let key = JSON.string(member.key).text, let value = member.value.text else {
        throw UnreadableEvent("it holds U+0000, which PostgreSQL cannot")
      }
      more = (more.map { $0 + "," } ?? "") + "\(key):\(value)"
    }
  }

  private func text(_ member: JSON.Member) throws(UnreadableEvent) -> String {
    guard case .string(let text) = member.value else {
      throw UnreadableEvent("'\(member.key)' is \(member.value.kind), not a text")
    }
    guard !text.hasNull else {
      throw UnreadableEvent("'\(member.key)' holds U+0000, which PostgreSQL cannot")
    }
    return text
  }

  private func integer(
    _ member: JSON.Member, in range: ClosedRange<Int>
  ) throws(UnreadableEvent) -> Int {
    guard case .integer(let number) = member.value else {
      throw UnreadableEvent("'\(member.key)' is \(member.value.kind), not a whole number")
    }
    guard range.contains(number) else { throw UnreadableEvent("'\(member.key)' is out of range") }
    return number
  }

  /// A text, because a number would be rounded; and nothing that PostgreSQL cannot take.
  private func decimal(_ member: JSON.Member) throws(UnreadableEvent) -> String {
    let text = try text(member)
    // Digits, and perhaps a point with digits on both sides. By hand: a Regex would take longer than all else.
    var (digits, points) = (0, 0)
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digits += 1
      case UInt8(ascii: ".") where digits > 0 && points == 0: (digits, points) = (0, 1)
      default: throw UnreadableEvent("'\(member.key)' is no amount")
      }
    }
    guard digits > 0, text.utf8.count <= 32 else {
      throw UnreadableEvent("'\(member.key)' is no amount")
    }
    return text
  }

  private func amounts(_ member: JSON.Member) throws(UnreadableEvent) -> String {
    guard case .object(let members) = member.value else {
      throw UnreadableEvent("'\(member.key)' is \(member.value.kind), not an object")
    }
    var text = "{"
    for part in members {
      guard Fruit.ID(part.key) != nil, case .integer(let amount) = part.value,
        (-1_000_000_000...1_000_000_000).contains(amount)
      else { throw UnreadableEvent("'\(member.key)' does not say how much of which fruit") }
      if text.utf8.count > 1 { text += "," }
      text += "\""
      text += part.key
      text += "\":"
      text += String(amount)
    }
    return text + "}"
  }
}

extension JSON {
  /// As it is written; `nil` if it holds U+0000.
  fileprivate var text: String? {
    switch self {
    case .null: return "null"
    case .bool(let truth): return truth ? "true" : "false"
    case .integer(let number): return "\(number)"
    case .number(let number): return "\(number)"
    case .string(let text):
      return text.hasNull ? nil : text.quotedAsJSON
    case .array(let elements):
      let texts = elements.compactMap(\.text)
      return texts.count == elements.count ? "[" + texts.joined(separator: ",") + "]" : nil
    case .object(let members):
      let texts = members.compactMap { member -> String? in
        guard let key = JSON.string(member.key).text, let value = member.value.text else {
          return nil
        }
        return "\(key):\(value)"
      }
      return texts.count == members.count ? "{" + texts.joined(separator: ",") + "}" : nil
    }
  }
}

extension String {
  /// Whether it holds U+0000.
  fileprivate var hasNull: Bool {
    let bytes = utf8.span
    return bytes.indices.contains { bytes[$0] == 0 }
  }

  fileprivate var quotedAsJSON: String {
    var quoted = "\""
    for scalar in unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case let control where control.value < 0x20:
        let digits = String(control.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
