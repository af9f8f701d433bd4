import Fleet
import HTTPTypes
import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import DashboardWeb

@Suite struct FreshnessPagesTests {
  private static func stock(
    _ scene: Scene, expired: FruitAmounts = [:], expiresIn minutes: Int64? = nil
  ) -> [UInt8] {
    let times: [Fruit.ID: Timestamp] =
      minutes.map { ["mango": Timestamp(milliseconds: scene.now.milliseconds + $0 * 60_000)] }
      ?? [:]
    return StockReport(
      seq: 3, at: scene.now, fruits: ["kiwi": 3, "mango": 5], expires: times, expired: expired
    ).payload
  }

  @Test func expiredFruitIsShownAndAskedAbout() async throws {
    try await Scene.run { scene in
      try await scene.kiosk("stock", Self.stock(scene, expired: ["kiwi": 7]))
      try await scene.authenticate("vera")
      let seen = try await scene.get("/kiosks/k1").text
      #expect(seen.contains("Expired: take it out") && seen.contains("7 Kiwi expired: take it out"))
      #expect(!seen.contains("kiwi.spoiled") && !seen.contains("remove.kiwi"))
      try await scene.authenticate("minji")
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("value=\"kiwi.spoiled\"") && page.contains("name=\"remove.kiwi\""))
      let fleet = try await scene.get("/").text
      #expect(fleet.contains("7 Kiwi expired: take it out") && fleet.contains("Needs attention"))
      #expect(try await scene.get("/?q=expired").text.contains("/kiosks/k1"))
      try await scene.kiosk("stock", Self.stock(scene))
      #expect(try await !scene.get("/kiosks/k1").text.contains("take it out"))
      #expect(scene.dashboard.link.fleet["k1"]?.problems.contains(.expired("kiwi")) == false)
    }
  }

  @Test func eachBatchIsShownAlsoBeforeARestock() async throws {
    try await Scene.run { scene in
      try await scene.kiosk("stock", Self.stock(scene, expiresIn: 90))
      let expires = [90, 300].map { minutes in
        ForecastReport.Outlook.Expiry(
          at: Timestamp(milliseconds: scene.now.milliseconds + Int64(minutes) * 60_000),
          amount: minutes / 30)
      }
      let outlook = ForecastReport.Outlook(stock: 3, expires: expires)
      let forecast = ForecastReport(at: scene.now, fruits: ["mango": outlook])
      try await scene.kiosk("forecast", forecast.payload)
      try await scene.authenticate("minji")
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("3 expire ") && page.contains(", 10 "))
      let review = try await scene.post(
        "/kiosks/k1/review", "csrf_token=\(scene.csrfToken)&do=review&add.mango=2&expect.mango=5")
      #expect(review.text.contains("(in the kiosk: 3 expire "))
      #expect(review.text.contains("Fruit that is already in the kiosk keeps its own date."))
      scene.cookieJar[SessionMiddleware.languageCookie] = "ko"
      #expect(try await scene.get("/kiosks/k1").text.contains("만료: 1시간 30분 후 3개, 5시간 후 10개"))
    }
  }

  /// Batches of one day are one amount, and other days have another date.
  @Test func batchesOfLaterDaysHaveTheirDates() async throws {
    try await Scene.run { scene in
      let hours: [Int64] = [49, 50, 74]
      try await scene.kiosk("stock", Self.stock(scene, expiresIn: 49 * 60))
      let times = hours.map { Timestamp(milliseconds: scene.now.milliseconds + $0 * 3_600_000) }
      let outlook = ForecastReport.Outlook(
        stock: 42, expires: times.map { ForecastReport.Outlook.Expiry(at: $0, amount: 10) })
      let forecast = ForecastReport(at: scene.now, fruits: ["mango": outlook])
      try await scene.kiosk("forecast", forecast.payload)
      try await scene.authenticate("vera")
      let localTime = LocalTime(nil, now: scene.now, .english)
      let (first, last) = (localTime.lastDay(times[0]), localTime.lastDay(times[2]))
      #expect(first != last)
      #expect(
        try await scene.get("/kiosks/k1").text.contains("20 expire on \(first), 10 on \(last)"))
    }
  }

  @Test(arguments: [(720, true), (721, false)] as [(Int64, Bool)])
  func fruitThatExpiresWithinTwelveHoursIsShown(minutes: Int64, isShown: Bool) async throws {
    try await Scene.run { scene in
      try await scene.kiosk("stock", Self.stock(scene, expiresIn: minutes))
      try await scene.authenticate("vera")
      #expect(try await scene.get("/").text.contains("Mango expires") == isShown)
      #expect(try await scene.get("/kiosks/k1").text.contains("next expires in 12 h"))
    }
  }

  @Test(arguments: [
    (
      "expired=kiwi.given_away&amount.kiwi=7&amount.mango=1",
      Removal(expired: ["kiwi": 7], reason: .givenAway)
    ),
    (
      "expired=.spoiled&amount.kiwi=7&amount.mango=1",
      Removal(expired: ["kiwi": 7, "mango": 1], reason: .spoiled)
    ),
    (
      "reason=damaged&remove.mango=2&remove.kiwi=",
      Removal(stock: ["mango": 2], reason: .damaged)
    ),
  ])
  func aRemovalGoesOutWithTheUsersName(fields: String, removal: Removal) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let form = "csrf_token=\(scene.csrfToken)&id=d1&\(fields)"
      async let answer = scene.post("/kiosks/k1/remove", form)
      let request = try await scene.nextRequest(.restock)
      #expect(request.command == .remove(removal))
      try await scene.answer(CommandResult(status: .applied), to: request)
      #expect(try await answer.text.contains("Recorded as taken out"))
    }
  }

  @Test(arguments: [
    "", "reason=thrown&remove.kiwi=1", "remove.kiwi=1", "expired=kiwi", "expired=kiwi.spoiled",
    "expired=k/w.spoiled&amount.kiwi=7", "expired=.spoiled", "expired=.spoiled&amount.kiwi=0",
    "expired=kiwi.spoiled&amount.kiwi=0",
    "expired=kiwi.spoiled&amount.kiwi=1000000001", "expired=kiwi.eaten&amount.kiwi=7",
    "reason=spoiled&remove.kiwi=-1", "reason=spoiled&remove.kiwi=x",
  ])
  func aBadRemovalIsNotSent(fields: String) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let form = "csrf_token=\(scene.csrfToken)&id=d1&\(fields)"
      #expect(try await scene.post("/kiosks/k1/remove", form).status == .badRequest)
    }
  }

  @Test func aDateOnThePackageGoesOutInTheKiosksTimeZone() async throws {
    try await Scene.run { scene in
      let sales = SalesReport(
        at: scene.now, timeZone: "Asia/Seoul", today: CivilDate(daysSinceEpoch: 20_778))
      try await scene.kiosk("sales", sales.payload)
      try await scene.authenticate("minji")
      let review = try await scene.post(
        "/kiosks/k1/review", "csrf_token=\(scene.csrfToken)&do=review&add.kiwi=5&add.mango=-1")
      #expect(review.text.contains("name=\"best.kiwi\"") && !review.text.contains("best.mango"))
      let form = "csrf_token=\(scene.csrfToken)&id=d1&add.kiwi=5&best.kiwi="
      for text in ["soon", "05.12.2026", "2026-02-30"] {
        let refused = try await scene.post("/kiosks/k1/restock", form + text)
        #expect(refused.status == .badRequest && refused.text.contains("like 2026-12-05"))
      }
      async let answer = scene.post("/kiosks/k1/restock", form + "2026-12-01T09:00")
      let request = try await scene.nextRequest(.restock)
      #expect(request.id == "d1")
      let time = try #require(Timestamp("2026-12-01T00:00:00Z"))
      #expect(
        request.command
          == .restock(Restock(add: ["kiwi": 5], bestBefore: ["kiwi": time.milliseconds])))
      var result = CommandResult(status: .rejected)
      result.reason = .expired
      try await scene.answer(result, to: request)
      // The form is shown again with its date.
      #expect(try await answer.text.contains("value=\"2026-12-01T09:00\""))
    }
  }

  /// The kiosk determines the end of the day by its own clock.
  @Test func aDayOnThePackageGoesOutAsADay() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let form = "csrf_token=\(scene.csrfToken)&id=d1&add.kiwi=5&best.kiwi="
      async let answer = scene.post("/kiosks/k1/restock", form + "2026-12-05")
      let command = try await scene.nextCommand()
      #expect(
        String(decoding: command.payload, as: UTF8.self)
          .contains(#""best_before":{"kiwi":"2026-12-05"}"#))
      var result = CommandResult(status: .rejected)
      (result.id, result.reason) = ("d1", .expired)
      try await scene.kiosk("restock/minji/result", result.payload, retain: false)
      #expect(
        try await answer.text.contains("type=\"date\" name=\"best.kiwi\" value=\"2026-12-05\""))
    }
  }

  /// The kiosk may have executed the first command, and would not record another date.
  @Test func theDateOfACommandThatMayHaveArrivedDoesNotChange() async throws {
    try await Scene.run(answerTimeout: .zero) { scene in
      try await scene.authenticate("minji")
      let page = try await scene.post(
        "/kiosks/k1/restock",
        "csrf_token=\(scene.csrfToken)&id=d1&add.kiwi=5&add.mango=5&best.kiwi=2026-12-01T09:00"
      ).text
      #expect(page.contains("No answer yet.") && page.contains("name=\"id\" value=\"d1\""))
      #expect(page.contains("type=\"hidden\" name=\"best.kiwi\" value=\"2026-12-01T09:00\""))
      #expect(!page.contains("datetime-local"))
    }
  }

  @Test func nothingTakenOutIsNotSent() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let form = "csrf_token=\(scene.csrfToken)&id=d1&reason=spoiled&remove.kiwi="
      #expect(try await scene.post("/kiosks/k1/remove", form).text.contains("Nothing was recorded"))
    }
  }

  @Test func theSalesCardHasTheWaste() async throws {
    try await Scene.run { scene in
      var tally = SalesReport.Tally()
      tally.waste.add(["kiwi": 7], .spoiled, cost: [Money("3.60", .euro)!])
      var report = SalesReport(
        at: scene.now, timeZone: "UTC", today: CivilDate(daysSinceEpoch: 20_778))
      report.days = [SalesReport.Day(day: CivilDate(daysSinceEpoch: 20_777), tally: tally)]
      try await scene.kiosk("sales", report.payload)
      try await scene.authenticate("vera")
      #expect(try await scene.get("/kiosks/k1").text.contains("Waste in 30 days: €3.60, 7 Kiwi"))
      scene.cookieJar[SessionMiddleware.languageCookie] = "ko"
      #expect(try await scene.get("/kiosks/k1").text.contains("30일 동안 폐기: €3.60, 키위 7개"))
    }
  }
}
