import Foundation
import GRDB
import JuiceMaker
import KioskMessages

extension Ledger {
  /// Makes a ledger of an export: all of it, or nothing.
  ///
  /// It is written beside the place where it is to be, checked whole, and then put there.
  ///
  /// - Parameters:
  ///   - file: an export with all that a ledger holds; it may be compressed (gzip).
  ///   - path: of the kiosk's ledger.
  /// - Throws: `LedgerError`: `inUse` while a kiosk runs, `notEmpty`, and `badImport` with the line
  ///   and the field of what is wrong.
  /// - Returns: the number of entries.
  package static func `import`(
    from file: String, format: RecordFormat, to path: String
  ) throws(LedgerError) -> Int {
    let lock = try LedgerLock(path: path)
    defer { withExtendedLifetime(lock) {} }
    let target = LedgerFile(path: path)
    if target.exists {
      let count = try Ledger(path: path, readOnly: true).count
      guard count == 0 else { throw .notEmpty(path: path, entries: count) }
    }
    let partial = LedgerFile(path: path + ".importing")
    partial.remove()
    defer { partial.remove() }
    let count: Int
    do {
      let ledger = try Ledger(path: partial.path)
      var reader = RecordReader(format: format, read: try GzipReader(path: file).read)
      var collector = RecordCollector(ledger)
      try LedgerError.catching(partial.path, reading: file) {
        while let (line, record) = try reader.next() {
          do { try collector.add(record) } catch var error as RecordError {
            error.line = line
            throw error
          }
        }
        do { try collector.finish() } catch var error as RecordError {
          error.line = reader.line
          throw error
        }
      }
      count = try ledger.verify()
      try ledger.close()
    }
    if target.exists { try settle(target) }
    lock.forget()
    _ = try partial.replace(target, keeping: false)
    return count
  }

  var count: Int {
    get throws(LedgerError) {
      try reading { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM entry") } ?? 0
    }
  }
}

extension LedgerError {
  fileprivate static func catching(
    _ path: String, reading file: String, _ body: () throws -> Void
  ) throws(LedgerError) {
    try catching(path) {
      do { try body() } catch let error as RecordError {
        throw LedgerError.badImport(file: file, error)
      }
    }
  }
}

/// Writes records into a new ledger, many at a time.
private struct RecordCollector {
  private let ledger: Ledger
  private var audit = RecordAudit()
  private var transaction = LedgerTransaction()
  private var topics: Set<String> = []

  /// So many entries are written at once.
  private static let batch = 1000

  init(_ ledger: Ledger) { self.ledger = ledger }

  mutating func add(_ record: LedgerRecord) throws {
    try audit.add(record)
    switch record {
    case .ledger(let after, let stock):
      if after > 0 { try ledger.begin(after: after, stock: stock) }
    case .kiosk(let service, let confirmed):
      transaction.service = service
      transaction.confirmed = confirmed
    case .ticket(let ticket):
      try ledger.writing { database in
        try database.execute(
          sql: "INSERT OR REPLACE INTO ticket VALUES (?, ?)",
          arguments: [ticket.day, ticket.number])
      }
    case .topic(let topic): topics.insert(topic)
    case .mark(let key, let value): transaction.marks[key] = value
    case .archive(let entries): try ledger.writing { try entries.insert(into: $0) }
    case .entry(let entry, let answer):
      transaction.records.append(.init(entry: entry, answer: answer))
      if transaction.records.count == Self.batch { try commit() }
    case .delivery(let fingerprint, let seq):
      if transaction.echoes.isEmpty { try commit() }
      transaction.echoes.append(.init(fingerprint: fingerprint, seq: seq, recordsBefore: 0))
    case .end: try commit()
    }
  }

  private mutating func commit() throws {
    try ledger.commit(transaction)
    transaction = LedgerTransaction()
  }

  func finish() throws {
    try audit.finish()
    try ledger.setTopics(topics)
  }
}
