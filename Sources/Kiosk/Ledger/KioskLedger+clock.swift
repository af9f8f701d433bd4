import GRDB
import KioskCore
import KioskProtocol

extension KioskLedger {
  static func clock(in database: Database) throws -> ClockRecord? {
    try database.rows("SELECT * FROM last_clock").first.map { row in
      ClockRecord(
        at: Timestamp(milliseconds: row["at"]), boot: row["boot"],
        uptime: .milliseconds(row["uptime_ms"] as Int64),
        elapsed: .milliseconds(row["elapsed_ms"] as Int64), behind: row["behind_ms"],
        doubtful: row["doubtful"], isAccepted: row["accepted"])
    }
  }
}

extension LedgerWriter {
  /// Writes the clocks, for the next start.
  func set(_ clock: ClockRecord, on database: Database) throws {
    try database.cachedStatement(
      sql: "INSERT OR REPLACE INTO last_clock VALUES (1, ?, ?, ?, ?, ?, ?, ?)"
    ).execute(arguments: [
      clock.at.milliseconds, clock.boot, clock.uptime.milliseconds,
      clock.elapsed.milliseconds, clock.behind, clock.doubtful, clock.isAccepted,
    ])
  }
}
