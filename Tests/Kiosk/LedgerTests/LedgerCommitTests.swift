import GRDB
import GRDBSQLite
import JuiceDomain
import KioskCore
import KioskProtocol
import Testing

@testable import Ledger

@Suite struct LedgerCommitTests {
  private let place: TemporaryLedger
  private let ledger: KioskLedger

  init() throws {
    place = try TemporaryLedger()
    ledger = try place.open()
    try ledger.commit(LedgerTransaction(.opened(1, ["banana": 3, "kiwi": 3])))
  }

  @Test func anEmptyTransactionIsNone() throws {
    #expect(LedgerTransaction().isEmpty)
    try ledger.commit(LedgerTransaction())
    var transaction = LedgerTransaction()
    transaction.confirmed = 0
    #expect(!transaction.isEmpty)
  }

  /// The query for the money of a page delays an order, so that it may not read the whole ledger.
  @Test func theMoneyOfAPageIsFoundByIndexes() throws {
    try ledger.createIndexes(ofCharges: true)
    let steps = try ledger.database.read { database in
      try Row.fetchAll(
        database, sql: "EXPLAIN QUERY PLAN \(KioskLedger.chargesOfPage)", arguments: [0, 9, 0, 9]
      ).map { $0["detail"] as String }
    }
    #expect(steps.contains { $0.hasPrefix("SEARCH entry USING INDEX charge_step") })
    #expect(!steps.contains { $0.hasPrefix("SCAN entry") })
  }

  /// A page has all entries of its charges, and reads no other entries.
  @Test func chargesAreReadInPages() throws {
    #expect(try ledger.charges(before: nil, id: "a").entries.isEmpty)
    try ledger.createIndexes(ofCharges: true)
    var transaction = LedgerTransaction()
    var seq = 1
    func add(_ kind: PaymentStep.Kind, _ charge: Int) {
      seq += 1
      let step = PaymentStep(
        kind, charge: charge, device: "till", job: nil, order: nil, ticket: nil)
      transaction.append(.init(seq, .payment(step), amount: Money(units: 350, .euro)))
    }
    let count = ChargePage.maximumEntries
    for charge in 1...count + 10 { add(.captured, charge) }
    // The first page would end between the entries of this charge.
    add(.paidBack, 11)
    add(.released, count + 10)
    try ledger.commit(transaction)
    let first = try ledger.charges(before: nil, id: "a")
    #expect(first.entries.compactMap(\.charge) == [count + 10] + (12...count + 10).reversed())
    #expect(first.next == 12)
    let second = try ledger.charges(before: first.next, id: "b")
    #expect(second.entries.compactMap(\.charge) == [11] + (1...11).reversed())
    #expect(second.entries.first?.status == .paidBack && second.next == nil)
    let plan = try ledger.database.read { database in
      try Row.fetchAll(
        database, sql: "EXPLAIN QUERY PLAN \(KioskLedger.chargeEntries)", arguments: [9, 9]
      ).map { $0["detail"] as String }
    }
    #expect(plan.count == 1 && plan[0].hasPrefix("SEARCH entry USING INDEX charge_step"))
  }

  @Test func aProbeIsWrittenAndChangesNothing() throws {
    func pagesWritten() -> Int32 {
      ledger.database.writeWithoutTransaction { database in
        var (now, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(
          database.sqliteConnection, SQLITE_DBSTATUS_CACHE_WRITE, &now, &highest, 0)
        return now
      }
    }
    let (state, before) = (try ledger.state(), pagesWritten())
    try ledger.probe()
    #expect(pagesWritten() > before)
    #expect(try ledger.state() == state)
  }

  @Test(
    arguments: [
      // The second glass takes more than the stock.
      .banana(3, ticket: 2),
      // A number that is already used.
      .banana(2, ticket: 2), .init(0, .service(.open)), .init(-1, .service(.open)),
      // A fruit that the ledger has already, and one that it does not have.
      .opened(3, ["kiwi": 1]), .init(3, .restocked(changes: ["durian": 1])),
      .init(3, .restocked(changes: ["kiwi": -4])),
      // An order of 0 glasses, and a ticket below 1.
      .init(3, .outOfStock(Order(juice: "kiwi", quantity: 0), missing: [:])),
      .init(3, .ready(Order(juice: "kiwi"), used: ["kiwi": 3], ticket: Ticket(day: 7, number: 0))),
      // The same request twice.
      .init(
        3, .service(.closed), id: "a1", message: "again",
        key: .request(panel, "a1")),
    ] as [LedgerTransaction.Record])
  func aTransactionIsCommittedWholeOrNotAtAll(second: LedgerTransaction.Record) throws {
    let before = try ledger.state()
    let fingerprint = Fingerprint(packetID: 1, topic: "t", payload: [])
    var transaction = LedgerTransaction(
      .init(
        2,
        .ready(
          Order(juice: "banana"), used: ["banana": 2], ticket: Ticket(day: 7, number: 1)),
        id: "a1", message: "ready", key: .request(panel, "a1")),
      second)
    transaction.records.insert(
      .init(4, .service(.open), message: "open", key: .delivery(fingerprint)), at: 1)
    transaction.service = .closed
    transaction.confirmed = 1
    #expect(throws: LedgerError.self) { try ledger.commit(transaction) }
    #expect(try ledger.state() == before)
    #expect(try ledger.rows(after: 1).isEmpty)
    #expect(try ledger.repeats(of: [.request(panel, "a1"), .delivery(fingerprint)]).isEmpty)
    #expect(try ledger.verify() == 1)
  }

  @Test func aFruitThatTheLedgerDoesNotHoldIsNamed() {
    #expect(throws: LedgerError.unknownFruit("durian")) {
      try ledger.commit(LedgerTransaction(.init(2, .restocked(changes: ["durian": 1]))))
    }
  }

  @Test func aBrokenRuleIsToldInSQLitesWords() {
    let error = LedgerError.notAllowed("CHECK constraint failed: quantity >= 0")
    #expect(throws: error) {
      try ledger.commit(LedgerTransaction(.init(2, .restocked(changes: ["kiwi": -4]))))
    }
    #expect(error.remedy == .rejectCommand)
  }

  @Test func whatIsTooLargeIsSetAside() throws {
    try ledger.database.read { database in
      _ = sqlite3_limit(database.sqliteConnection, SQLITE_LIMIT_LENGTH, 1000)
    }
    let message = String(repeating: "x", count: 2000)
    let error = #expect(throws: LedgerError.self) {
      try ledger.commit(LedgerTransaction(.init(2, .service(.closed), message: message)))
    }
    #expect(error?.remedy == .rejectCommand)
    try ledger.commit(LedgerTransaction(.init(2, .service(.closed))))
  }

  @Test func aFullDiskIsToldAndForgetsNothing() throws {
    try ledger.database.write { database in
      try database.execute(sql: "PRAGMA max_page_count = 1")
    }
    let message = String(repeating: "x", count: 1_000_000)
    #expect(throws: LedgerError.diskFull(path: place.path)) {
      try ledger.commit(LedgerTransaction(.init(2, .service(.closed), message: message)))
    }
    #expect(try ledger.state().seq == 1)
    try ledger.database.write { database in
      try database.execute(sql: "PRAGMA max_page_count = 1000000")
    }
    try ledger.commit(LedgerTransaction(.init(2, .service(.closed), message: message)))
    #expect(try ledger.verify() == 2)
  }
}
