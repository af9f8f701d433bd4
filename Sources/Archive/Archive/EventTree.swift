package import JuiceDomain
package import KioskProtocol

/// A decoder for any event, by way of its JSON tree.
package struct EventTree {
  package private(set) var epoch = 0
  package let seq: Int
  package let at: Timestamp
  /// The values of `EventColumn.all`, as text.
  private var values: [String?]
  /// The members that have no column, as JSON.
  private var more: [String] = []

  /// - Throws: `UnreadableEvent`; see `EventRow`.
  package init(_ payload: [UInt8]) throws(UnreadableEvent) {
    let json: JSON
    do { json = try JSON.parse(payload) } catch { throw UnreadableEvent("\(error)") }
    guard case .object(let members) = json else {
      throw UnreadableEvent("it is \(json.kind), not an object")
    }
    var (seq, at) = (Int?.none, Timestamp?.none)
    values = Array(repeating: nil, count: EventColumn.all.count)
    values[EventColumn.epoch] = "\(epoch)"
    for member in members {
      guard let column = EventColumn.all.firstIndex(where: { $0.name == member.key }) else {
        more.append(try member.written())
        continue
      }
      switch EventColumn.all[column].kind {
      case .text: values[column] = try member.text()
      case .decimal: values[column] = try member.decimal()
      case .amounts: values[column] = try member.amounts()
      case .time:
        at = try member.time()
        values[column] = at?.description
      case .whole(let range):
        let number = try member.integer(in: range)
        if column == EventColumn.seq { seq = number }
        if column == EventColumn.epoch { epoch = number }
        values[column] = "\(number)"
      }
    }
    guard let seq else { throw UnreadableEvent("'seq' is missing") }
    guard let at else { throw UnreadableEvent("'at' is missing") }
    guard values[EventColumn.status] != nil else { throw UnreadableEvent("'status' is missing") }
    (self.seq, self.at) = (seq, at)
  }

  package func line(of kiosk: KioskID) -> [UInt8] {
    var text = CopyText()
    text.field(kiosk.text)
    for value in values { text.field(value) }
    text.field(more.isEmpty ? nil : "{" + more.joined(separator: ",") + "}")
    text.endRow()
    return text.bytes
  }
}

extension JSON.Member {
  fileprivate func text() throws(UnreadableEvent) -> String {
    guard case .string(let text) = value else {
      throw UnreadableEvent("'\(key)' is \(value.kind), not a text")
    }
    guard !text.hasNull else {
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
    guard let time = Timestamp(try text()), time >= Self.firstTime else {
      throw UnreadableEvent("'\(key)' is not a valid time")
    }
    return time
  }

  /// The first instant of the year 1. PostgreSQL has no year 0.
  private static let firstTime = Timestamp(milliseconds: -62_135_596_800_000)

  /// Returns an amount. It must be a text, because JSON numbers are rounded, and within the limits
  /// of `numeric`.
  fileprivate func decimal() throws(UnreadableEvent) -> String {
    let text = try text()
    guard text.utf8.isDecimal else { throw UnreadableEvent("'\(key)' is not a valid amount") }
    return text
  }

  fileprivate func amounts() throws(UnreadableEvent) -> String {
    guard case .object(let members) = value else {
      throw UnreadableEvent("'\(key)' is \(value.kind), not an object")
    }
    var texts: [String] = []
    for part in members {
      guard Fruit.ID(part.key) != nil, case .integer(let amount) = part.value,
        EventColumn.amounts.contains(amount)
      else { throw UnreadableEvent("'\(key)' has an invalid fruit or amount") }
      texts.append("\"\(part.key)\":\(amount)")
    }
    return "{" + texts.joined(separator: ",") + "}"
  }

  /// The member as JSON text.
  fileprivate func written() throws(UnreadableEvent) -> String {
    guard let key = JSON.string(key).text, let value = value.text else {
      throw UnreadableEvent("it contains U+0000, which PostgreSQL cannot store")
    }
    return "\(key):\(value)"
  }
}

extension JSON {
  /// The value as JSON text, or `nil` if it contains U+0000.
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
  /// Whether the text contains U+0000.
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
