import Foundation
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import Ledger
import Testing
import TimeZones

/// A kiosk in a time zone, with a history.
struct Shop {
  let wallClock: WallClock
  let now: Timestamp
  var history: SalesHistory
  private(set) var entries: [LedgerEntry] = []

  init(_ now: String, in zone: String = "Asia/Seoul") throws {
    wallClock = try #require(WallClock(zone))
    self.now = try #require(Timestamp(now))
    history = SalesHistory(menu: .standard, wallClock: wallClock, through: 0, at: self.now)
    #expect(history.isComplete)
  }

  /// - Parameter time: A time in the format of RFC 3339.
  mutating func add(
    _ outcome: LedgerEntry.Outcome, at time: String,
    by source: Source? = Source(kind: .order, name: "p1"), for amount: Money? = nil
  ) throws {
    let entry = LedgerEntry(
      seq: entries.count + 1, epoch: 0, at: try #require(Timestamp(time)), source: source, id: nil,
      outcome: outcome, amount: amount)
    entries.append(entry)
    history.add(entry)
  }

  mutating func open(at time: String) throws {
    try add(.opened(["kiwi": 1_000_000]), at: time, by: nil)
  }

  mutating func sell(
    _ glasses: Int, _ juice: Juice.ID = "kiwi", at time: String, for amount: Money? = nil
  ) throws {
    let recipe = try #require(Menu.standard.juice(juice)).recipe.amounts
    let used = FruitAmounts(recipe.map { ($0.fruit, $0.amount * glasses) })
    try add(
      .ready(
        Order(juice: juice, quantity: glasses), used: used,
        ticket: Ticket(day: 0, number: entries.count + 1)), at: time, for: amount)
  }

  var report: SalesReport { history.report(at: now) }

  func outlook(stock: Int, at time: Timestamp? = nil) throws -> ForecastReport.Outlook {
    try #require(history.forecast(stock: ["kiwi": stock], at: time ?? now).fruits["kiwi"])
  }
}

@Suite struct SalesHistoryTests {
  private func tally(
    made: [Juice.ID: Int] = [:], outOfStock: [Juice.ID: Int] = [:], rejected: [Juice.ID: Int] = [:],
    unnamed: Int = 0
  ) -> SalesReport.Tally {
    var tally = SalesReport.Tally()
    (tally.made, tally.outOfStock, tally.rejected) = (made, outOfStock, rejected)
    tally.unnamed = unnamed
    return tally
  }

  @Test func todayIsToldByHourAndTheLastDaysByDayOnTheWall() throws {
    var shop = try Shop("2026-11-21T03:30:00Z")  // 12:30 in Seoul
    try shop.open(at: "2026-11-20T03:00:00Z")
    try shop.sell(1, at: "2026-11-20T14:59:59Z")
    try shop.sell(2, at: "2026-11-20T15:00:00Z")
    try shop.sell(1, "mango_kiwi", at: "2026-11-21T00:10:00Z")
    try shop.add(
      .outOfStock(Order(juice: "mango", quantity: 3), missing: ["mango": 1]),
      at: "2026-11-21T00:59:59Z")
    try shop.add(.restocked(changes: ["mango": 4]), at: "2026-11-21T03:20:00Z")
    let report = shop.report
    #expect(report.timeZone == "Asia/Seoul")
    #expect(report.today.description == "2026-11-21")
    let nine = tally(made: ["mango_kiwi": 1], outOfStock: ["mango": 1])
    #expect(
      report.hours == [
        SalesReport.Hour(hour: 0, tally: tally(made: ["kiwi": 2])),
        SalesReport.Hour(hour: 9, tally: nine),
      ])
    #expect(report.days.map(\.day.description) == ["2026-11-20", "2026-11-21"])
    #expect(report.days.first?.tally == tally(made: ["kiwi": 1]))
    #expect(
      report.days.last?.tally
        == tally(made: ["kiwi": 2, "mango_kiwi": 1], outOfStock: ["mango": 1]))
  }

  @Test func rejectedOrdersAreNamedAsFarAsTheMenuKnowsThem() throws {
    var shop = try Shop("2026-11-21T03:30:00Z")
    let at = "2026-11-21T03:00:00Z"
    try shop.add(.rejected(.closed, order: Order(juice: "kiwi")), at: at)
    try shop.add(.rejected(.unknownJuice, order: Order(juice: "tea")), at: at)
    try shop.add(.rejected(.quantityOutOfRange, order: nil), at: at)
    try shop.add(
      .rejected(.conflict, order: nil), at: at, by: Source(kind: .restock, name: "desk"))
    #expect(shop.report.days.map(\.tally) == [tally(rejected: ["kiwi": 1], unnamed: 2)])
  }

  /// An accepted order counts, with its price, once it is made. One that fails does not count.
  @Test func takingsAreThoseOfTheGlassesThatWereMade() throws {
    let price = Money(units: 350, try #require(Currency("EUR")))
    var shop = try Shop("2026-11-21T03:30:00Z")
    let (at, order, ticket) = (
      "2026-11-21T03:00:00Z", Order(juice: "kiwi"), Ticket(day: 0, number: 1)
    )
    try shop.sell(2, at: at, for: price.times(2))
    try shop.sell(1, "mango", at: at)
    #expect(shop.report.hours.map(\.tally.takings.description) == ["7.00 EUR"])
    try shop.add(
      .accepted(order, used: ["kiwi": 3], ticket: ticket, machine: "bar", place: 1), at: at,
      for: price)
    #expect(shop.report.days.map(\.tally.takings.description) == ["7.00 EUR"])
    let end = JobEnd(job: 3, machine: "bar", order: order, ticket: ticket)
    try shop.add(.failed(end, reason: "jam", changes: ["kiwi": 3]), at: at)
    #expect(shop.report.days.map(\.tally.takings.description) == ["7.00 EUR"])
    try shop.add(.made(end), at: at, for: price)
    #expect(shop.report.days.map(\.tally.takings.description) == ["10.50 EUR"])
    #expect(shop.report.days.map { $0.tally.made["kiwi"] } == [3])
  }

  @Test func thirtyDaysAreToldAndNothingOfTheFuture() throws {
    var shop = try Shop("2026-11-21T03:30:00Z")
    try shop.sell(1, at: "2026-10-22T14:59:59Z")
    try shop.sell(2, at: "2026-10-22T15:00:00Z")
    try shop.sell(4, at: "2026-11-21T15:00:00Z")
    #expect(shop.report.days.map(\.day.description) == ["2026-10-23"])
    #expect(shop.report.days.first?.tally.made == ["kiwi": 2])
  }

  @Test(arguments: [
    // 25 hours: the hour from 2:00 occurs twice, and counts as one.
    ("2026-10-25T20:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", [2: 3]),
    // 23 hours: 2:00 to 3:00 does not exist.
    ("2026-03-29T20:00:00Z", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", [1: 1, 3: 2]),
  ])
  func aDayOnWhichTheClocksAreSetIsOneDay(
    now: String, one: String, two: String, hours: [Int: Int]
  ) throws {
    var shop = try Shop(now, in: "Europe/Berlin")
    try shop.sell(1, at: one)
    try shop.sell(2, at: two)
    let told = shop.report.hours.map { ($0.hour, $0.tally.made["kiwi"] ?? 0) }
    #expect(Dictionary(uniqueKeysWithValues: told) == hours)
    #expect(shop.report.days.map { $0.tally.made["kiwi"] } == [3])
  }

  @Test func anHourBeginsWhereTheWallSaysSo() throws {
    var shop = try Shop("2026-11-21T12:00:00Z", in: "Asia/Kathmandu")  // UTC+05:45
    try shop.sell(1, at: "2026-11-21T03:14:59Z")
    try shop.sell(2, at: "2026-11-21T03:15:00Z")
    #expect(shop.report.hours.map(\.hour) == [8, 9])
  }

  /// The history read from the database is equal to the one of added entries, in any time zone and
  /// for any number of pages.
  @Test(arguments: ["Asia/Seoul", "Asia/Kathmandu", "Europe/Berlin", "Pacific/Apia"])
  func theLedgerIsReadAsItWasWritten(zone: String) throws {
    var shop = try Shop("2026-11-21T03:30:00Z", in: zone)
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // Since the middle of September: entries older than eight weeks fill a page of their own.
    try shop.open(at: "2026-09-15T00:00:00Z")
    var time: Int64 = 1_789_430_400_000
    let source = Source(kind: .order, name: "p1")
    let prices = ["EUR", "KRW"].compactMap { Currency($0) }.map { Money(units: 350, $0) }
    while time < shop.now.milliseconds {
      let at = Timestamp(milliseconds: time).description
      let ticket = Ticket(day: 0, number: shop.entries.count + 1)
      let (order, seq) = (Order(juice: "kiwi", quantity: 2), shop.entries.count)
      let end = JobEnd(job: seq, machine: "bar", order: order, ticket: ticket)
      switch time / 599_000 % 19 {
      case 0: try shop.add(.outOfStock(Order(juice: "mango"), missing: ["mango": 1]), at: at)
      case 1: try shop.add(.rejected(.unknownJuice, order: Order(juice: "tea")), at: at)
      case 3: try shop.add(.restocked(changes: ["kiwi": 1]), at: at)
      case 4:
        try shop.add(
          .accepted(order, used: ["kiwi": 6], ticket: ticket, machine: "bar", place: 1), at: at,
          for: prices[0])
      case 5: try shop.add(.made(end), at: at, for: prices[0])
      case 6: try shop.add(.failed(end, reason: "jam", changes: ["kiwi": 4]), at: at)
      case 7: try shop.add(.returned(end, reason: "given_back", changes: ["kiwi": 6]), at: at)
      case 8: try shop.add(.decided(.again, job: seq, used: ["kiwi": 2]), at: at)
      case 11: try shop.add(.service(.closed), at: at)
      case 12: try shop.add(.service(.open), at: at)
      case 2: try shop.add(.rejected(.closed, order: Order(juice: "kiwi")), at: at, by: source)
      case 9: try shop.sell(1, at: at, for: prices[1])
      case 10: try shop.sell(1, at: at, for: prices[0].times(2))
      case 13:
        let total = PaymentTotal(
          total: seq, at: shop.now, captured: prices[0], refunded: prices[0], count: 1)
        try shop.add(.total(total, device: "till", difference: 0), at: at)
      case 14:
        let step = PaymentStep(
          .refund, charge: seq, device: "till", job: nil, order: nil, ticket: nil)
        try shop.add(.payment(step), at: at, by: Source(kind: .job, name: "minji"))
        let end = PaymentStep(
          .refunded, charge: seq, device: "till", job: nil, order: nil, ticket: nil)
        try shop.add(.payment(end), at: at, by: nil, for: prices[0])
      case 15:
        let removal = Removal(stock: ["kiwi": 2], reason: .damaged)
        try shop.add(.removed(removal), at: at, for: prices[0])
      case 16: try shop.add(.expired(changes: ["kiwi": -1]), at: at, by: nil)
      case 17:
        let step = SensorStep(
          .discard, of: "fridge", value: 8000, unit: .celsius, word: "warm", changes: ["kiwi": -3])
        try shop.add(.sensor(step), at: at, by: Source(kind: .job, name: "minji"), for: prices[1])
      case 18:
        try shop.add(
          .sensor(SensorStep(.alarm, of: "fridge", value: 8000, unit: .celsius)), at: at, by: nil)
      default: try shop.sell(1, at: at)
      }
      time += 599_000
    }
    #expect(shop.entries.count > 5000)
    let ledger = try KioskLedger(path: folder.appending(path: "ledger.sqlite").path())
    var transaction = LedgerTransaction()
    transaction.records = shop.entries.map { LedgerTransaction.Record(LedgerRow($0)) }
    try ledger.commit(transaction)

    var history = SalesHistory(
      menu: .standard, wallClock: shop.wallClock, through: shop.entries.count, at: shop.now)
    var pages = 0
    while !history.isComplete {
      try history.read(ledger)
      pages += 1
    }
    #expect(pages > 2)
    #expect(history.report(at: shop.now) == shop.report)
    #expect(history.lastServices == shop.history.lastServices)
    #expect(history.lastServices.entries.count == HistoryReport.limit)
    #expect(history.lastServices.entries.contains { $0.status == .refunded })
    let stock: FruitAmounts = ["kiwi": 100, "mango": 1]
    #expect(
      history.forecast(stock: stock, at: shop.now)
        == shop.history.forecast(stock: stock, at: shop.now))
  }

  @Test func whatIsTakenOutIsReportedByReasonAndCost() throws {
    var shop = try Shop("2026-11-21T03:30:00Z")
    try shop.open(at: "2026-11-20T03:00:00Z")
    try shop.add(.expired(changes: ["kiwi": -7]), at: "2026-11-20T03:00:00Z", by: nil)
    let cost = Money("2.80", .euro)
    try shop.add(
      .removed(Removal(expired: ["kiwi": 7], reason: .spoiled)), at: "2026-11-21T01:00:00Z",
      for: cost)
    try shop.add(
      .removed(Removal(stock: ["kiwi": 1, "mango": 2], reason: .damaged)),
      at: "2026-11-21T02:00:00Z", for: cost)
    let report = shop.report
    let waste = try #require(report.days.last?.tally.waste)
    #expect(waste.fruits == [.spoiled: ["kiwi": 7], .damaged: ["kiwi": 1, "mango": 2]])
    #expect(waste.cost.map(\.description) == ["5.60 EUR"])
    #expect(waste.amounts == ["kiwi": 8, "mango": 2])
    #expect(
      String(decoding: report.payload, as: UTF8.self).contains(
        #""waste":{"fruits":{"damaged":{"kiwi":1,"mango":2},"spoiled":{"kiwi":7}},"#
          + #""cost":{"EUR":"5.60"}}"#))
    #expect(try SalesReport(payload: report.payload) == report)
    // Expired fruit is no demand.
    #expect(try shop.outlook(stock: 5).perHour == 0)
  }

  @Test func whatIsUsualByNowIsTheMeanOfTheSameWeekdays() throws {
    var shop = try Shop("2026-11-21T03:30:00Z")  // a Saturday, 12:30 in Seoul
    #expect(shop.report.usual == nil)
    try shop.open(at: "2026-11-06T03:00:00Z")
    try shop.sell(9, at: "2026-11-07T00:00:00Z")  // two weeks ago, in the morning
    try shop.sell(4, at: "2026-11-07T03:59:59Z")  // in the hour of which half has passed
    try shop.sell(7, at: "2026-11-07T04:00:00Z")  // later
    try shop.sell(7, at: "2026-11-13T03:00:00Z")  // a Friday
    try shop.sell(5, at: "2026-11-14T00:00:00Z")  // last week
    #expect(shop.report.usual == 8)
  }

  @Test func aWeekThatTheLedgerDoesNotKnowAsAWholeIsNotUsual() throws {
    var shop = try Shop("2026-11-21T03:30:00Z")
    try shop.open(at: "2026-11-13T15:10:00Z")  // the day began ten minutes before
    try shop.sell(7, at: "2026-11-14T00:00:00Z")
    #expect(shop.report.usual == nil)
  }
}
