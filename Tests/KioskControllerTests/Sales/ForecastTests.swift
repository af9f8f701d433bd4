import JuiceDomain
import KioskController
import KioskMessages
import Testing

/// When a fruit will be gone. A glass of kiwi juice takes three kiwis; it is Saturday, 12:00 in Seoul.
@Suite struct ForecastTests {
  private static let now = "2026-11-21T03:00:00Z"
  private var shop: Shop

  init() throws { shop = try Shop(Self.now) }

  private func time(_ text: String) throws -> Timestamp { try #require(Timestamp(text)) }

  @Test func withLessThanAnHourNothingIsKnown() throws {
    var shop = shop
    #expect(try shop.outlook(stock: 7) == ForecastReport.Outlook(stock: 7))
    try shop.open(at: "2026-11-21T02:00:01Z")
    try shop.sell(2, at: "2026-11-21T02:30:00Z")
    #expect(try shop.outlook(stock: 7) == ForecastReport.Outlook(stock: 7))
  }

  @Test func onTheFirstDayTheLastHoursGoOn() throws {
    var shop = shop
    try shop.open(at: "2026-11-21T01:00:00Z")
    try shop.sell(4, at: "2026-11-21T02:30:00Z")
    // 12 kiwis in two hours.
    let outlook = try shop.outlook(stock: 15)
    #expect(outlook.perHour == 6)
    #expect(outlook.use.first == 36)
    #expect(outlook.emptyAt == (try time("2026-11-21T05:30:00Z")))
  }

  @Test func onlyTheLastThreeHoursAreRecent() throws {
    var shop = shop
    try shop.open(at: "2026-11-20T03:00:00Z")
    try shop.sell(100, at: "2026-11-20T23:59:59Z")
    try shop.sell(3, at: "2026-11-21T00:00:00Z")
    #expect(try shop.outlook(stock: 15).perHour == 3)
    #expect(try shop.outlook(stock: 15).emptyAt == time("2026-11-21T08:00:00Z"))
  }

  @Test func whatNobodyOrdersIsNeverGone() throws {
    var shop = shop
    try shop.open(at: "2026-11-20T03:00:00Z")
    let nothing = Array(repeating: 0.0, count: ForecastReport.Outlook.pieceCount)
    #expect(
      try shop.outlook(stock: 1) == ForecastReport.Outlook(stock: 1, perHour: 0, use: nothing))
  }

  @Test func whatIsGoneIsNotGoingToBe() throws {
    var shop = shop
    try shop.open(at: "2026-11-20T03:00:00Z")
    try shop.sell(3, at: "2026-11-21T00:00:00Z")
    let outlook = try shop.outlook(stock: 0)
    #expect(outlook.perHour == 3)
    #expect(outlook.emptyAt == nil)
  }

  @Test func whatLastsLongerThanAWeekHasNoEnd() throws {
    var shop = shop
    try shop.open(at: "2026-11-21T02:00:00Z")
    try shop.sell(1, at: "2026-11-21T02:30:00Z")
    #expect(try shop.outlook(stock: 3 * 168 - 1).emptyAt == time("2026-11-28T02:40:00Z"))
    #expect(try shop.outlook(stock: 3 * 168 + 1).emptyAt == nil)
  }

  /// Four weeks in which 60 kiwis went from 14 to 15 o'clock on Saturdays, and nothing else.
  private func regular() throws -> Shop {
    var shop = shop
    try shop.open(at: "2026-10-24T02:00:00Z")
    for day in ["10-24", "10-31", "11-07", "11-14"] {
      try shop.sell(20, at: "2026-\(day)T05:15:00Z")
    }
    return shop
  }

  @Test func theSameWeekdayTellsWhatIsToCome() throws {
    let shop = try regular()
    #expect(try shop.outlook(stock: 10).perHour == 0)
    // 240 in four weeks, beside which the three hours before, without any, weigh 3/5 by then: 40 at
    // 240/4.6 an hour take 46 minutes.
    #expect(try shop.outlook(stock: 40).emptyAt == time("2026-11-21T05:46:00Z"))
  }

  @Test func useIsToldForEachSixHoursOfTheWeek() throws {
    let shop = try regular()
    let nothing = Array(repeating: 0.0, count: 26)
    #expect(try shop.outlook(stock: 1).use == [52.2, 0] + nothing)
    // At 14:30, half of the hour lies ahead, and the other half a week later.
    let halfPast = try time("2026-11-21T05:30:00Z")
    #expect(try shop.outlook(stock: 0, at: halfPast).use == [24, 0] + nothing.dropLast() + [22.4])
  }

  @Test func theLastHoursWeighAsMuchAsAWeekAndFade() throws {
    var shop = try regular()
    try shop.sell(10, at: "2026-11-21T02:00:00Z")
    // 10 an hour in the last three hours, against four weeks with nothing at this time.
    #expect(try shop.outlook(stock: 100).perHour == 2)
    // Two in the next hour; then 10 * 0.75 / 4.75 an hour, so that the third takes 38 minutes.
    #expect(try shop.outlook(stock: 3).emptyAt == time("2026-11-21T04:38:00Z"))
  }

  @Test func aWeekThatWasNotThereIsNoWeekWithoutSales() throws {
    var shop = shop
    try shop.open(at: "2026-11-13T03:00:00Z")
    try shop.sell(2, at: "2026-11-14T03:00:00Z")
    try shop.sell(4, at: "2026-11-21T02:00:00Z")
    // One week with 6, and 12 in the last three hours.
    #expect(try shop.outlook(stock: 100).perHour == 5)
  }

  @Test func aClockThatWasSetBackKnowsNothing() throws {
    var shop = shop
    try shop.open(at: "2026-11-21T03:30:00Z")
    try shop.sell(2, at: "2026-11-21T03:40:00Z")
    #expect(try shop.outlook(stock: 7) == ForecastReport.Outlook(stock: 7))
  }
}
