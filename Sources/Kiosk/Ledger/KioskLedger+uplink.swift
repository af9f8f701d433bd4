import GRDB

/// What the way up asks of the ledger.
extension KioskLedger {
  /// Every entry up to this one is up there.
  package func uplinked() throws(LedgerError) -> Int {
    try reading { try $0.rows("SELECT uplinked FROM kiosk").first?[0] ?? 0 }
  }

  /// The entries of an epoch, and the epoch of the one before them; `nil` if there are none.
  ///
  /// An epoch is one stretch of the ledger, and none comes twice: each is found from its end by
  /// halving, without an index that every order would pay for.
  package func entries(
    of epoch: Int
  ) throws(LedgerError) -> (seqs: ClosedRange<Int>, before: Int?)? {
    try reading { database in
      func entryEpoch(of seq: Int) throws -> Int? {
        try database.rows("SELECT epoch FROM entry WHERE seq = ?", [seq]).first?[0]
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
