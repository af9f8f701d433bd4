import Foundation
import GRDB
import JuiceDomain
import KioskCore
import KioskProtocol
import Testing

@testable import Ledger

@Suite struct LedgerVerifyTests {
  private let place: TemporaryLedger

  init() throws {
    place = try TemporaryLedger()
    try place.write(
      LedgerTransaction(
        .opened(1, ["banana": 10, "kiwi": 10]), .banana(2, ticket: 1),
        .init(3, .rejected(.closed, order: Order(juice: "kiwi")), message: "closed"),
        .init(4, .restocked(changes: ["kiwi": 5]), message: "applied")))
  }

  @Test(arguments: [
    (
      "UPDATE stock SET quantity = 99 WHERE fruit = 'kiwi'",
      "the stock of kiwi is 99, but its entries add up to 15"
    ),
    (
      "UPDATE entry SET event = json_set(event, '$.changes.banana', -1) WHERE seq = 2",
      "the stock of banana is 8, but its entries add up to 9"
    ),
    (
      "UPDATE entry SET event = json_remove(event, '$.changes') WHERE seq = 4",
      "the stock of kiwi is 15, but its entries add up to 10"
    ),
    ("DELETE FROM entry WHERE seq = 3", "1 entries are missing after entry 0"),
    ("DELETE FROM entry WHERE seq < 4", "3 entries are missing after entry 0"),
    (
      "DELETE FROM entry WHERE seq = 4",
      "the stock of kiwi is 15, but its entries add up to 10"
    ),
    ("UPDATE entry SET seq = 6 WHERE seq = 4", "2 entries are missing after entry 0"),
    (
      "INSERT INTO stock VALUES ('durian', 1)",
      "the stock of durian is 1, but its entries add up to 0"
    ),
    (
      "UPDATE entry SET stock = '{\"banana\":8,\"kiwi\":16}' WHERE seq = 4",
      "the stock of kiwi is 15, but entry 4 says 16"
    ),
  ])
  func aChangedLedgerIsFoundAndNotOpened(sql: String, detail: String) throws {
    try place.tamper(sql)
    let error = LedgerError.inconsistent(path: place.path, detail: detail)
    let reader = try place.open(readOnly: true)
    #expect(throws: error) { try reader.verify() }
    #expect(throws: error) { try place.open() }
  }

  @Test(arguments: [
    "json_set(event, '$.amount', '3.51')", "json_set(event, '$.currency', 'KRW')",
    "json_remove(event, '$.amount', '$.currency')",
  ])
  func aJuiceThatWasMadeForAnotherAmountIsFound(change: String) throws {
    let amount = Money(units: 350, try #require(Currency("EUR")))
    let (order, ticket) = (Order(juice: "banana"), Ticket(day: 7, number: 2))
    try place.write(
      LedgerTransaction(
        .init(
          5, .accepted(order, used: ["banana": 2], ticket: ticket, machine: "bar", place: 1),
          amount: amount),
        .init(
          6, .made(JobEnd(job: 5, machine: "bar", order: order, ticket: ticket)), amount: amount)))
    #expect(try place.open(readOnly: true).verify() == 6)
    try place.tamper("UPDATE entry SET event = \(change) WHERE seq = 6")
    let detail = "entry 6 was made for another amount than it was ordered for"
    #expect(throws: LedgerError.inconsistent(path: place.path, detail: detail)) {
      try place.open(readOnly: true).verify()
    }
  }

  @Test(arguments: [
    ("INSERT INTO reply VALUES (9, 'topic', NULL)", "there is a row of reply without its entry"),
    ("INSERT INTO delivery VALUES (1, 1, 1, 9, 0)", "there is a row of delivery without its entry"),
  ])
  func aRowThatRefersToNothingIsFound(sql: String, detail: String) throws {
    try place.tamper(sql)
    let reader = try place.open(readOnly: true)
    let error = #expect(throws: LedgerError.self) { try reader.verify() }
    #expect(error == .inconsistent(path: place.path, detail: detail))
  }

  @Test(arguments: [
    "status = 'applied'", "source = NULL", "id = 'x'", "job = 1", "charge = 1", "at = at + 1",
    "day = 7", "event = json_set(event, '$.at', '2026-11-21T09:00:00Z')",
  ])
  func aColumnThatContradictsItsEventIsFound(change: String) throws {
    try place.tamper("UPDATE entry SET \(change) WHERE seq = 3")
    let detail = "the columns of entry 3 contradict its event"
    #expect(throws: LedgerError.inconsistent(path: place.path, detail: detail)) {
      try KioskLedger(path: place.path, readOnly: true).verify()
    }
  }

  /// `verify` reads each entry as the uplink and the reports do.
  @Test(arguments: [
    "event = '{'", "event = json_set(event, '$.status', 'applied')",
    "event = json_set(event, '$.seq', 6)", "event = json_remove(event, '$.at')", "stock = '[]'",
    "event = replace(event, '\"sensor\"', '\"sensos\"')",
  ])
  func anEntryThatCannotBeReadIsFound(change: String) throws {
    let step = SensorStep(.ok, of: "fridge", value: 5000, unit: .celsius)
    try place.write(LedgerTransaction(.init(5, .sensor(step), source: nil)))
    #expect(try place.open(readOnly: true).verify() == 5)
    try place.tamper("UPDATE entry SET \(change) WHERE seq = 5")
    let reader = try place.open(readOnly: true)
    #expect(throws: LedgerError.unreadable(5)) { try reader.rows(after: 4) }
    let error = LedgerError.inconsistent(path: place.path, detail: "entry 5 cannot be read")
    #expect(throws: error) { try reader.verify() }
  }

  @Test func aLongLedgerIsOpenedFromItsLastCheckpointAndVerifiedFromTheStart() throws {
    try place.tamper(
      """
      WITH RECURSIVE n(i) AS (SELECT 5 UNION ALL SELECT i + 1 FROM n WHERE i < 10010)
      INSERT INTO entry (seq, at, status, event) SELECT i, 0, 'restocked',
        json_object('seq', i, 'at', '1970-01-01T00:00:00Z', 'status', 'restocked',
          'changes', json_object('banana', 1)) FROM n;
      UPDATE stock SET quantity = quantity + 10006 WHERE fruit = 'banana';
      """)
    #expect(try place.count("checkpoint") == 0)
    #expect(try place.open().verify() == 10_010)
    #expect(try place.count("checkpoint") == 2)
    // Before the checkpoint: opening does not detect it, but verify does.
    try place.tamper(Self.added(7, by: 100))
    #expect(throws: LedgerError.self) { try place.open().verify() }
    try place.tamper(Self.added(1, by: 100))
    try place.write(LedgerTransaction(.init(10_011, .restocked(changes: ["banana": 1]))))
    #expect(try place.open().verify() == 10_011)
    // After the checkpoint: opening detects it.
    try place.tamper(Self.added(7, by: 10011))
    #expect(throws: LedgerError.self) { try place.open() }
  }

  private static func added(_ amount: Int, by seq: Int) -> String {
    "UPDATE entry SET event = json_set(event, '$.changes.banana', \(amount)) WHERE seq = \(seq)"
  }

  @Test func aFruitThatIsNewerThanTheCheckpointAddsUp() throws {
    try place.tamper(
      """
      WITH RECURSIVE n(i) AS (SELECT 5 UNION ALL SELECT i + 1 FROM n WHERE i < 10010)
      INSERT INTO entry (seq, at, status, event)
        SELECT i, 0, 'open',
          json_object('seq', i, 'at', '1970-01-01T00:00:00Z', 'status', 'open') FROM n;
      """)
    try place.write(LedgerTransaction(.opened(10_011, ["mango": 4])))
    #expect(try place.open().verify() == 10_011)
  }

  @Test func aDamagedPageIsFound() throws {
    let root = try page(of: "topic")
    try overwrite(page: root)
    let reader = try place.open(readOnly: true)
    let error = #expect(throws: LedgerError.self) { try reader.verify() }
    guard case .damaged(place.path, _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test(arguments: ["stock", "entry"])
  func aLedgerWithADamagedPageIsNotOpened(table: String) throws {
    try overwrite(page: try page(of: table))
    let error = #expect(throws: LedgerError.self) { try place.open() }
    guard case .damaged(place.path, _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func anEntryThatCannotBeReadIsNamed() throws {
    try place.tamper("UPDATE entry SET stock = '[]' WHERE seq = 2")
    let ledger = try place.open()
    #expect(throws: LedgerError.unreadable(2)) { try ledger.rows(after: 0) }
    #expect(try ledger.rows(after: 2).count == 2)
  }

  private func page(of table: String) throws -> Int {
    let database = try DatabaseQueue(path: place.path)
    let page = try database.read { database in
      try Int.fetchOne(
        database, sql: "SELECT rootpage FROM sqlite_master WHERE name = ?", arguments: [table])
    }
    try database.close()
    return try #require(page)
  }

  private func overwrite(page: Int) throws {
    let file = try FileHandle(forUpdating: URL(filePath: place.path))
    try file.seek(toOffset: UInt64(page - 1) * 4096)
    try file.write(contentsOf: Data(repeating: 0xA5, count: 4096))
    try file.close()
  }
}
