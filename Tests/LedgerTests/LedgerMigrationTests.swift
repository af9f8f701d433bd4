import Foundation
import GRDB
import JuiceMaker
import KioskCore
import KioskMessages
import Testing

@testable import Ledger

@Suite struct LedgerMigrationTests {
  private let place: TemporaryLedger

  /// With a ledger as it was written when an entry, its movements and its answer lay in three tables.
  init() throws {
    place = try TemporaryLedger()
    try place.become(version: 3)
  }

  @Test func theAnswersOfAnOlderLedgerAreRecalledAsTheyWereGiven() throws {
    let database = try DatabaseQueue(path: place.path)
    let rows = try database.read { try Row.fetchAll($0, sql: "SELECT * FROM answer ORDER BY seq") }
    try database.close()
    let given = rows.map { row in
      Answer(
        topic: row["topic"], correlationData: (row["correlation"] as Data?).map { Array($0) },
        payload: Array(row["payload"] as Data))
    }
    #expect(given.count == 9)
    let ledger = try place.open()
    #expect(try ledger.entries(after: 0).compactMap(\.answer) == given)
    for (row, answer) in zip(rows, given) {
      guard let source = Source(row["source"] as String),
        let id = (row["request"] as String?).flatMap({ Request.ID($0) })
      else { continue }
      let key = RepeatKey.request(source, id)
      #expect(try ledger.recall([key]) == [key: answer])
    }
    #expect(try ledger.deliveries(after: 0).count == 2)
  }

  @Test func itsEntriesAddUpAndItGoesOn() throws {
    do {
      let ledger = try place.open()
      var state = try ledger.state()
      #expect(
        state.stock == ["banana": 9, "kiwi": 0, "mango": 8, "pineapple": 10, "strawberry": 0])
      #expect(state.tickets == [20_778: 3])
      #expect(state.presses.map(\.seq) == [3])
      let entries = try ledger.entries(after: 0).map(\.entry)
      #expect(entries.map(\.seq) == Array(1...10))
      #expect(
        entries[3].outcome
          == .ready(
            Order(juice: "kiwi", quantity: 3), used: ["kiwi": 9],
            ticket: Ticket(day: 20_778, number: 3)))
      #expect(entries[3].source?.name == "딸기 1")
      #expect(
        entries[9].outcome == .outOfStock(Order(juice: "kiwi", quantity: 2), missing: ["kiwi": 6]))
      try ledger.commit(LedgerTransaction(.init(11, .restocked(changes: ["kiwi": 5]))))
      state = try ledger.state()
      #expect(state.stock["kiwi"] == 5)
    }
    #expect(try place.open().verify() == 11)
    #expect(try place.open(readOnly: true).entries(after: 10).count == 1)
  }

  /// The kiosk that uses it may be of the earlier version.
  @Test func aReaderSeesWhatItHoldsAndDoesNotMigrateIt() throws {
    do {
      let reader = try place.open(readOnly: true)
      #expect(try reader.verify() == 10)
      #expect(try reader.state().tickets == [20_778: 3])
    }
    #expect(try place.count("answer") == 9)
  }

  /// Each was written by the program of its time, which was told much the same by a real broker.
  @Test(arguments: [(1, 11), (2, 11), (3, 10), (4, 11)])
  func aLedgerOfEachVersionIsReadAndGoesOn(version: Int, count: Int) throws {
    let old = try TemporaryLedger()
    try old.become(version: version)
    let before = try old.open(readOnly: true).state()
    #expect(try old.open(readOnly: true).verify() == count)
    let ledger = try old.open()
    #expect(try ledger.verify() == count)
    let state = try ledger.state()
    #expect(state == before)
    #expect(state.seq == count)
    #expect(state.tickets == [20_778: 3])
    #expect(state.confirmed == count)
    #expect(state.topics.count == 23 || version == 4)
    #expect(state.presses.map(\.seq) == [3])
    let records = try ledger.entries(after: 0)
    #expect(
      records.prefix(10).map(\.entry.status) == [
        .opened, .ready, .ready, .ready, .rejected, .rejected, .closed,
        .rejected, .open, .outOfStock,
      ])
    #expect(records.count(where: { $0.answer != nil }) == count - 1)
    for (entry, answer) in records {
      guard let source = entry.source, let id = entry.id else { continue }
      let key = RepeatKey.request(source, id)
      #expect(try ledger.recall([key]) == [key: answer])
    }
    #expect(try ledger.deliveries(after: 0).count == 2)
    try ledger.commit(LedgerTransaction(.init(count + 1, .restocked(changes: ["kiwi": 1]))))
    #expect(try ledger.verify() == count + 1)
  }
}
