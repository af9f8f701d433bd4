import Fleet
import Foundation
import HTTPTypes
import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import DashboardWeb

/// The comparison of sales, with a kiosk whose ledger the test simulates.
@Suite struct SalesTests {
  private func day(_ text: String) throws -> Int64 {
    try #require(CivilDate(text)).daysSinceEpoch
  }

  private func days(_ from: String, _ to: String) throws -> ClosedRange<Int64> {
    try day(from)...day(to)
  }

  @Test(arguments: [
    ("2026-10-01", "2026-10-31", "2026-09-01", "2026-09-30"),
    ("2026-01-01", "2026-02-28", "2025-11-01", "2025-12-31"),
    ("2026-11-15", "2026-11-21", "2026-11-08", "2026-11-14"),
    ("2026-11-21", "2026-11-21", "2026-11-20", "2026-11-20"),
  ])
  func aPeriodIsComparedWithTheOneBefore(
    _ from: String, _ to: String, _ first: String, _ last: String
  ) throws {
    let query = Form("from=\(from)&to=\(to)")
    let period = SalesPeriod(query, today: try #require(CivilDate("2026-11-21")))
    let (expected, before) = (try days(from, to), try days(first, last))
    #expect(period.days == expected)
    #expect(period.before == before)
  }

  @Test(arguments: [
    "", "from=x&to=y", "from=2030-01-01&to=2031-01-01", "from=2026-11-30&to=2026-11-01",
    "from=1000-01-01&to=9000-01-01", "from=0000-01-01&to=0001-01-01",
  ])
  func anyQueryGivesDaysUpToToday(_ query: String) throws {
    let today = try #require(CivilDate("2026-11-21"))
    let period = SalesPeriod(Form(query), today: today)
    #expect(period.days.upperBound <= today.daysSinceEpoch)
    #expect(period.days.count <= SalesPeriod.maximum && period.before.lowerBound >= 0)
  }

  /// Shows no numbers, which would be those of the last day alone.
  @Test(arguments: ["/sales", "/kiosks/k1/sales"])
  func aPeriodThatEndsBeforeItBeginsIsAnError(path: String) async throws {
    try await Scene.run(answerTimeout: .zero) { scene in
      try await scene.authenticate("vera")
      let problem = "The first day is after the last one"
      let dates = "from=2026-11-20&to=2026-11-01"
      let page = try await scene.get("\(path)?\(dates)").text
      #expect(page.contains(problem) && !page.contains("id=\"compared\""))
      #expect(page.contains("value=\"2026-11-20\"") && page.contains("value=\"2026-11-01\""))
      let before = "before_from=2026-10-20&before_to=2026-10-01"
      #expect(try await scene.get("\(path)?\(before)").text.contains(problem))
      for (file, query) in [("csv", dates), ("xlsx", dates), ("csv", before)] {
        let answer = try await scene.get("\(path).\(file)?\(query)")
        #expect(answer.status == .badRequest && answer.text.contains(problem))
      }
      let day = try await scene.get("\(path)?from=2026-11-01&to=2026-11-01").text
      #expect(!day.contains(problem) && day.contains("id=\"compared\""))
    }
  }

  private func sum(
    _ time: String, _ juice: Juice.ID, _ glasses: Int, _ units: Int = 0, short: Int = 0
  ) throws -> [SalesExtract.Sum] {
    let at = try #require(Timestamp(time))
    let won = try #require(Currency("KRW"))
    return [
      SalesExtract.Sum(
        at: at, status: .ready, juice: juice, orders: glasses, glasses: glasses,
        amount: Money(units: units, won)),
      SalesExtract.Sum(
        at: at, status: .outOfStock, juice: juice, orders: short, glasses: 0, amount: nil),
    ]
  }

  /// Answers requests with these pages, the newest first.
  private func answer(
    _ pages: [[SalesExtract.Sum]], money: [MoneyOfQuarter] = [], in scene: Scene
  ) async throws {
    for (index, sums) in pages.enumerated() {
      let request = try SalesRequest(payload: try await scene.nextCommand().payload)
      let last = (pages.count - index) * 500
      #expect(request.last == (index == 0 ? nil : last))
      var page = SalesExtract(
        id: request.id, epoch: 1, last: last, next: index + 1 < pages.count ? last - 500 : nil,
        timeZone: "Asia/Seoul", sums: sums)
      page.money = money
      try await scene.kiosk("report/dashboard/result", page.payload, retain: false)
    }
  }

  @Test func thePageComparesJuicesAndHoursOfSeveralPagesOfTheLedger() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      async let loaded = scene.get("/kiosks/k1/sales?from=2026-10-01&to=2026-10-31")
      // The first is 00:30 on October 1 in Seoul.
      try await answer(
        [
          try sum("2026-10-20T03:00:00Z", "kiwi", 30, 150_000, short: 4)
            + sum("2026-09-30T15:30:00Z", "mango", 2, 12_000),
          try sum("2026-09-30T14:30:00Z", "kiwi", 20, 90_000)
            + sum("2026-08-31T14:30:00Z", "kiwi", 7, 31_500),
        ], in: scene)
      let page = try await loaded
      #expect(page.status == .ok)
      #expect(page.text.contains("2026-09-01 – 2026-09-30"))
      let text = page.text.replacing("\n", with: "")
      let good = "<span class=\"trend good\">"
      #expect(text.contains("<tr><th scope=\"row\">All</th><td>32</td><td>\(good)+60%"))
      #expect(text.contains("₩162,000</span></td><td><span class=\"sum\">\(good)+80%"))
      #expect(text.contains("<th scope=\"row\">12:00</th><td>30"))
      #expect(text.contains("<th scope=\"row\">0:00</th><td>2"))
      // The ledger is not read again for the export.
      let csv = try await scene.get("/kiosks/k1/sales.csv?from=2026-10-01&to=2026-10-31")
      #expect(csv.headers[.contentDisposition] == "attachment; filename=\"sales-k1.csv\"")
      let lines = csv.text.split(separator: "\r\n").map { String($0) }
      #expect(
        lines == [
          "\u{FEFF}day,hour,juice,glasses,orders_out_of_stock,sold,currency",
          "2026-10-01,0,mango,2,0,12000,KRW", "2026-10-20,12,kiwi,30,4,150000,KRW",
        ])
      let workbook = try await scene.get("/kiosks/k1/sales.xlsx?from=2026-10-01&to=2026-10-31")
      #expect(workbook.headers[.contentDisposition] == "attachment; filename=\"sales-k1.xlsx\"")
      #expect(workbook.text.hasPrefix("PK"))
    }
  }

  /// A ledger that begins within the period before has only a part of its sales.
  @Test func nothingIsComparedWithAPeriodThatIsNotKnown() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      async let loaded = scene.get("/kiosks/k1/sales?from=2026-10-01&to=2026-10-31")
      try await answer(
        [
          try sum("2026-10-20T03:00:00Z", "kiwi", 30, 150_000)
            + sum("2026-09-30T14:30:00Z", "kiwi", 1, 4_500)
        ], in: scene)
      let page = try await loaded.text
      #expect(page.contains("no sales from before 2026-09-30 here"))
      #expect(page.contains("<td>30</td><td></td><td class=\"muted\"></td>"))
      #expect(!page.contains("class=\"trend"))
    }
  }

  /// Loads the page of October. Answers each request with a page of one sum, and requires the number
  /// that the dashboard requests.
  private func load(
    _ pages: [(requested: Int?, epoch: Int, last: Int, next: Int?)], in scene: Scene
  ) async throws -> String {
    async let loaded = scene.get("/kiosks/k1/sales?from=2026-10-01&to=2026-10-31")
    for page in pages {
      let request = try SalesRequest(payload: try await scene.nextCommand().payload)
      #expect(request.last == page.requested)
      let extract = SalesExtract(
        id: request.id, epoch: page.epoch, last: page.last, next: page.next,
        timeZone: "Asia/Seoul", sums: try sum("2026-10-20T03:00:00Z", "kiwi", 30))
      try await scene.kiosk("report/dashboard/result", extract.payload, retain: false)
    }
    return try await loaded.text.replacing("\n", with: "")
  }

  @Test func thePageOfAKioskSaysWhereTheMoneyIs() async throws {
    let won = try #require(Currency("KRW"))
    var open = MoneySums()
    open.open = -500
    let money = try [
      // 00:30 on October 1 in Seoul, and half an hour before.
      (
        "2026-09-30T15:30:00Z",
        MoneySums(sold: 9_000, taken: 6_000, givenBack: 1_500, isOpen: false)
      ),
      ("2026-09-30T15:00:00Z", open),
      ("2026-09-30T14:45:00Z", MoneySums(sold: 70_000, taken: 70_000, givenBack: 0, isOpen: false)),
    ].map { MoneyOfQuarter(at: try #require(Timestamp($0.0)), currency: won, sums: $0.1) }
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      async let loaded = scene.get("/kiosks/k1/sales?from=2026-10-01&to=2026-10-31")
      try await answer(
        [try sum("2026-10-20T03:00:00Z", "kiwi", 30, 150_000)], money: money, in: scene)
      let text = try await loaded.text.replacing("\n", with: "")
      let cells = ["₩9,000", "₩6,000", "₩1,500", "₩4,500", "−₩500"].map { "<td>\($0)</td>" }
        .joined()
      #expect(text.contains("<tr><th scope=\"row\">KRW</th>\(cells)</tr>"))
    }
  }

  @Test func sumsOfTwoLedgersAreNotAdded() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      let all = "<tr><th scope=\"row\">All</th><td>30</td>"
      // The second page does not continue the first one, so the reading stops early.
      #expect(try await load([(nil, 1, 1000, 500), (500, 1, 400, nil)], in: scene).contains(all))
      // Meanwhile the kiosk's ledger was restored.
      #expect(try await !load([(500, 2, 500, nil)], in: scene).contains(all))
      #expect(try await load([(nil, 2, 300, nil)], in: scene).contains(all))
    }
  }

  @Test func withoutAnAnswerItShowsWhatTheKioskHasPublished() async throws {
    try await Scene.run(answerTimeout: .milliseconds(1)) { scene in
      var tally = SalesReport.Tally()
      tally.made = ["kiwi": 7]
      let report = SalesReport(
        at: scene.now, timeZone: "UTC", today: CivilDate(daysSinceEpoch: try day("2026-11-21")),
        days: [.init(day: CivilDate(daysSinceEpoch: try day("2026-11-20")), tally: tally)])
      try await scene.kiosk("sales", report.payload)
      try await scene.authenticate("vera")
      let page = try await scene.get("/kiosks/k1/sales").text
      #expect(page.contains("The kiosk does not answer.") && page.contains("<td>7</td>"))
      // The kiosk publishes 30 days: the 28 days before the last 28 days are not known.
      #expect(page.contains("nothing is compared") && !page.contains("class=\"trend"))
    }
  }

  /// Publishes 30 days of a kiosk: 10 glasses of kiwi juice on each day up to November 21, and 20 in
  /// the last week.
  private func publish(
    _ kiosk: KioskID, place: String?, days: Int = 30, status: String = "online", in scene: Scene
  ) async throws {
    let today = try day("2026-11-21")
    let won = try #require(Currency("KRW"))
    var report = SalesReport(
      at: scene.now, timeZone: "Asia/Seoul", today: CivilDate(daysSinceEpoch: today))
    report.days = (0..<Int64(days)).reversed().map { ago in
      var tally = SalesReport.Tally()
      tally.made = ["kiwi": ago < 7 ? 20 : 10]
      tally.takings.add(Money(units: ago < 7 ? 100_000 : 50_000, won), for: "kiwi")
      return SalesReport.Day(day: CivilDate(daysSinceEpoch: today - ago), tally: tally)
    }
    // The hours are those of today.
    report.hours = [.init(hour: 9, tally: try #require(report.days.last?.tally))]
    try await scene.kiosk("sales", report.payload, of: kiosk)
    let info = KioskInfo(version: "1", startedAt: scene.now, place: place)
    try await scene.kiosk("info", info.payload, of: kiosk)
    try await scene.kiosk("status", Array(status.utf8), of: kiosk)
  }

  @Test func theSalesOfAllKiosksAreComparedByKioskPlaceAndJuice() async throws {
    try await Scene.run { scene in
      try await publish("k1", place: "Lobby", in: scene)
      try await publish("k2", place: "<Lobby>", in: scene)
      try await publish("k3", place: "Lobby", in: scene)
      try await scene.kiosk("status", Array("online".utf8), of: "k4")
      try await scene.authenticate("vera")
      let query = "from=2026-11-15&to=2026-11-21"
      let page = try await scene.get("/sales?\(query)").text.replacing("\n", with: "")
      let row =
        "<td>420</td><td><span class=\"trend good\">+100%</span></td><td class=\"muted\">(210)</td>"
      #expect(page.contains("<th scope=\"row\">All</th>\(row)"))
      #expect(page.contains("<th scope=\"row\">Kiwi juice</th>\(row)"))
      #expect(page.contains("<th scope=\"row\">Lobby</th><td>280</td>"))
      #expect(page.contains("<th scope=\"row\">&lt;Lobby&gt;</th><td>140</td>"))
      #expect(page.contains("<a href=\"/kiosks/k2/sales\">k2</a></th><td>140</td>"))
      #expect(
        page.contains(
          "₩2,100,000</span></td><td><span class=\"sum\"><span class=\"trend good\">+100%</span></span></td>"
            + "<td class=\"muted\"><span class=\"sum\">(₩1,050,000)"))
      #expect(page.contains("have sent none yet: 1"))
      // The date below the last day ends within the plot.
      #expect(page.contains("<text class=\"end\" x=\"476\" y=\"146\">Nov 21</text>"))
      // Any other period, also one of another length.
      let chosen = try await scene.get(
        "/sales?\(query)&before_from=2026-11-01&before_to=2026-11-01"
      )
      .text
      #expect(chosen.contains("(30)") && chosen.contains("value=\"2026-11-01\""))
      // A whole day is not compared with a part of today.
      for (day, other) in [("21", "20"), ("20", "21")] {
        let dates = "from=2026-11-\(day)&to=2026-11-\(day)"
        let others = "before_from=2026-11-\(other)&before_to=2026-11-\(other)"
        let part = try await scene.get("/sales?\(dates)&\(others)").text
        #expect(part.contains("today is not over") && !part.contains("class=\"trend"))
      }
      let csv = try await scene.get("/sales.csv?from=2026-11-20&to=2026-11-21").text
      let lines = csv.split(separator: "\r\n").map { String($0) }
      #expect(
        lines.prefix(3) == [
          "\u{FEFF}kiosk,name,place,day,hour,juice,glasses,orders_out_of_stock,sold,currency",
          "k1,k1,Lobby,2026-11-20,,kiwi,20,0,100000,KRW",
          "k1,k1,Lobby,2026-11-21,9,kiwi,20,0,100000,KRW",
        ])
      #expect(lines.count == 7)
    }
  }

  @Test func theLastRowHasTheSumOfTheFurtherPlaces() throws {
    var fleet = KioskFleet(root: "kiosk")
    for number in 1...103 {
      let info = KioskInfo(version: "1", startedAt: Scene.time, place: "Place \(number)")
      for (topic, payload) in [("status", Array("online".utf8)), ("info", info.payload)] {
        fleet.receive(
          topic: "kiosk/k\(number)/\(topic)", payload: payload, isRetained: true, at: Scene.time)
      }
    }
    let today = try day("2026-11-21")
    let period = SalesPeriod(today...today)
    var tally = SalesReport.Tally()
    tally.made = ["kiwi": 2]
    let report = SalesReport(
      at: Scene.time, timeZone: "UTC", today: CivilDate(daysSinceEpoch: today),
      hours: [.init(hour: 9, tally: tally)])
    var sales = FleetSales()
    for kiosk in fleet.kiosks {
      sales.add(
        kiosk, PublishedSales(report, earlier: nil, for: period, isCurrent: true), period)
    }
    let places = try #require(sales.groups(.english, page: 1) { "\($0)" }.first)
    #expect(places.rows.count == 101)
    #expect(places.rows.last?.name == "3 other places")
    #expect(places.rows.last?.sales.total.now.glasses == 6)
  }

  @Test(arguments: [("2026-11-21", "today"), ("2026-11-20", "on Nov 20")])
  func thePageOfAKioskNamesTheDayOfItsSales(date: String, when: String) async throws {
    try await Scene.run { scene in
      var tally = SalesReport.Tally()
      tally.made = ["kiwi": 4]
      let today = try #require(CivilDate(date))
      try await scene.authenticate("vera")
      let empty = SalesReport(at: scene.now, timeZone: "UTC", today: today, hours: [], usual: 5)
      try await scene.kiosk("sales", empty.payload)
      let none = try await scene.get("/kiosks/k1").text
      #expect(none.contains(when == "today" ? "none made yet today" : "none made \(when)"))
      #expect(!none.contains("· at most"))
      let report = SalesReport(
        at: scene.now, timeZone: "UTC", today: today, hours: [.init(hour: 9, tally: tally)],
        usual: 5)
      try await scene.kiosk("sales", report.payload)
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("<b>4</b> glasses made \(when)"))
      #expect(page.contains("usually by now") == (when == "today"))
    }
  }

  /// Publishes the days before those of `publish`: 5 glasses on each day since a day.
  private func publishEarlier(
    _ kiosk: KioskID, since first: String, to last: String = "2026-11-20",
    timeZone: String = "Asia/Seoul", in scene: Scene
  ) async throws {
    var tallies: [Int64: SalesReport.Tally] = [:]
    for day in try day(first)...day(last) {
      var tally = SalesReport.Tally()
      tally.made = ["kiwi": 5]
      tallies[day] = tally
    }
    let sales = DailySales(
      at: scene.now, timeZone: timeZone, to: try #require(CivilDate(last)), tallies)
    try await scene.kiosk("sales/days", try #require(sales).payload, of: kiosk)
  }

  /// A month is compared with that of the year before, without a database.
  @Test func thirteenMonthsAreKnown() async throws {
    try await Scene.run { scene in
      try await publish("k1", place: nil, in: scene)
      try await publishEarlier("k1", since: "2025-10-22", in: scene)
      try await scene.authenticate("vera")
      let query = "from=2026-11-01&to=2026-11-21&before_from=2025-11-01&before_to=2025-11-21"
      let page = try await scene.get("/sales?\(query)").text.replacing("\n", with: "")
      // 14 days with 10 glasses and 7 with 20, and 21 with 5.
      #expect(
        page.contains(
          "<th scope=\"row\">All</th><td>280</td><td><span class=\"trend good\">+167%</span></td><td class=\"muted\">(105)"
        ))
      // The days that both reports contain count once: 23 with 10, 7 with 20 and 22 with 5.
      let all = try await scene.get("/sales?from=2026-10-01&to=2026-11-21").text
      #expect(all.contains("<td>480</td>"))
      let csv = try await scene.get("/sales.csv?from=2025-10-23&to=2025-10-24").text
      #expect(csv.contains("k1,k1,,2025-10-23,,kiwi,5,0,,"))
      let earlier = try await scene.get("/sales?from=2025-10-20&to=2025-10-24").text
      #expect(earlier.contains("2025-10-22") && !earlier.contains("class=\"trend"))
    }
  }

  /// Days of another time zone are other days, and between the reports no day may be missing.
  @Test(arguments: [("2026-11-20", "UTC"), ("2026-10-21", "Asia/Seoul")])
  func earlierDaysThatDoNotFitAreUnknown(_ last: String, _ timeZone: String) async throws {
    try await Scene.run { scene in
      try await publish("k1", place: nil, in: scene)
      try await publishEarlier(
        "k1", since: "2026-10-01", to: last, timeZone: timeZone, in: scene)
      try await scene.authenticate("vera")
      let page = try await scene.get("/sales?from=2026-10-01&to=2026-10-22").text
      #expect(page.contains("known from 2026-10-23"))
    }
  }

  /// A kiosk that has sold for some days only, or that is offline, has unknown days.
  @Test(arguments: [
    (days: 10, status: "online", known: "known from 2026-11-12"),
    (days: 30, status: "offline", known: "known up to 2026-11-20"),
  ])
  func theSalesOfAllKiosksAreNotComparedIfThoseOfOneAreUnknown(
    _ days: Int, _ status: String, _ known: String
  ) async throws {
    try await Scene.run { scene in
      try await publish("k1", place: nil, in: scene)
      try await publish("k2", place: nil, days: days, status: status, in: scene)
      try await scene.authenticate("vera")
      let page = try await scene.get("/sales?from=2026-11-15&to=2026-11-21").text
        .replacing("\n", with: "")
      #expect(page.contains("not all days are known of 1 kiosk") && page.contains(known))
      #expect(page.contains("All</th><td>280</td><td></td><td class=\"muted\"></td>"))
      // The other kiosk is compared nevertheless.
      #expect(page.contains("k1</a></th><td>140</td><td><span class=\"trend good\">+100%"))
      #expect(page.components(separatedBy: "class=\"trend good").count == 3)
    }
  }

  @Test(arguments: [
    "before_from=2026-11-05&before_to=2026-11-01", "before_from=2030-01-01&before_to=2030-01-02",
    "before_from=x&before_to=2026-11-01", "before_from=1900-01-01&before_to=1900-01-02",
    "before_from=2020-01-01&before_to=2026-01-01",
  ])
  func aPeriodToCompareWithThatIsNoneIsThePeriodBefore(query: String) throws {
    let today = try #require(CivilDate("2026-11-21"))
    let period = SalesPeriod(Form(query), today: today, canChoose: true)
    #expect(period == SalesPeriod(Form(""), today: today))
  }
}
