import JuiceDomain
import KioskDaemon
import KioskProtocol
import Testing

/// Tests when a fruit is used up. A glass of kiwi juice takes three kiwis; it is Saturday, 12:00 in
/// Seoul.
@Suite struct ForecastTests {
  private var shop: Shop

  init() throws { shop = try Shop("2026-11-21T03:00:00Z") }

  private func time(_ text: String) throws -> Timestamp { try #require(Timestamp(text)) }

  /// Returns a kiosk that sells a glass in each hour for which `sells` is true. Hours are counted
  /// from the start of the history, which is at midnight.
  private func shop(
    days: Int, stock: Int = 1_000_000, where sells: (Int) -> Bool = { _ in true }
  ) throws -> Shop {
    var shop = shop
    let start = shop.now.milliseconds - Int64(days * 24 + 12) * 3_600_000
    // One millisecond earlier, so that the fruit is available for the whole first hour.
    try shop.open(at: Timestamp(milliseconds: start - 1).description)
    for hour in 0..<(days * 24 + 12) where sells(hour) {
      let time = Timestamp(milliseconds: start + Int64(hour) * 3_600_000 + 1_800_000)
      try shop.sell(1, at: time.description)
    }
    return shop
  }

  @Test func withLessThanAnHourNothingIsKnown() throws {
    var shop = shop
    #expect(try shop.outlook(stock: 7) == ForecastReport.Outlook(stock: 7))
    try shop.open(at: "2026-11-21T02:00:01Z")
    try shop.sell(2, at: "2026-11-21T02:30:00Z")
    #expect(try shop.outlook(stock: 7) == ForecastReport.Outlook(stock: 7))
  }

  @Test func whatGoesOnGoesOn() throws {
    for days in [0, 3, 56, 100] {
      let outlook = try shop(days: days).outlook(stock: 15)
      #expect(outlook.perHour == 3)
      #expect(outlook.emptyAt == (try time("2026-11-21T08:00:00Z")))
      #expect(outlook.use == Array(repeating: 18, count: ForecastReport.Outlook.pieceCount))
    }
  }

  @Test func whatNobodyOrdersIsNeverGone() throws {
    let outlook = try shop(days: 1, where: { _ in false }).outlook(stock: 1)
    let nothing = Array(repeating: 0.0, count: ForecastReport.Outlook.pieceCount)
    #expect(outlook == ForecastReport.Outlook(stock: 1, perHour: 0, use: nothing))
  }

  @Test func whatIsGoneIsNotGoingToBe() throws {
    let outlook = try shop(days: 1).outlook(stock: 0)
    #expect(outlook.perHour ?? 0 > 0)
    #expect(outlook.emptyAt == nil)
  }

  @Test func whatLastsLongerThanAWeekHasNoEnd() throws {
    let shop = try shop(days: 20)
    #expect(try shop.outlook(stock: 3 * 168 - 1).emptyAt == time("2026-11-28T02:40:00Z"))
    #expect(try shop.outlook(stock: 3 * 168 + 1).emptyAt == nil)
  }

  @Test func theSameHourOfTheSameWeekdayTellsWhatIsToCome() throws {
    // Sales on each Saturday from 14:00 to 15:00.
    let shop = try shop(days: 56) { $0 / 24 % 7 == 0 && $0 % 24 == 14 }
    let outlook = try shop.outlook(stock: 1)
    #expect(outlook.perHour ?? 1 < 0.1)
    #expect(abs((outlook.use.first ?? 0) - 3) < 0.2)
    #expect(outlook.use.dropFirst().reduce(0, +) < 0.5)
    #expect(outlook.emptyAt == (try time("2026-11-21T05:20:00Z")))
  }

  @Test func anHourThatIsCutLiesInTwoPieces() throws {
    let shop = try shop(days: 56) { $0 / 24 % 7 == 0 && $0 % 24 == 14 }
    // At 14:30 half of the hour is ahead, and the other half one week later.
    let use = try shop.outlook(stock: 0, at: time("2026-11-21T05:30:00Z")).use
    #expect(abs((use.first ?? 0) - 1.5) < 0.2)
    #expect(abs((use.last ?? 0) - 1.5) < 0.2)
  }

  @Test func aLevelThatHasChangedIsFollowed() throws {
    var shop = try shop(days: 56)
    let before = try shop.outlook(stock: 1).use.reduce(0, +)
    for day in 15...20 {
      for _ in 0..<3 { try shop.sell(24, at: "2026-11-\(day)T03:00:00Z") }
    }
    // The last days used four times as much.
    let after = try shop.outlook(stock: 1).use.reduce(0, +)
    #expect(after > 2 * before && after < 4 * before)
  }

  @Test func aFewGlassesMoreAreChance() throws {
    var shop = try shop(days: 56) { $0 % 24 == 9 }
    let before = try shop.outlook(stock: 1).use.reduce(0, +)
    try shop.sell(2, at: "2026-11-21T02:00:00Z")
    let after = try shop.outlook(stock: 1).use.reduce(0, +)
    #expect(after > before && after < 1.3 * before)
  }

  // MARK: Times without sales

  @Test func aFruitThatWasOutWasNotUnwanted() throws {
    // Without sales for ten days until the last midnight: an outage does not change the rate.
    var shop = try shop(days: 30) { !(480..<720).contains($0) }
    let outage = try shop.outlook(stock: 100)
    try shop.add(.restocked(changes: ["kiwi": -900_000]), at: "2026-11-10T15:00:00Z")
    try shop.add(.restocked(changes: ["kiwi": 900_000]), at: "2026-11-20T15:00:00Z")
    // Other juices are sold meanwhile, so that it does not count as an outage.
    for hour in 480..<720 {
      let time = shop.now.milliseconds - Int64(732 - hour) * 3_600_000
      try shop.sell(1, "mango", at: Timestamp(milliseconds: time).description)
    }
    let unwanted = try shop.outlook(stock: 900_100)
    let out = try shop.outlook(stock: 100)
    #expect(outage.perHour == 3)
    #expect(unwanted.perHour ?? 3 < 2)
    #expect(abs((out.perHour ?? 0) - 3) < 0.1)
  }

  @Test func aFruitThatIsNewIsNotLookedForBefore() throws {
    var shop = shop
    try shop.add(.opened(["mango": 50]), at: "2026-10-01T03:00:00Z", by: nil)
    for day in 1...31 {
      try shop.sell(9, "mango", at: "2026-10-\(day < 10 ? "0" : "")\(day)T03:00:00Z")
    }
    try shop.open(at: "2026-11-20T15:00:00Z")
    for hour in 15...23 { try shop.sell(1, at: "2026-11-20T\(hour):10:00Z") }
    for hour in 0...2 { try shop.sell(1, at: "2026-11-21T0\(hour):10:00Z") }
    #expect(try abs((shop.outlook(stock: 1_000_000 - 36).perHour ?? 0) - 3) < 0.3)
  }

  @Test func aKioskThatWasClosedDidNotSellNothing() throws {
    var shop = try shop(days: 14) { $0 < 334 || $0 > 336 }
    let open = try shop.outlook(stock: 1).use.reduce(0, +)
    // Three hours without sales are too few to count as an outage.
    try shop.add(.service(.closed), at: "2026-11-20T13:00:00Z")
    try shop.add(.service(.open), at: "2026-11-20T16:00:00Z")
    let closed = try shop.outlook(stock: 1).use.reduce(0, +)
    #expect(open < 503)
    #expect(abs(closed - 504) < 0.5)
  }

  @Test func aKioskThatIsClosedEveryNightSellsNothingAtNight() throws {
    var shop = try shop(days: 20) { $0 % 24 < 20 }
    for day in 1...20 {
      let date = "2026-11-\(day < 10 ? "0" : "")\(day)"
      try shop.add(.service(.closed), at: "\(date)T11:00:00Z")
      try shop.add(.service(.open), at: "\(date)T15:00:00Z")
    }
    let use = try shop.outlook(stock: 1).use
    // From 12:00 to 18:00, and from 18:00 to midnight with two open hours.
    #expect(abs((use.first ?? 0) - 18) < 0.1)
    #expect(use.count > 1 && abs(use[1] - 6) < 0.1)
  }

  @Test func aSilenceThatChanceDoesNotExplainIsAnOutage() throws {
    // An outage of one week ended three days ago.
    #expect(try shop(days: 56) { !(1100..<1268).contains($0) }.outlook(stock: 1).perHour == 3)
    // Before the next order, the cause may also be that customers stay away.
    #expect(try shop(days: 56) { $0 < 1220 }.outlook(stock: 1).perHour ?? 3 < 2)
  }

  @Test func aSundayOnWhichNobodyEverComesIsNoOutage() throws {
    let use = try shop(days: 56) { $0 / 24 % 7 != 1 }.outlook(stock: 1).use
    // Sunday begins in twelve hours.
    #expect(use.prefix(2).allSatisfy { abs($0 - 18) < 0.5 })
    #expect(use.dropFirst(2).prefix(4).allSatisfy { $0 < 0.5 })
  }

  @Test func aClockThatWasSetBackKnowsNothing() throws {
    var shop = shop
    try shop.open(at: "2026-11-21T03:30:00Z")
    try shop.sell(2, at: "2026-11-21T03:40:00Z")
    #expect(try shop.outlook(stock: 7) == ForecastReport.Outlook(stock: 7))
  }

  @Test(arguments: ["0000-01-02T00:00:00Z", "1969-12-31T23:00:00Z", "9999-12-31T00:00:00Z"])
  func aClockThatIsFarAwayDoesNoHarm(now: String) throws {
    var shop = try Shop(now)
    let start = Timestamp(milliseconds: shop.now.milliseconds - 7_200_000).description
    try shop.open(at: start)
    try shop.add(.service(.closed), at: start)
    try shop.sell(1, at: now)
    try shop.add(.service(.open), at: "2026-11-21T03:30:00Z")
    try shop.add(.service(.closed), at: "9999-12-31T01:00:00Z")
    #expect(try shop.outlook(stock: 7).stock == 7)
  }
}
