import Foundation
import GRDB
import JuiceMaker
import KioskMessages

extension Ledger {
  /// How many fingerprints are kept: the most deliveries that a broker may have unacknowledged.
  package static let fingerprintCount = 1024
  /// The newest answers are kept whatever their age, so that a clock that jumps forgets nothing.
  package static let answersKept = 10_000
  /// No more answers than this are kept, whatever their age.
  package static let answersAtMost = 100_000
  /// Between the two, an answer is kept for a day; in milliseconds.
  package static let answerAge: Int64 = 86_400_000

  /// Writes a transaction; when it returns, the disk has it.
  ///
  /// - Throws: `LedgerError`; nothing of the transaction has happened then, or, after an I/O error
  ///   in the last step, all of it: open the ledger again to know.
  package func commit(_ transaction: LedgerTransaction) throws(LedgerError) {
    guard !transaction.isEmpty else { return }
    try writing { database in
      // In the order in which they came: that of the deliveries matters.
      var echoes = transaction.echoes[...]
      for (count, record) in transaction.records.enumerated() {
        while let echo = echoes.first, echo.recordsBefore <= count {
          try Self.insert(echo, into: database)
          echoes.removeFirst()
        }
        try Self.insert(record, into: database)
      }
      for echo in echoes { try Self.insert(echo, into: database) }
      if let service = transaction.service {
        try database.cachedStatement(sql: "UPDATE kiosk SET service = ?")
          .execute(arguments: [service.rawValue])
      }
      if let confirmed = transaction.confirmed {
        try database.cachedStatement(sql: "UPDATE kiosk SET confirmed = ?")
          .execute(arguments: [confirmed])
      }
      for (key, value) in transaction.marks {
        try database.cachedStatement(sql: "INSERT OR REPLACE INTO mark VALUES (?, ?)")
          .execute(arguments: [key, value])
      }
      if let last = transaction.records.last?.entry {
        try Self.pruneAnswers(database, adding: transaction.records.count, last: last)
      }
    }
  }

  /// Forgets the fingerprints: nothing that an earlier session delivered will come again.
  package func forgetDeliveries() throws(LedgerError) {
    try writing { try $0.execute(sql: "DELETE FROM delivery") }
  }

  /// Notes which retained topics hold something of this kiosk.
  package func setTopics(_ topics: Set<String>) throws(LedgerError) {
    try writing { database in
      try database.execute(sql: "DELETE FROM topic")
      for topic in topics {
        try database.cachedStatement(sql: "INSERT INTO topic VALUES (?)")
          .execute(arguments: [topic])
      }
    }
  }

  private static func insert(
    _ record: LedgerTransaction.Record, into database: Database
  ) throws {
    try insert(record.entry, into: database)
    if let answer = record.answer, let source = record.entry.source {
      var request: String?
      if case .request(_, let id) = record.key { request = id.text }
      try database.cachedStatement(sql: "INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?, ?)")
        .execute(arguments: [
          record.entry.seq, record.entry.at.milliseconds, source.description, request,
          answer.topic, answer.correlationData.map { Data($0) }, Data(answer.payload),
        ])
    }
    if case .delivery(let fingerprint) = record.key {
      try insert(fingerprint, of: record.entry.seq, into: database)
    }
  }

  private static func insert(_ echo: LedgerTransaction.Echo, into database: Database) throws {
    try insert(echo.fingerprint, of: echo.seq, into: database)
  }

  private static func insert(
    _ fingerprint: Fingerprint, of seq: Int, into database: Database
  ) throws {
    try database.cachedStatement(sql: "INSERT INTO delivery VALUES (NULL, ?, ?, ?)")
      .execute(arguments: [
        Int(fingerprint.packetID), Int64(bitPattern: fingerprint.digest), seq,
      ])
    try database.cachedStatement(sql: "DELETE FROM delivery WHERE slot <= ?")
      .execute(arguments: [database.lastInsertedRowID - Int64(fingerprintCount)])
  }

  /// Takes away up to twice as many answers as are added, so that the table shrinks to its bounds
  /// without ever holding up an order.
  private static func pruneAnswers(
    _ database: Database, adding count: Int, last: LedgerEntry
  ) throws {
    let statement = try database.cachedStatement(
      sql: """
        DELETE FROM answer
        WHERE seq IN (SELECT seq FROM answer ORDER BY seq LIMIT ?)
          AND (seq <= ? OR (seq <= ? AND at < ?))
        """)
    try statement.execute(arguments: [
      count * 2, last.seq - answersAtMost, last.seq - answersKept,
      last.at.milliseconds - answerAge,
    ])
  }
}
