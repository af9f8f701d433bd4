import JuiceDomain
import KioskProtocol
import Testing

@Suite struct LedgerEntryTests {
  private static let order = Order(juice: "strawberry_banana", quantity: 2)

  @Test(
    arguments: [
      (
        .opened(["kiwi": 10, "mango": 0]), #""status":"opened","changes":{"kiwi":10,"mango":0}"#,
        ["kiwi": 10, "mango": 0]
      ),
      (
        .ready(
          order, used: ["strawberry": 20, "banana": 2], ticket: Ticket(day: 20_778, number: 42)),
        #""status":"ready","ticket":42,"juice":"strawberry_banana","quantity":2,"#
          + #""changes":{"banana":-2,"strawberry":-20}"#,
        ["strawberry": -20, "banana": -2]
      ),
      (
        .outOfStock(order, missing: ["strawberry": 6]),
        #""status":"out_of_stock","juice":"strawberry_banana","quantity":2,"missing":{"strawberry":6}"#,
        [:]
      ),
      (
        .restocked(changes: ["kiwi": -1]), #""status":"restocked","changes":{"kiwi":-1}"#,
        ["kiwi": -1]
      ),
      (.restocked(changes: [:]), #""status":"restocked""#, [:]),
      (.service(.open), #""status":"open""#, [:]),
      (.service(.closed), #""status":"closed""#, [:]),
      (
        .rejected(.stale, order: order),
        #""status":"rejected","reason":"stale","juice":"strawberry_banana","quantity":2"#, [:]
      ),
      (.rejected(.conflict, order: nil), #""status":"rejected","reason":"conflict""#, [:]),
    ] as [(LedgerEntry.Outcome, String, FruitAmounts)])
  func anEntryTellsWhatWasDecided(
    outcome: LedgerEntry.Outcome, members: String, changes: FruitAmounts
  ) {
    let entry = LedgerEntry(
      seq: 7, epoch: 12, at: Timestamp(milliseconds: 1_795_251_600_000),
      source: Source(kind: .order, name: "panel1"), id: "a1", outcome: outcome)
    #expect(
      String(decoding: entry.payload, as: UTF8.self)
        == #"{"seq":7,"epoch":12,"at":"2026-11-21T09:00:00Z","source":"order/panel1","id":"a1","#
        + members + "}")
    #expect(entry.changes == changes)
  }

  @Test func anEntryTellsWhatItWasSoldFor() throws {
    let ticket = Ticket(day: 0, number: 42)
    let entry = LedgerEntry(
      seq: 7, epoch: 0, at: Timestamp(milliseconds: 1_795_251_600_000), source: nil, id: nil,
      outcome: .ready(Self.order, used: ["banana": 2], ticket: ticket),
      amount: Money(units: 3500, try #require(Currency("KRW"))))
    #expect(
      String(decoding: entry.payload, as: UTF8.self).hasSuffix(
        #""quantity":2,"amount":"3500","currency":"KRW","changes":{"banana":-2}}"#))
    #expect(try LedgerEntry(payload: entry.payload) == entry)
  }

  @Test(
    arguments: [
      .opened(["kiwi": 10]), .restocked(changes: ["kiwi": -1]), .restocked(changes: [:]),
      .ready(order, used: ["strawberry": 20], ticket: Ticket(day: 0, number: 42)),
      .outOfStock(order, missing: ["strawberry": 6]), .service(.open), .service(.closed),
      .rejected(.stale, order: order), .rejected(.conflict, order: nil),
    ] as [LedgerEntry.Outcome])
  func anEntryIsReadAsItIsWritten(outcome: LedgerEntry.Outcome) throws {
    let entry = LedgerEntry(
      seq: 7, epoch: 9_007_199_254_740_991, at: Timestamp(milliseconds: 1_795_251_600_000),
      source: Source(kind: .restock, name: "운영자"), id: "a1", outcome: outcome)
    #expect(try LedgerEntry(payload: entry.payload) == entry)
  }

  @Test(arguments: [
    "", "{}", #"{"seq":1,"at":"now","status":"open"}"#,
    #"{"seq":1,"at":"2026-11-21T09:00:00Z","status":"melted"}"#,
    #"{"seq":1,"at":"2026-11-21T09:00:00Z","status":"ready","juice":"kiwi","quantity":1}"#,
    #"{"seq":1,"at":"2026-11-21T09:00:00Z","status":"rejected","reason":"bored"}"#,
  ])
  func anythingElseIsNoEntry(payload: String) {
    #expect(throws: JSONError.self) { try LedgerEntry(payload: Array(payload.utf8)) }
  }

  @Test func theKiosksOwnEntriesHaveNoSource() {
    let entry = LedgerEntry(
      seq: 1, epoch: 0, at: Timestamp(milliseconds: 0), source: nil, id: nil,
      outcome: .opened(["kiwi": 10]))
    #expect(
      String(decoding: entry.payload, as: UTF8.self)
        == #"{"seq":1,"at":"1970-01-01T00:00:00Z","status":"opened","changes":{"kiwi":10}}"#)
  }
}
