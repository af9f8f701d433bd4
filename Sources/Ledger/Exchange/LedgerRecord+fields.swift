import JuiceMaker
import KioskMessages

// What stands in which field of a record. Of an entry it is what `events` tells, and the answer.
extension LedgerRecord {
  /// More than any kiosk holds, and so little that sums do not overflow.
  static let most = 1_000_000_000_000_000
  /// A number of an entry, or 0.
  private static let numbers = 0...most

  private enum Kind: String {
    case ledger, kiosk, ticket, topic, mark, archive, entry, delivery, end
  }

  var fields: RecordFields {
    var fields = RecordFields()
    func tell(_ kind: Kind) { fields[.record] = .text(kind.rawValue) }
    switch self {
    case .ledger(let after, let stock):
      tell(.ledger)
      fields[.version] = .integer(Self.version)
      fields[.after] = .integer(after)
      if !stock.isEmpty { fields[.stock] = .amounts(stock) }
    case .kiosk(let service, let confirmed):
      tell(.kiosk)
      fields[.service] = .text(service.rawValue)
      fields[.confirmed] = .integer(confirmed)
    case .ticket(let ticket):
      tell(.ticket)
      fields[.day] = .integer(ticket.day)
      fields[.ticket] = .integer(ticket.number)
    case .topic(let topic):
      tell(.topic)
      fields[.topic] = .text(topic)
    case .mark(let key, let value):
      tell(.mark)
      fields[.key] = .text(key)
      fields[.value] = .text(value)
    case .archive(let entries):
      tell(.archive)
      fields[.first] = .integer(entries.first)
      fields[.last] = .integer(entries.last)
      fields[.checksum] = .integer(Int(entries.checksum))
    case .entry(let entry, let answer):
      tell(.entry)
      fields.tell(entry)
      if let answer { fields.tell(answer) }
    case .delivery(let fingerprint, let seq):
      tell(.delivery)
      fields[.seq] = .integer(seq)
      fields[.packet] = .integer(Int(fingerprint.packetID))
      fields[.digest] = .text(fingerprint.digest.bytes.hexadecimal)
    case .end(let seq, let stock):
      tell(.end)
      fields[.seq] = .integer(seq)
      if !stock.isEmpty { fields[.stock] = .amounts(stock) }
    }
    return fields
  }

  init(_ fields: RecordFields) throws(RecordError) {
    var fields = fields
    let kind: Kind = try fields.value(.record) { Kind(rawValue: $0) }
    switch kind {
    case .ledger:
      let version = try fields.integer(.version, in: 1...Self.most)
      guard version == Self.version else {
        throw RecordError("version", "a newer version of juice-kiosk wrote it: import it with that")
      }
      self = .ledger(
        after: try fields.integer(.after, in: Self.numbers),
        stock: try fields.amounts(.stock, in: Self.numbers))
    case .kiosk:
      let service: ServiceState = try fields.value(.service) { ServiceState(rawValue: $0) }
      self = .kiosk(service, confirmed: try fields.integer(.confirmed, in: Self.numbers))
    case .ticket: self = .ticket(try fields.ticket())
    case .topic: self = .topic(try fields.text(.topic))
    case .mark: self = .mark(key: try fields.text(.key), value: try fields.text(.value))
    case .archive:
      let first = try fields.integer(.first, in: 1...Self.most)
      self = .archive(
        ArchivedEntries(
          first: first, last: try fields.integer(.last, in: first...Self.most),
          checksum: UInt32(try fields.integer(.checksum, in: 0...Int(UInt32.max)))))
    case .entry: self = .entry(try fields.entry(), try fields.answer())
    case .delivery:
      let packet = UInt16(try fields.integer(.packet, in: 0...Int(UInt16.max)))
      let digest: UInt64 = try fields.value(.digest) { UInt64(hexadecimal: $0) }
      self = .delivery(
        Fingerprint(packetID: packet, digest: digest),
        seq: try fields.integer(.seq, in: 1...Self.most))
    case .end:
      self = .end(
        seq: try fields.integer(.seq, in: Self.numbers),
        stock: try fields.amounts(.stock, in: Self.numbers))
    }
    try fields.finish("a record of this kind")
  }
}

extension RecordFields {
  fileprivate mutating func tell(_ entry: LedgerEntry) {
    self[.seq] = .integer(entry.seq)
    self[.at] = .text(entry.at.description)
    self[.source] = entry.source.map { .text($0.description) }
    self[.id] = entry.id.map { .text($0.text) }
    self[.status] = .text(entry.status.rawValue)
    self[.juice] = entry.order.map { .text($0.juice.text) }
    self[.quantity] = entry.order.map { .integer($0.quantity) }
    if let ticket = entry.ticket {
      self[.day] = .integer(ticket.day)
      self[.ticket] = .integer(ticket.number)
    }
    if case .rejected(let reason, _) = entry.outcome { self[.reason] = .text(reason.rawValue) }
    if case .outOfStock(_, let missing) = entry.outcome { self[.missing] = .amounts(missing) }
    if !entry.changes.isEmpty { self[.changes] = .amounts(entry.changes) }
  }

  fileprivate mutating func tell(_ answer: Answer) {
    self[.topic] = .text(answer.topic)
    self[.correlation] = answer.correlationData.map { .text($0.hexadecimal) }
    if let text = String(validating: answer.payload, as: UTF8.self) {
      self[.answer] = .text(text)
    } else {
      self[.answerBytes] = .text(answer.payload.hexadecimal)
    }
  }

  fileprivate mutating func entry() throws(RecordError) -> LedgerEntry {
    let seq = try integer(.seq, in: 1...LedgerRecord.most)
    let at: Timestamp = try value(.at) { Timestamp($0) }
    let source: Source? = try value(ifThere: .source) { Source($0) }
    let id: Request.ID? = try value(ifThere: .id) { Request.ID($0) }
    return LedgerEntry(seq: seq, at: at, source: source, id: id, outcome: try outcome())
  }

  private mutating func outcome() throws(RecordError) -> LedgerEntry.Outcome {
    let most = LedgerRecord.most
    let status: LedgerEntry.Status = try value(.status) { LedgerEntry.Status(rawValue: $0) }
    switch status {
    case .opened: return .opened(try amounts(.changes, in: 0...most))
    case .restocked: return .restocked(changes: try amounts(.changes))
    case .open: return .service(.open)
    case .closed: return .service(.closed)
    case .ready:
      let order = try order(ofAtLeast: 1)
      let used = try amounts(.changes, in: -most...0).times(-1)
      return .ready(order, used: used, ticket: try ticket())
    case .outOfStock:
      let order = try order(ofAtLeast: 1)
      guard self[.missing] != nil else { throw RecordError("missing", "it is missing") }
      return .outOfStock(order, missing: try amounts(.missing, in: 0...most))
    case .rejected:
      let reason: RejectionReason = try value(.reason) { RejectionReason(rawValue: $0) }
      return .rejected(reason, order: self[.juice] == nil ? nil : try order(ofAtLeast: .min))
    }
  }

  private mutating func order(ofAtLeast least: Int) throws(RecordError) -> Order {
    let juice: Juice.ID = try value(.juice) { Juice.ID($0) }
    return Order(juice: juice, quantity: try integer(.quantity, in: least...Int.max))
  }

  fileprivate mutating func ticket() throws(RecordError) -> Ticket {
    Ticket(
      day: try integer(.day, in: -4_000_000...4_000_000),
      number: try integer(.ticket, in: 1...LedgerRecord.most))
  }

  fileprivate mutating func answer() throws(RecordError) -> Answer? {
    guard let topic = try text(ifThere: .topic) else { return nil }
    let correlation = try bytes(ifThere: .correlation)
    if let bytes = try bytes(ifThere: .answerBytes) {
      guard String(validating: bytes, as: UTF8.self) == nil else {
        throw RecordError("answer_bytes", "it is a text: it belongs into answer")
      }
      return Answer(topic: topic, correlationData: correlation, payload: bytes)
    }
    return Answer(
      topic: topic, correlationData: correlation, payload: Array(try text(.answer).utf8))
  }
}

extension UInt64 {
  fileprivate var bytes: [UInt8] {
    stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> UInt64($0)) }
  }

  /// Of 16 digits.
  fileprivate init?(hexadecimal text: String) {
    guard let bytes = [UInt8](hexadecimal: text), bytes.count == 8 else { return nil }
    self = bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }
}
