import Foundation
import GRDB
import JuiceMaker
import KioskMessages

extension Ledger {
  /// The sales of so many days are told, so their entries stay.
  package static let leastDaysKept = SalesReport.dayCount + 2

  /// Moves the oldest entries into a compressed file, and carries on what they add up to.
  ///
  /// The file is written, synced, read back and compared before an entry is deleted; a power cut in
  /// between leaves both, and the next time the file is taken as it is. These stay, whatever their age:
  /// the last 10,000 entries, whose ids are known, and what the broker has not confirmed.
  ///
  /// - Parameters:
  ///   - days: entries older than so many days stay not, counted back from the last entry (a clock
  ///     that is wrong now must not decide); `leastDaysKept` at least.
  ///   - folder: which must be there.
  /// - Throws: `LedgerError`; nothing of the ledger has changed then.
  /// - Returns: what was moved; `nil` if there is nothing.
  package func archive(olderThan days: Int, in folder: String) throws(LedgerError)
    -> ArchivedEntries?
  {
    let (start, end) = try due(Int64(max(days, Self.leastDaysKept)) * 86_400_000)
    guard start < end else { return nil }
    let file = Self.file(from: start + 1, in: folder)
    let partial = LedgerFile(path: file.path + ".partial")
    if !file.exists {
      try write(start, end, to: partial)
      try partial.publish(as: file)
    }
    partial.remove()
    let (entries, stock) = try compare(file, start, end)
    try forget(entries, carrying: stock)
    return entries
  }

  /// Named by its first entry only, so that an attempt that was cut off is found by the next one.
  static func file(from first: Int, in folder: String) -> LedgerFile {
    let number = String(first)
    let zeros = String(repeating: "0", count: max(0, 12 - number.count))
    return LedgerFile(path: "\(folder)/entries-\(zeros)\(number).jsonl.gz")
  }

  /// After which entry, and through which one.
  private func due(_ age: Int64) throws(LedgerError) -> (after: Int, through: Int) {
    try reading { database in
      let start = try Self.archived(in: database).last?.last ?? 0
      let kept = try Int.fetchOne(
        database,
        sql: """
          SELECT entry.seq FROM entry, kiosk, (SELECT seq, at FROM entry ORDER BY seq DESC LIMIT 1) AS last
          WHERE entry.at >= last.at - ? OR entry.seq > last.seq - ? OR entry.seq > confirmed
          ORDER BY entry.seq LIMIT 1
          """, arguments: [age, RequestIndex.kept])
      return (start, max(start, (kept ?? 0) - 1))
    }
  }

  private func write(_ start: Int, _ end: Int, to file: LedgerFile) throws(LedgerError) {
    let writer = try GzipWriter(path: file.path)
    try reading { database in
      var audit = RecordAudit()
      func write(_ record: LedgerRecord) throws {
        try audit.add(record)
        try writer.write(record.line(.jsonl))
      }
      try write(.ledger(after: start, stock: try Self.carried(in: database)))
      try Self.exportEntries(in: database, after: start, through: end, write)
      try write(.end(seq: audit.seq, stock: audit.stock))
    }
    try writer.finish()
  }

  /// Reads the file back: it must hold what the ledger holds.
  private func compare(
    _ file: LedgerFile, _ start: Int, _ end: Int
  ) throws(LedgerError) -> (ArchivedEntries, stock: FruitAmounts) {
    try reading { database in
      let rows = try Row.fetchCursor(
        database, sql: "SELECT * FROM event WHERE seq > ? ORDER BY seq", arguments: [start])
      let (audit, checksum) = try Self.read(file) { record in
        switch record {
        case .ledger(let after, let stock):
          guard after == start, stock == (try Self.carried(in: database)) else {
            throw LedgerError.badArchive(
              path: file.path, detail: "it does not go on where the archive ends; move it away")
          }
        case .entry(let entry, let answer):
          guard let row = try rows.next(), try Self.entry(row) == entry,
            try Answer(row, to: entry) == answer
          else {
            throw LedgerError.badArchive(
              path: file.path,
              detail: "its entry \(entry.seq) is another one; choose another folder for this ledger"
            )
          }
        default: break
        }
      }
      guard audit.seq <= end, audit.seq > start else {
        throw LedgerError.badArchive(
          path: file.path,
          detail:
            "it goes on to entry \(audit.seq), but only those up to \(end) are old enough: it "
            + "will fit later")
      }
      let entries = ArchivedEntries(first: start + 1, last: audit.seq, checksum: checksum)
      return (entries, audit.stock)
    }
  }

  /// One transaction: the entries lie in the file, or in the ledger, and never in none of them.
  private func forget(
    _ entries: ArchivedEntries, carrying stock: FruitAmounts
  ) throws(LedgerError) {
    (writer, requests) = (nil, nil)
    try LedgerError.catching(path) {
      try database.writeWithoutTransaction { database in
        // What refers to the entries is deleted with them: to look for each one in turn would take
        // minutes.
        try database.execute(sql: "PRAGMA foreign_keys = OFF")
        defer { try? database.execute(sql: "PRAGMA foreign_keys = ON") }
        try database.inTransaction(.immediate) {
          try Self.moveCheckpoint(in: database)
          try entries.insert(into: database)
          try Self.carry(stock, in: database)
          for table in ["delivery", "entry"] {
            try database.execute(
              sql: "DELETE FROM \(table) WHERE seq <= ?", arguments: [entries.last])
          }
          return .commit
        }
        // The file becomes smaller. Without room for that it stays as large as it is, and the kiosk
        // uses what is free in it.
        try? database.execute(sql: "VACUUM")
        _ = try? database.checkpoint(.truncate)
      }
    }
  }

  /// Every record of a file of the archive, which is checked as a whole.
  static func read(
    _ file: LedgerFile, _ body: (LedgerRecord) throws -> Void
  ) throws -> (RecordAudit, checksum: UInt32) {
    let bytes = try GzipReader(path: file.path)
    var reader = RecordReader(format: .jsonl, read: bytes.read)
    var audit = RecordAudit()
    do {
      while let (_, record) = try reader.next() {
        try audit.add(record)
        try body(record)
      }
      try audit.finish()
    } catch let error as RecordError {
      throw LedgerError.badArchive(path: file.path, detail: "it is damaged (line \(error))")
    }
    return (audit, bytes.checksum)
  }
}
