import Foundation
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import Ledger
import Testing

@Suite struct SalesCalendarTests {
  /// Returns the days before today of a shop, read from a ledger.
  private func sales(of shop: Shop) throws -> DailySales? {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let ledger = try KioskLedger(path: folder.appending(path: "ledger.sqlite").path())
    var transaction = LedgerTransaction()
    transaction.records = shop.entries.map { LedgerTransaction.Record(LedgerRow($0)) }
    try ledger.commit(transaction)
    var calendar = SalesCalendar(
      menu: .standard, wallClock: shop.wallClock, through: shop.entries.count, at: shop.now)
    while !calendar.isComplete { try calendar.read(ledger) }
    return calendar.report(at: shop.now)
  }

  private func day(_ text: String) throws -> Int64 {
    try #require(CivilDate(text)).daysSinceEpoch
  }

  @Test func thirteenMonthsBeforeTodayAreRead() throws {
    // Noon of November 21 in Seoul, where the days begin at 15:00 UTC.
    var shop = try Shop("2026-11-21T03:00:00Z")
    try shop.add(
      .opened(["kiwi": 1_000, "mango": 1_000]), at: "2025-10-01T03:00:00Z", by: nil)
    try shop.sell(1, at: "2025-10-20T14:59:59Z")
    try shop.sell(2, at: "2025-10-20T15:00:00Z")
    // Pages of entries that are no sales.
    for _ in 0..<1_100 { try shop.add(.service(.open), at: "2026-03-01T00:00:00Z") }
    let price = try #require(Money("3.50", .euro))
    try shop.sell(1, "mango", at: "2026-11-20T14:00:00Z", for: price)
    try shop.sell(3, "mango", at: "2026-11-20T14:59:59Z", for: price)
    try shop.add(
      .outOfStock(Order(juice: "kiwi", quantity: 1), missing: ["kiwi": 1]),
      at: "2026-11-20T03:00:00Z")
    try shop.sell(4, at: "2026-11-20T15:00:00Z")
    let sales = try #require(try sales(of: shop))
    #expect(sales.from == CivilDate("2025-10-21") && sales.to == CivilDate("2026-11-20"))
    #expect(sales.to.daysSinceEpoch - sales.from.daysSinceEpoch + 1 == Int64(DailySales.dayCount))
    #expect(sales.tally(of: try day("2025-10-21")).made == ["kiwi": 2])
    let last = sales.tally(of: try day("2026-11-20"))
    #expect(last.made == ["mango": 4] && last.outOfStock == ["kiwi": 1])
    #expect(last.takings.totals.map(\.description) == ["7.00 EUR"])
    // A day counts as the report of the last 30 days counts it.
    #expect(shop.report.days.first?.tally.made == last.made)
  }

  @Test func aKioskWithoutEarlierSalesHasNone() throws {
    var shop = try Shop("2026-11-21T03:00:00Z")
    try shop.open(at: "2026-11-20T03:00:00Z")
    try shop.sell(1, at: "2026-11-21T02:00:00Z")
    #expect(try sales(of: shop) == nil)
  }

  @Test func ofALongMenuTheEarliestDaysAreOmitted() throws {
    var shop = try Shop("2026-11-21T03:00:00Z")
    try shop.open(at: "2025-10-01T03:00:00Z")
    for time in ["2025-11-01T03:00:00Z", "2026-11-10T03:00:00Z", "2026-11-19T03:00:00Z"] {
      for juice in 0..<200 {
        let order = Order(juice: try #require(Juice.ID("juice\(juice)")), quantity: 1)
        try shop.add(
          .ready(
            order, used: ["kiwi": 1], ticket: Ticket(day: 0, number: shop.entries.count + 1)),
          at: time)
      }
    }
    let sales = try #require(try sales(of: shop))
    #expect(sales.payload.count <= DailySales.maximumSize)
    #expect(sales.from == CivilDate("2026-11-10"))
    #expect(sales.tally(of: try day("2026-11-19")).glasses == 200)
  }
}
