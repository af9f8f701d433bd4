import GRDB
import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import MessageBroker
import Testing

@testable import Ledger

/// Tests the answers to requests for the sales in the ledger.
@Suite struct SalesResponderTests {
  private let fixture: KioskFixture
  private let office: TestClient
  private let panel: TestClient

  init() throws {
    fixture = try KioskFixture()
    office = try fixture.testClient("office", subscribedTo: ["kiosk/k1/report/+/result"])
    panel = try fixture.panel()
    try fixture.startKiosk()
  }

  private func press(_ juice: String) {
    fixture.publish(juice, to: "kiosk/k1/order/p1", by: panel)
  }

  private func ask(_ text: String, sender: String = "desk", retain: Bool = false) {
    fixture.publish(text, to: "kiosk/k1/report/\(sender)", by: office, retain: retain)
  }

  private func answers() throws -> [SalesExtract] {
    try office.take().map { try SalesExtract(payload: $0.payload) }
  }

  @Test func itSumsTheOrdersOfAPageAndNamesTheNextOne() throws {
    press("banana")
    press("banana")
    press("strawberry")
    ask(#"{"id":"a","since":"1970-01-01T00:00:00Z"}"#)
    let page = try #require(try answers().first)
    #expect(page.id == "a" && page.next == nil && page.timeZone == "UTC")
    let sums = page.sums.map { "\($0.status.rawValue) \($0.juice) \($0.orders) \($0.glasses)" }
    #expect(sums.sorted() == ["out_of_stock strawberry 1 0", "ready banana 2 2"])
    // The page that ends with the entry before.
    ask(#"{"id":"b","last":\#(page.last - 1),"since":"1970-01-01T00:00:00Z"}"#)
    #expect(try answers().first?.sums.map(\.orders) == [2])
    #expect(try fixture.ledger { try $0.state().seq } == page.last)
  }

  @Test func aLongLedgerHasSeveralPages() throws {
    for number in 0..<(SalesExtract.maximumEntries + 5) {
      press("strawberry")
      // The kiosk limits the orders of a panel per second.
      if number % 40 == 39 { fixture.advance(by: .seconds(1)) }
    }
    ask(#"{"id":"a","since":"1970-01-01T00:00:00Z"}"#)
    let first = try #require(try answers().first)
    let next = try #require(first.next)
    #expect(next == first.last - SalesExtract.maximumEntries)
    ask(#"{"id":"b","last":\#(next),"since":"1970-01-01T00:00:00Z"}"#)
    let second = try #require(try answers().first)
    #expect(second.last == next && second.next == nil)
    let orders = (first.sums + second.sums).reduce(0) { $0 + $1.orders }
    #expect(orders == SalesExtract.maximumEntries + 5)
  }

  @Test(arguments: [
    "", "{}", #"{"id":"a"}"#, #"{"report":"charges"}"#, #"{"id":"a","report":"money"}"#,
    #"{"id":"a","since":"yesterday"}"#,
    #"{"id":"a","last":0,"since":"1970-01-01T00:00:00Z"}"#,
    #"{"id":"a","since":"1970-01-01T00:00:00Z","more":"\#(String(repeating: "x", count: 5_000))"}"#,
  ])
  func whatIsNoRequestGetsNoAnswer(_ payload: String) throws {
    ask(payload)
    ask(#"{"id":"a","since":"1970-01-01T00:00:00Z"}"#, retain: true)
    #expect(try answers().count == 1)
    // A retained request, as the next connection receives it.
    fixture.crashConnection()
    fixture.advance(by: .seconds(10))
    #expect(try answers().isEmpty)
  }

  /// Also in a kiosk without sensors and dates: to create an index at the first request would delay orders.
  @Test func aRequestForTheRecordDoesNotReadAllOrders() throws {
    func plan(_ query: String) throws -> String {
      try fixture.ledger {
        try $0.database.read { database in
          try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN \(query)", arguments: [1, 2, 0, 9])
            .map { $0["detail"] as String }.joined(separator: "; ")
        }
      }
    }
    let hours = KioskLedger.sensorHours + " LIMIT ?3 + ?4"
    #expect(try plan(KioskLedger.otherEntries).hasPrefix("SEARCH entry USING INDEX other_entry"))
    #expect(try plan(hours).hasPrefix("SEARCH entry USING INDEX sensor_hour"))
    press("banana")
    ask(#"{"id":"a","day":"2026-11-21"}"#)
    let day = try SafetyDay(payload: try #require(office.take().first).payload)
    #expect(day.entries.map(\.status) == [.opened] && !day.isShortened)
  }

  @Test func aRecordOfManyEntriesHasPages() throws {
    for number in 0..<SafetyDay.maximumEntries + 5 {
      fixture.publish(#"{"add":{"kiwi":1}}"#, to: "kiosk/k1/restock/desk", by: panel)
      fixture.publish(#"{"add":{"kiwi":-1}}"#, to: "kiosk/k1/restock/desk", by: panel)
      if number % 20 == 19 { fixture.advance(by: .seconds(1)) }
    }
    var days: [SafetyDay] = []
    var after: Int? = 0
    while let last = after, days.count < 9 {
      ask(#"{"id":"a","day":"2026-11-21","after":\#(last)}"#)
      let day = try SafetyDay(payload: try #require(office.take().first).payload)
      #expect(day.entries.count <= SafetyDay.maximumEntries)
      days.append(day)
      after = day.next
    }
    let entries = days.flatMap(\.entries).map(\.seq)
    let last = try fixture.ledger { try $0.state().seq }
    #expect(days.count > 1 && last > 500 && entries == Array(1...last))
  }

  @Test func aKioskWithoutPaymentHasNoCharges() throws {
    ask(#"{"id":"a","report":"charges","before":7}"#)
    let page = try ChargePage(payload: try #require(office.take().first).payload)
    #expect(page == ChargePage(id: "a", entries: [], next: nil))
  }

  @Test func aFloodOfRequestsDelaysNoOrder() throws {
    for number in 0..<100 { ask(#"{"id":"a\#(number)","since":"1970-01-01T00:00:00Z"}"#) }
    press("banana")
    #expect(try fixture.ledger { try $0.state().stock["banana"] } == 8)
    #expect(try answers().count <= 100)
  }
}
