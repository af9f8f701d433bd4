import Foundation
import GRDB
import JuiceMaker
package import KioskCore
package import KioskMessages

extension Ledger {
  /// The answers that were given before to requests with these keys.
  package func recall(
    _ keys: [RepeatKey]
  ) throws(LedgerError) -> [RepeatKey: Answer] {
    var answers: [RepeatKey: Answer] = [:]
    for key in keys {
      let answer =
        switch key {
        case .request(let source, let id): try answer(to: id, from: source)
        case .delivery(let fingerprint): try answer(to: fingerprint)
        }
      if let answer { answers[key] = answer }
    }
    return answers
  }

  private func answer(to id: Request.ID, from source: Source) throws(LedgerError) -> Answer? {
    for seq in try knownRequests().entries(of: id, from: source) {
      if let answer = try answer(to: id, from: source, in: seq) { return answer }
    }
    return nil
  }

  /// What an entry answered, if it did to this request, and if that is not to be forgotten.
  private func answer(
    to id: Request.ID, from source: Source, in seq: Int
  ) throws(LedgerError) -> Answer? {
    try reading { database in
      let rows = try database.rows(
        "SELECT *, \(Self.isRemembered) FROM event WHERE seq = ?", [seq])
      // guard: answers are forgotten in their time
      guard let row = rows.first, row["remembered"] else { return nil }
      let entry = try Self.entry(row)
      return entry.source == source && entry.id == id ? try Answer(row, to: entry) : nil
    }
  }

  private static let isRemembered = """
    (SELECT event.seq > last.seq - \(RequestIndex.kept)
        OR (event.seq > last.seq - \(RequestIndex.atMost)
          AND event.at >= last.at - \(RequestIndex.age))
      FROM entry AS last ORDER BY last.seq DESC LIMIT 1) AS remembered
    """

  private func answer(to fingerprint: Fingerprint) throws(LedgerError) -> Answer? {
    try reading { database in
      let rows = try database.rows(
        """
        SELECT event.* FROM delivery JOIN event USING (seq)
        WHERE packet_id = ? AND digest = ? ORDER BY seq DESC LIMIT 1
        """, [Int(fingerprint.packetID), Int64(bitPattern: fingerprint.digest)])
      return try rows.first.flatMap { try Answer($0, to: try Self.entry($0)) }
    }
  }

  // MARK: Known requests

  private func knownRequests() throws(LedgerError) -> RequestIndex {
    if requests == nil { requests = try readRequests() }
    return requests ?? RequestIndex()
  }

  /// Those that may still be recalled.
  private func readRequests() throws(LedgerError) -> RequestIndex {
    try reading { database in
      // What was retained has not used up its id.
      let statement = try Statement(
        """
        SELECT seq, source, text, request FROM entry JOIN text ON text.id = source
        WHERE seq > (SELECT MAX(seq) FROM entry) - \(RequestIndex.atMost)
          AND request IS NOT NULL AND shape IS NOT NULL
          AND reason IS NOT '\(RejectionReason.retained.rawValue)'
        ORDER BY seq
        """, on: database)
      var index = RequestIndex()
      var sources: [Int: Source] = [:]
      while try statement.next() {
        let source = sources[statement.integer(1)] ?? Source(statement.text(2))
        sources[statement.integer(1)] = source
        guard let source, let id = Request.ID(statement.text(3)) else { continue }
        index.insert(statement.integer(0), for: id, from: source)
      }
      return index
    }
  }

  /// Takes up what is about to be written.
  ///
  /// - Throws: `LedgerError` if one of the requests has an answer already.
  func index(_ records: [LedgerTransaction.Record]) throws(LedgerError) {
    _ = try knownRequests()
    for record in records {
      guard case .request(let source, let id) = record.key, record.answer != nil else { continue }
      let others = requests?.entries(of: id, from: source) ?? []
      for seq in others {
        let isKnown =
          if let other = records.first(where: { $0.entry.seq == seq }) {
            other.key == record.key
          } else {
            try answer(to: id, from: source, in: seq) != nil
          }
        if isKnown {
          throw .disk(path: path, detail: "\(source) \(id) has been answered already")
        }
      }
      requests?.insert(record.entry.seq, for: id, from: source)
    }
  }

  /// The deliveries without an id that came after those of an entry, in the order in which they
  /// came, as far as they are remembered.
  package func deliveries(after seq: Int) throws(LedgerError) -> [Fingerprint] {
    try reading { database in
      let rows = try database.rows(
        "SELECT packet_id, digest FROM delivery WHERE slot > \(Self.lastDelivery) ORDER BY slot",
        [seq])
      return rows.map { Fingerprint($0) }
    }
  }

  /// Entries in the order of their numbers, each with what was answered.
  ///
  /// - Parameters:
  ///   - seq: the entries after this one.
  ///   - limit: at most so many.
  package func entries(
    after seq: Int, limit: Int = 1000
  ) throws(LedgerError) -> [(entry: LedgerEntry, answer: Answer?)] {
    try reading { database in
      let rows = try database.rows(
        "SELECT * FROM event WHERE seq > ? ORDER BY seq LIMIT ?", [seq, limit])
      return try rows.map { row in
        let entry = try Self.entry(row)
        return (entry, try Answer(row, to: entry))
      }
    }
  }
}

extension Answer {
  /// - Throws: `LedgerError.unreadable` if it is not one that this entry can have.
  init?(_ row: Row, to entry: LedgerEntry) throws(LedgerError) {
    guard let topic = row["topic"] as String?, let bytes = row["shape"] as Data? else { return nil }
    let numbers = row["numbers"] as Data?
    let shape = AnswerShape(bytes: Array(bytes), numbers: numbers.map { Array($0) })
    guard let payload = shape.payload(to: entry) else { throw .unreadable(entry.seq) }
    let correlation = row["correlation"] as Data?
    self.init(
      topic: topic, correlationData: correlation.map { Array($0) }, payload: payload)
  }
}

extension Fingerprint {
  /// A row of `delivery`.
  fileprivate init(_ row: Row) {
    self.init(
      packetID: UInt16(truncatingIfNeeded: row["packet_id"] as Int),
      digest: UInt64(bitPattern: row["digest"]))
  }
}
