import GRDB
import KioskCore
import KioskProtocol

extension KioskLedger {
  /// How a ledger that is there stands to the one that is to take its place.
  enum Comparison: Hashable {
    /// Nobody has ordered or restocked yet.
    case unused
    /// The other one goes on where it ends.
    case behind
    case same
    /// It goes on where the other one ends.
    case ahead(by: Int, since: Timestamp)
    /// From this entry on they tell something else.
    case diverged(from: Int)
    case unknown(String)

    /// Why it is not replaced without being asked; `nil` if nothing is lost.
    var lossDescription: String? {
      switch self {
      case .unused, .behind, .same: nil
      case .ahead(let count, let time):
        "it is newer: it goes on for \(count) entries after the backup, from \(time) on, which would "
          + "be forgotten"
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

  /// Page by page.
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
    // Nothing shows that the one goes on where the other one ends.
    if seq > min(end, otherEnd) { return .diverged(from: min(end, otherEnd) + 1) }
    if end == otherEnd { return .same }
    if end < otherEnd { return .behind }
    let next = try rows(after: seq, limit: 1).first?.row.entry
    return .ahead(by: end - otherEnd, since: next?.at ?? Timestamp(milliseconds: 0))
  }

  /// A kiosk that has only been started writes what it starts with.
  private var isUnused: Bool {
    get throws(LedgerError) {
      let used = "SELECT EXISTS (SELECT 1 FROM entry WHERE status <> 'opened')"
      return try reading { try Bool.fetchOne($0, sql: used) } == false
    }
  }

  /// The last entry; `nil` in a new ledger.
  var last: LedgerEntry? {
    get throws(LedgerError) {
      try reading { database in
        try Row.fetchOne(database, sql: "SELECT * FROM entry ORDER BY seq DESC LIMIT 1")
          .map { try LedgerRow($0).entry }
      }
    }
  }
}
