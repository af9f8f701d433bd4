import Foundation
import GRDB
import JuiceMaker
import KioskMessages

extension Ledger {
  /// Gives all that the ledger holds, as it was at one moment, record after record.
  ///
  /// - Parameter write: what it throws ends the export.
  package func export(_ write: (LedgerRecord) throws -> Void) throws(LedgerError) {
    try reading { database in
      let state = try Self.state(in: database)
      let archived = try Self.archived(in: database)
      try write(
        .ledger(after: archived.last?.last ?? 0, stock: try Self.carried(in: database)))
      try write(.kiosk(state.service, confirmed: state.confirmed))
      for entries in archived { try write(.archive(entries)) }
      for (day, number) in state.tickets.sorted(by: { $0.key < $1.key }) {
        try write(.ticket(Ticket(day: day, number: number)))
      }
      for topic in state.topics.sorted() { try write(.topic(topic)) }
      for (key, value) in state.marks.sorted(by: { $0.key < $1.key }) {
        try write(.mark(key: key, value: value))
      }
      try Self.exportEntries(in: database, after: 0, write)
      let deliveries = "SELECT packet_id, digest, seq FROM delivery ORDER BY slot"
      for row in try Row.fetchAll(database, sql: deliveries) {
        try write(.delivery(Fingerprint(row), seq: row["seq"]))
      }
      try write(.end(seq: max(state.seq, archived.last?.last ?? 0), stock: state.stock))
    }
  }

  static func exportEntries(
    in database: Database, after seq: Int, through last: Int = .max,
    _ write: (LedgerRecord) throws -> Void
  ) throws {
    let rows = try Row.fetchCursor(
      database, sql: "SELECT * FROM event WHERE seq > ? AND seq <= ? ORDER BY seq",
      arguments: [seq, last])
    while let row = try rows.next() {
      let entry = try Self.entry(row)
      try write(.entry(entry, try Answer(row, to: entry)))
    }
  }
}

extension Fingerprint {
  /// A row of `delivery`.
  init(_ row: Row) {
    self.init(
      packetID: UInt16(truncatingIfNeeded: row["packet_id"] as Int),
      digest: UInt64(bitPattern: row["digest"]))
  }
}
