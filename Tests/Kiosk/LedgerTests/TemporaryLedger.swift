import Foundation
import GRDB
import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger

/// A folder for one ledger, deleted after the test.
final class TemporaryLedger {
  let folder: URL
  var path: String { folder.appending(path: "ledger.sqlite").path }

  init() throws {
    folder = FileManager.default.temporaryDirectory
      .appending(path: "ledger-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func open(readOnly: Bool = false) throws(LedgerError) -> KioskLedger {
    try KioskLedger(path: path, readOnly: readOnly)
  }

  /// Opens the ledger, commits, and closes it again.
  func write(_ transaction: LedgerTransaction) throws { try open().commit(transaction) }

  /// Changes the file without using the ledger.
  func tamper(_ sql: String) throws {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let database = try DatabaseQueue(path: path, configuration: configuration)
    try database.write { try $0.execute(sql: sql) }
    try database.close()
  }

  func count(_ table: String) throws -> Int {
    var configuration = Configuration()
    configuration.readonly = true
    let database = try DatabaseQueue(path: path, configuration: configuration)
    return try database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM \(table)") ?? 0 }
  }
}

let panel = Source(kind: .order, name: "panel1")

extension LedgerTransaction {
  init(_ records: Record...) {
    self.init()
    for record in records { append(record) }
  }
}

extension LedgerTransaction {
  /// Gives each entry its changes of batches.
  mutating func setBatches(_ batches: [[BatchChange]]) {
    records = zip(records, batches).map { record, batches in
      var entry = record.row.entry
      entry.batches = batches
      return Record(LedgerRow(entry, message: record.row.message), key: record.key)
    }
  }
}

extension LedgerTransaction.Record {
  init(
    _ seq: Int, _ outcome: LedgerEntry.Outcome, epoch: Int = 1, at milliseconds: Int64 = 0,
    source: Source? = panel, id: Request.ID? = nil, message: String? = nil, key: RepeatKey? = nil,
    reply: Reply? = nil, amount: Money? = nil
  ) {
    self.init(
      LedgerRow(
        LedgerEntry(
          seq: seq, epoch: epoch, at: Timestamp(milliseconds: milliseconds), source: source, id: id,
          outcome: outcome, amount: amount), message: message),
      key: key, reply: reply)
  }

  static func opened(_ seq: Int, _ stock: FruitAmounts) -> Self {
    Self(seq, .opened(stock), source: nil)
  }

  static func banana(_ seq: Int, ticket: Int) -> Self {
    Self(
      seq,
      .ready(Order(juice: "banana"), used: ["banana": 2], ticket: Ticket(day: 7, number: ticket)))
  }
}
