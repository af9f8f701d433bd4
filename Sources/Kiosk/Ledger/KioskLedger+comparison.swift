import GRDB
import KioskCore
import KioskProtocol

extension KioskLedger {
  /// The relation of an existing ledger to the restored ledger that is to replace it.
  enum Comparison: Hashable {
    /// The existing ledger has no entries besides initial stock.
    case unused
    /// The restored ledger has all entries of the existing one, and later ones.
    case behind
    case same
    /// The existing ledger has all entries of the restored one, and later ones.
    case ahead(by: Int, since: Timestamp)
    /// The ledgers differ from this entry on.
    case diverged(from: Int)
    case unknown(String)

    /// The reason not to replace the ledger unless requested, or `nil` if no entry would be lost.
    var lossDescription: String? {
      switch self {
      case .unused, .behind, .same: nil
      case .ahead(let count, let time):
        "it is newer: it has \(count) entries after the backup, from \(time) on, which would be lost"
      case .diverged(let seq):
        "it has another history than the backup: they differ from entry \(seq) on"
      case .unknown(let words): "it cannot be compared with the backup: \(words)"
      }
    }
  }

  static func comparison(of file: LedgerFile, to restored: KioskLedger) -> Comparison {
    do throws(LedgerError) {
      return try KioskLedger(path: file.path, readOnly: true).comparison(to: restored)
    } catch {
      return .unknown("\(error)")
    }
  }

  /// Compares the entries page by page.
  func comparison(to other: KioskLedger) throws(LedgerError) -> Comparison {
    if try isUnused { return .unused }
    let (end, otherEnd) = (try last?.seq ?? 0, try other.last?.seq ?? 0)
    var seq = 0
    while true {
      let (page, otherPage) = (try rows(after: seq), try other.rows(after: seq))
      for (own, others) in zip(page, otherPage) {
        guard own.row == others.row else {
          return .diverged(from: min(own.row.entry.seq, others.row.entry.seq))
        }
        seq = own.row.entry.seq
      }
      guard page.count == otherPage.count, !page.isEmpty else { break }
    }
    if end == otherEnd { return .same }
    if end < otherEnd { return .behind }
    let next = try rows(after: seq, limit: 1).first?.row.entry
    return .ahead(by: end - otherEnd, since: next?.at ?? Timestamp(milliseconds: 0))
  }

  /// Whether the ledger has no entries besides initial stock, which a start records for each new fruit.
  private var isUnused: Bool {
    get throws(LedgerError) {
      let used = "SELECT EXISTS (SELECT 1 FROM entry WHERE status <> 'opened')"
      return try reading { try Bool.fetchOne($0, sql: used) } == false
    }
  }

  /// The last entry, or `nil` in a new ledger.
  var last: LedgerEntry? {
    get throws(LedgerError) {
      try reading { database in
        try Row.fetchOne(database, sql: "SELECT * FROM entry ORDER BY seq DESC LIMIT 1")
          .map { try LedgerRow($0).entry }
      }
    }
  }
}
