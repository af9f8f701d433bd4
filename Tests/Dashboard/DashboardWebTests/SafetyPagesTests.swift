import Fleet
import HTTPTypes
import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import DashboardWeb

@Suite struct SafetyPagesTests {
  private static func report(_ state: SensorReport.State, silent: Bool = false) -> SensorReport {
    SensorReport(
      state: state, value: 9500, unit: .celsius, maximum: 7000, isSilent: silent,
      fruits: state == .blocked ? ["kiwi"] : [])
  }

  @Test func aBlockIsShownAndAskedAbout() async throws {
    try await Scene.run { scene in
      try await scene.kiosk("sensor/fridge", Self.report(.blocked).payload)
      try await scene.authenticate("vera")
      let seen = try await scene.get("/kiosks/k1").text
      #expect(seen.contains("Blocked by a sensor") && seen.contains("(≤ 7 °C)"))
      #expect(seen.contains("Kiwi blocked by a sensor"))
      #expect(!seen.contains("value=\"discard.fridge\""))
      try await scene.authenticate("minji")
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("value=\"discard.fridge\"") && page.contains("name=\"word.fridge\""))
      let fleet = try await scene.get("/").text
      #expect(fleet.contains("fridge: blocked") && fleet.contains("Needs attention"))
      #expect(try await scene.get("/?q=sensor").text.contains("/kiosks/k1"))
    }
  }

  @Test(arguments: [
    (SensorReport.State.ok, false, false), (.unknown, false, true), (.outside, false, false),
    (.alarm, false, true),
    (.blocked, false, true), (.ok, true, true),
  ])
  func whatNeedsAPersonIsAnAlert(
    state: SensorReport.State, silent: Bool, isAlert: Bool
  ) async throws {
    try await Scene.run { scene in
      try await scene.kiosk("sensor/fridge", Self.report(state, silent: silent).payload)
      #expect(scene.dashboard.link.fleet["k1"]?.problems.contains(.sensor("fridge")) == isAlert)
      try await scene.kiosk("sensor/fridge", [])
      #expect(scene.dashboard.link.fleet["k1"]?.sensors.isEmpty == true)
    }
  }

  /// A state beside a reading that does not show it says why.
  @Test(
    arguments: [
      (.blocked, false, "needs a decision", "확인 필요"), (.alarm, false, "near the limit", "한계에 가까움"),
      (.ok, true, "old reading", "이전 측정값"), (.ok, false, nil, nil),
    ] as [(SensorReport.State, Bool, String?, String?)])
  func aStateUnlikeItsReadingSaysWhy(
    state: SensorReport.State, silent: Bool, english: String?, korean: String?
  ) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      var report = Self.report(state, silent: silent)
      report.value = 6800
      try await scene.kiosk("sensor/fridge", report.payload)
      let limits = "6.8 °C</span> <span class=\"nowrap\">(≤ 7 °C)</span>"
      for (code, words) in [("en", english), ("ko", korean)] {
        scene.cookieJar[SessionMiddleware.languageCookie] = code
        let page = try await scene.get("/kiosks/k1").text
        let card = page.split(separator: "id=\"sensors\"").last ?? ""
        let rest = card.split(separator: limits).dropFirst().first ?? ""
        let reasons = String(rest.split(separator: "</span>").first ?? "")
        if let words {
          #expect(reasons.contains(words))
        } else {
          #expect(rest.hasPrefix("</span>"))
        }
      }
    }
  }

  @Test func aDecisionGoesOutWithItsReasonAndTheUsersName() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let form = "csrf_token=\(scene.csrfToken)&id=d1&decision=release.fridge"
      #expect(try await scene.post("/kiosks/k1/sensor", form).text.contains("write the reason"))
      async let answer = scene.post("/kiosks/k1/sensor", "\(form)&word.fridge=cold+by+hand")
      let request = try await scene.nextRequest(.job)
      #expect(
        request.command
          == .sensor(SensorDecision(sensor: "fridge", choice: .release, word: "cold by hand")))
      try await scene.answer(CommandResult(status: .applied), to: request)
      #expect(try await answer.text.contains("Your decision is recorded"))
      for decision in ["", "release", "keep.fridge", "release.a/b"] {
        let answer = try await scene.post(
          "/kiosks/k1/sensor",
          "csrf_token=\(scene.csrfToken)&id=d1&decision=\(decision)&word.fridge=a")
        #expect(answer.status == .badRequest, "\(decision)")
      }
    }
  }

  /// The card has what a person needs to decide, and after a discard what remains to do.
  @Test func theDecisionShowsTheFactsAndWhatRemains() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      func time(_ minutesAgo: Int64) -> Timestamp {
        Timestamp(milliseconds: scene.now.milliseconds - minutesAgo * 60_000)
      }
      func card() async throws -> String {
        let page = try await scene.get("/kiosks/k1").text
        return String(page.split(separator: "id=\"sensor-decisions\"").last?.prefix(4_000) ?? "")
      }
      func publish(_ kind: SensorStep.Kind, _ seq: Int, minutesAgo: Int64) async throws {
        let step = SensorStep(kind, of: "fridge", value: 9500, unit: .celsius, fruits: ["kiwi"])
        let entry = LedgerEntry(
          seq: seq, epoch: 1, at: time(minutesAgo),
          source: kind == .discard ? Source(kind: .job, name: "anna") : nil, id: nil,
          outcome: .sensor(step))
        try await scene.kiosk("events", entry.payload, retain: false)
      }
      var report = Self.report(.blocked)
      report.since = time(45)
      try await scene.kiosk("sensor/fridge", report.payload)
      try await publish(.ok, 2, minutesAgo: 400)
      try await publish(.alarm, 3, minutesAgo: 95)
      try await publish(.blocked, 4, minutesAgo: 45)
      let warm = try await card()
      #expect(
        warm.contains(
          "<b class=\"nowrap\">9.5 °C</b> <span class=\"nowrap\">(≤ 7 °C)</span> · outside its"))
      #expect(warm.contains(", for at least 1 h 35 min"))
      #expect(warm.contains("Recommended: discard,") && warm.contains("records 10 Kiwi as waste"))
      #expect(
        warm.contains("value=\"discard.fridge\"") && warm.contains("value=\"release.fridge\""))
      try await publish(.discard, 5, minutesAgo: 0)
      var fruits = FruitAmounts(Menu.standard.fruits.map { ($0.id, 10) })
      fruits["kiwi"] = 0
      try await scene.kiosk("stock", StockReport(seq: 5, at: scene.now, fruits: fruits).payload)
      let discarded = try await card()
      #expect(discarded.contains("What remains:") && discarded.contains(", anna. "))
      #expect(!discarded.contains("discard.fridge") && discarded.contains("release.fridge"))
      scene.cookieJar[SessionMiddleware.languageCookie] = "ko"
      #expect(try await card().contains("남은 일:"))
      // Restocked fruit is blocked, too.
      fruits["kiwi"] = 4
      try await scene.kiosk("stock", StockReport(seq: 6, at: scene.now, fruits: fruits).payload)
      #expect(try await card().contains("value=\"discard.fridge\""))
    }
  }

  /// Ten hours without power, after which the thermometer was outside its limits, or within them.
  @Test(arguments: [(36_060, "601", "10 h"), (0, "0", "0 min")])
  func aGapSaysHowMuchOfItCountsAsOutside(
    outside: Int, minutes: String, length: String
  ) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      var step = SensorStep(.gap, of: "fridge", value: 19_000, unit: .celsius)
      (step.gap, step.outsideInGap) = (36_060, outside)
      let entry = LedgerEntry(
        seq: 9, epoch: 1, at: scene.now, source: nil, id: nil, outcome: .sensor(step))
      try await scene.kiosk("sensor/fridge", Self.report(.blocked).payload)
      try await scene.kiosk("events", entry.payload, retain: false)
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("for at least 10 h, counted as outside: \(length)"))
      for path in ["safety", "safety.csv"] {
        async let loaded = scene.get("/kiosks/k1/\(path)?from=2026-11-10")
        for _ in 0..<7 {
          var day = try Self.day(SafetyRequest(payload: try await scene.nextCommand().payload))
          if "\(day.day)" == "2026-11-10" { day.entries = [entry] }
          try await scene.kiosk("report/dashboard/result", day.payload, retain: false)
        }
        let record = try await loaded.text
        #expect(
          record.contains(
            path == "safety"
              ? "19 °C · 601 min · counted as outside: \(minutes) min"
              : ",entry,fridge,,,,\(minutes),,kiosk,sensor_gap,,"))
      }
    }
  }

  @Test func aDiscardThatMustWaitSaysWhatFor() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let form = "csrf_token=\(scene.csrfToken)&id=d1&decision=discard.fridge&word.fridge=warm"
      async let answer = scene.post("/kiosks/k1/sensor", form)
      _ = try await scene.nextCommand()
      let result = CommandResult(
        Rejection(.conflict, "job 2 still has this fruit", id: "d1-discard-fridge"))
      try await scene.kiosk("job/minji/result", result.payload, retain: false)
      #expect(try await answer.text.contains("an open order still has some of the fruit"))
    }
  }

  private static func day(_ request: SafetyRequest) throws -> SafetyDay {
    let at = try #require(Timestamp("\(request.day)T09:00:00Z"))
    let hour = SafetyDay.Hour(
      at: at, low: 4000, high: 9500, secondsOutside: 720, secondsMeasured: 3600)
    // An hour that has just begun, with its first value.
    let next = SafetyDay.Hour(
      at: Timestamp(milliseconds: at.milliseconds + 3_600_000), low: 7100, high: 7100,
      secondsOutside: 0, secondsMeasured: 0)
    let step = SensorStep(
      .discard, of: "fridge", value: 9500, unit: .celsius, fruits: ["kiwi"], word: "too <warm>",
      changes: ["kiwi": -3])
    let entry = LedgerEntry(
      seq: 7, epoch: 1, at: at, source: Source(kind: .job, name: "anna"), id: nil,
      outcome: .sensor(step))
    var restock = LedgerEntry(
      seq: 8, epoch: 1, at: at, source: Source(kind: .restock, name: "anna"), id: nil,
      outcome: .restocked(changes: ["kiwi": 12, "mango": 5]))
    restock.batches = [
      BatchChange(
        BatchID(fruit: "kiwi", number: 8), 12,
        expires: Timestamp(milliseconds: at.milliseconds + 86_400_000))
    ]
    return SafetyDay(
      id: request.id, day: request.day,
      sensors: [
        .init(name: "fridge", unit: .celsius, minimum: nil, maximum: 7000, hours: [hour, next])
      ], entries: [entry, restock])
  }

  @Test(arguments: ["safety", "safety.csv"])
  func theRecordOfAWeekIsReadFromTheKiosk(path: String) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      async let loaded = scene.get("/kiosks/k1/\(path)?from=2026-11-10")
      for day in 10...16 {
        let request = try SafetyRequest(payload: try await scene.nextCommand().payload)
        #expect(request.day.description == "2026-11-\(day)")
        try await scene.kiosk(
          "report/dashboard/result", try Self.day(request).payload, retain: false)
      }
      let page = try await loaded.text
      guard path == "safety" else {
        let lines = page.split(separator: "\r\n")
        #expect(lines.count == 22)
        #expect(lines[3].hasSuffix("kiwi 12 best before 2026-11-11T09:00:00Z, mango 5\""))
        #expect(lines[1] == "2026-11-10,,readings,fridge,°C,4,9.5,12,60,,,,")
        #expect(
          lines[2].hasSuffix(
            #"job/anna,sensor_discard,kiwi -3,"sensor fridge, 9.5 °C, "#
              + #"kiwi, too <warm>, kiwi -3""#))
        return
      }
      #expect(page.contains("<svg class=\"plot\""))
      #expect(page.split(separator: "class=\"column outside\"").count == 15)
      #expect(page.contains("limit: at most 7 °C"))
      #expect(page.contains("<td>4.0</td><td>9.5</td><td>12</td><td>1380</td>"))
      #expect(page.contains("fridge: discarded · 9.5 °C · Kiwi · too &lt;warm&gt;"))
      #expect(page.contains("anna"))
      #expect(page.contains("Kiwi 21"))
      #expect(page.contains("Kiwi +12 (best before 2026-11-11 09:00), Mango +5"))
      // The day on the package, and not the midnight after it.
      let localTime = LocalTime("Asia/Seoul", now: scene.now, .english)
      let midnight = try #require(Timestamp("2026-12-01T15:00:00Z"))
      #expect(localTime.bestBefore(midnight, isFull: true) == "2026-12-01")
      // Other pages write dates without the year.
      #expect(localTime.bestBefore(midnight, isFull: false) == "Dec 1")
      let time = try #require(Timestamp("2026-12-03T15:37:00Z"))
      #expect(localTime.bestBefore(time, isFull: false) == "Dec 4 00:37")
      #expect(!page.contains("has not sent all days"))
      // A week that has not begun lacks no days.
      let later = try await scene.get("/kiosks/k1/safety?from=2036-11-10").text
      #expect(later.contains("Food safety") && !later.contains("has not sent all days"))
      #expect(page.contains("week after") && !later.contains("week after"))
    }
  }

  @Test func theRecordBeginsWithTheLedger() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      let begins = try #require(Timestamp("2026-11-12T12:00:00Z"))
      async let loaded = scene.get("/kiosks/k1/safety?from=2026-11-10")
      for number in 10...16 {
        var day = try Self.day(SafetyRequest(payload: try await scene.nextCommand().payload))
        if number < 12 { day.sensors = [] }
        if number <= 12 { day.begins = begins }
        try await scene.kiosk("report/dashboard/result", day.payload, retain: false)
      }
      let page = try await loaded.text
      #expect(page.contains("The ledger begins on 2026-11-12 "))
      #expect(page.split(separator: "<th scope=\"row\">").count == 6)
      // The first day has fewer minutes.
      #expect(page.split(separator: "<td>1380</td>").count == 5)
    }
  }

  /// The clocks go forward on 29 March and back on 25 October 2026.
  @Test(arguments: [("2026-03-29", 23), ("2026-10-25", 25), ("2026-10-26", 24)])
  func aDayHasTheHoursOfItsTimeZone(date: String, hours: Int) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      let day = try #require(CivilDate(date))
      let sales = SalesReport(at: scene.now, timeZone: "Europe/Berlin", today: day)
      try await scene.kiosk("sales", sales.payload)
      async let loaded = scene.get("/kiosks/k1/safety?from=\(date)")
      for _ in 0..<7 {
        let request = try SafetyRequest(payload: try await scene.nextCommand().payload)
        let midnight = try #require(Timestamp("\(request.day)T00:00:00Z"))
        let measured = (0..<Int64(hours)).map {
          SafetyDay.Hour(
            at: Timestamp(milliseconds: midnight.milliseconds + $0 * 3_600_000), low: 4000,
            high: 5000, secondsOutside: 0, secondsMeasured: 3_600)
        }
        let answer = SafetyDay(
          id: request.id, day: request.day,
          sensors: [
            .init(name: "fridge", unit: .celsius, minimum: nil, maximum: 7000, hours: measured)
          ],
          entries: [])
        try await scene.kiosk("report/dashboard/result", answer.payload, retain: false)
      }
      let page = try await loaded.text
      // Nothing outside, and nothing without a reading.
      let rows = page.split(separator: "<th scope=\"row\">").dropFirst()
      #expect(rows.first?.contains("<td>0</td><td>0</td>") == true)
    }
  }

  /// A kiosk that sends `pages` pages of one day, and no other days.
  @Test(arguments: ["safety", "safety.csv"], [2, 9])
  func aRecordIsWholeOrSaysThatItIsNot(path: String, pages: Int) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      async let loaded = scene.get("/kiosks/k1/\(path)?from=2026-11-10")
      for page in 1...min(pages, 4) {
        let request = try SafetyRequest(payload: try await scene.nextCommand().payload)
        #expect(request.day.description == "2026-11-10" && request.after == (page - 1) * 10)
        var day = try Self.day(request)
        day.next = page < pages ? page * 10 : nil
        try await scene.kiosk("report/dashboard/result", day.payload, retain: false)
      }
      for _ in 0..<6 {
        let request = try SafetyRequest(payload: try await scene.nextCommand().payload)
        let day = SafetyDay(id: request.id, day: request.day, sensors: [], entries: [])
        try await scene.kiosk("report/dashboard/result", day.payload, retain: false)
      }
      let text = try await loaded.text
      let isWhole = pages <= 4
      if path == "safety" {
        #expect(text.contains("Not whole") != isWhole)
        #expect(text.contains(isWhole ? " Kiwi 6</p>" : "at least Kiwi 12</p>"))
      } else {
        let lines = text.split(separator: "\r\n")
        #expect(lines.count { $0.contains("sensor_discard") } == min(pages, 4))
        #expect(
          lines.filter { $0.contains(",incomplete,") }
            == (isWhole
              ? []
              : ["2026-11-10,,incomplete,,,,,,,,,,there is more: see juice-kiosk ledger export"]))
      }
    }
  }

  @Test func theTableSaysWhichDaysTheKioskHasNotSent() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      try await scene.kiosk("status", Array("offline".utf8))
      let text = try await scene.get("/kiosks/k1/safety.csv?from=2026-11-10").text
      #expect(text.split(separator: "\r\n").count { $0.contains(",incomplete,") } == 7)
      let page = try await scene.get("/kiosks/k1/safety?from=2026-11-10").text
      #expect(page.contains("has not sent all days"))
      #expect(page.contains("Taken out or discarded: unknown"))
    }
  }

  @Test func aDayThatIsNoRecordIsRefused() throws {
    for payload in ["{}", #"{"id":"a","day":"2026-11-10","sensors":[]}"#, "7"] {
      #expect(throws: JSONError.self) { try SafetyDay(payload: Array(payload.utf8)) }
    }
    #expect(throws: JSONError.self) {
      try SafetyRequest(payload: Array(#"{"id":"a","day":"x"}"#.utf8))
    }
  }
}

extension KioskState {
  var problems: [Problem.Kind] {
    reports.problems(at: Timestamp(milliseconds: 1_795_251_600_000)).map(\.kind)
  }
}
