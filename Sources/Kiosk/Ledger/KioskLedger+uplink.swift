import GRDB
package import KioskProtocol

/// Queries for the uplink, and for the position in `health`.
extension KioskLedger {
  /// Returns the position of an entry, or `nil` if no entry has this number.
  package func position(of seq: Int) throws(LedgerError) -> LedgerPosition? {
    let epoch: Int? = try reading { database in
      try database.rows("SELECT epoch FROM log WHERE seq = ?", [seq]).first?[0]
    }
    return epoch.map { LedgerPosition(epoch: $0, seq: seq) }
  }

  /// Returns events in the order of their numbers, as `events` publishes them.
  ///
  /// - Parameters:
  ///   - seq: The entry before the first event.
  ///   - limit: The maximum number of events.
  package func events(
    after seq: Int, limit: Int = 1000
  ) throws(LedgerError) -> [(seq: Int, event: [UInt8])] {
    try reading { database in
      let sql = "SELECT seq, event FROM entry WHERE seq > ? ORDER BY seq LIMIT ?"
      return try database.rows(sql, [seq, limit]).map { ($0["seq"], $0.bytes("event")) }
    }
  }

  /// Returns the stored number of the entry up to which the upstream broker has confirmed all entries.
  package func uplinked() throws(LedgerError) -> Int {
    try reading { try $0.rows("SELECT uplinked FROM kiosk").first?[0] ?? 0 }
  }

  /// Returns the numbers of the entries of an epoch and the epoch of the entry before them, or `nil`
  /// if the ledger has no entry of this epoch.
  ///
  /// The entries of an epoch have consecutive numbers, and no epoch occurs twice. So a binary
  /// search finds the start of each epoch from its end, without an index that each order would have
  /// to update.
  package func entries(
    of epoch: Int
  ) throws(LedgerError) -> (seqs: ClosedRange<Int>, before: Int?)? {
    try reading { database in
      func entryEpoch(of seq: Int) throws -> Int? {
        try database.rows("SELECT epoch FROM log WHERE seq = ?", [seq]).first?[0]
      }
      var end: Int = try database.rows("SELECT IFNULL(MAX(seq), 0) FROM entry").first?[0] ?? 0
      while end > 0, let current = try entryEpoch(of: end) {
        var (low, high) = (1, end)
        while low < high {
          let middle = (low + high) / 2
          if try entryEpoch(of: middle) == current { high = middle } else { low = middle + 1 }
        }
        if current == epoch { return (low...end, try entryEpoch(of: low - 1)) }
        end = low - 1
      }
      return nil
    }
  }
}
