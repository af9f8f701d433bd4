import CommandLineSupport
import Fleet
import Foundation
import HTTPTypes
import Hummingbird
import InMemoryBroker
import JuiceDomain
import KioskProtocol
import Logging
import MessageBroker
import Testing

@testable import DashboardWeb

/// The pages as a browser receives them, with a broker in memory and a kiosk that the test
/// simulates.
@Suite struct PagesTests {
  @Test func whoIsNotLoggedInSeesNoKiosk() async throws {
    try await Scene.run { scene in
      for path in ["/kiosks/k1", "/live", "/kiosks/k1/live", "/kiosks/k1/panel"] {
        let answer = try await scene.get(path)
        #expect(answer.status == .seeOther)
        #expect(answer.headers[.location]?.hasPrefix("/login?to=") == true)
      }
      #expect(try await scene.get("/").text.contains("name=\"password\""))
    }
  }

  @Test func aLoginMakesANewSession() async throws {
    try await Scene.run { scene in
      let before = try #require(try await scene.get("/login").session)
      scene.session = before
      let answer = try await scene.logIn("minji")
      #expect(answer.status == .seeOther)
      let after = try #require(answer.session)
      #expect(after != before)
      let cookie = try #require(answer.headers[.setCookie])
      for attribute in ["HttpOnly", "SameSite=Lax", "Max-Age=43200"] {
        #expect(cookie.contains(attribute))
      }
      // The previous token has no session.
      scene.session = before
      #expect(try await scene.get("/kiosks/k1").status == .seeOther)
      scene.session = after
      #expect(try await scene.get("/kiosks/k1").status == .ok)
    }
  }

  @Test func aSessionEndsByItself() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      scene.advance(Sessions.lifetime - .seconds(1))
      #expect(try await scene.get("/kiosks/k1").status == .ok)
      scene.advance(.seconds(1))
      #expect(try await scene.get("/kiosks/k1").status == .seeOther)
    }
  }

  @Test func aUserFileThatIsHalfWrittenEndsNoSession() async throws {
    try await Scene.run { scene in
      let path = scene.dashboard.users.path
      let whole = try String(contentsOfFile: path, encoding: .utf8)
      try await scene.authenticate("minji")
      let operatorCookies = scene.cookieJar
      scene.cookieJar = [:]
      try await scene.authenticate("vera")
      try "minji opera".write(toFile: path, atomically: false, encoding: .utf8)
      let seen = try await scene.get("/kiosks/k1")
      #expect(seen.status == .ok && !seen.text.contains("cannot be read"))
      scene.cookieJar = operatorCookies
      let page = try await scene.get("/kiosks/k1")
      #expect(page.status == .ok && page.text.contains("cannot be read"))
      #expect(page.text.contains("\(path):1: "))
      // New logins work, too.
      scene.cookieJar = [:]
      try await scene.authenticate("minji")
      // A part of the file that is valid by itself logs out for as long as it is there.
      let first = whole.split(separator: "\n").first { $0.hasPrefix("vera") } ?? ""
      try "\(first)\n".write(toFile: path, atomically: false, encoding: .utf8)
      #expect(try await scene.get("/kiosks/k1").status == .seeOther)
      try whole.write(toFile: path, atomically: false, encoding: .utf8)
      let after = try await scene.get("/kiosks/k1")
      #expect(after.status == .ok && !after.text.contains("cannot be read"))
    }
  }

  @Test func oneSessionAndOneUserHaveOnlySoManyLivePages() throws {
    let updates = LiveUpdates()
    func open(_ session: String, _ user: User.Name) -> AsyncStream<Void>? {
      updates.subscribe(to: .fleet, session: session, user: user)
    }
    var pages = (0..<LiveUpdates.maximumOfSession).compactMap { _ in open("vera 0", "vera") }
    #expect(pages.count == LiveUpdates.maximumOfSession && open("vera 0", "vera") == nil)
    // Further sessions of the same user.
    for session in 1...100 {
      while let page = open("vera \(session)", "vera") { pages.append(page) }
    }
    #expect(pages.count == LiveUpdates.maximumOfUser)
    #expect(open("minji 0", "minji") != nil)
    // A closed page makes room for another one.
    pages.removeLast()
    #expect(open("vera x", "vera") != nil)
  }

  @Test func aFormWithoutCSRFTokenDoesNothing() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      for csrfToken in [
        "", "csrf_token=", "csrf_token=AAAA",
        "csrf_token=\(Sessions().csrfToken(for: scene.session))",
      ] {
        for path in ["restock", "review", "service", "panel", "job"] {
          let body = "\(csrfToken)&id=r1&add.kiwi=5&service=closed&juice=kiwi&decision=poured.7"
          #expect(try await scene.post("/kiosks/k1/\(path)", body).status == .forbidden)
        }
        #expect(try await scene.post("/logout", csrfToken).status == .forbidden)
        #expect(
          try await scene.post("/login", csrfToken + "&name=minji&password=strawberries").status
            == .forbidden)
      }
    }
  }

  @Test func aViewerChangesNothing() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("Kiwi"))
      #expect(!page.contains("/kiosks/k1/review"))
      for path in ["restock", "review", "service", "panel", "job"] {
        let answer = try await scene.post(
          "/kiosks/k1/\(path)",
          "csrf_token=\(scene.csrfToken)&id=r1&add.kiwi=5&service=closed&juice=kiwi&decision=poured.7"
        )
        #expect(answer.status == .forbidden)
      }
    }
  }

  @Test func aRestockGoesOutInTheUsersName() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      async let answer = scene.post(
        "/kiosks/k1/restock",
        "csrf_token=\(scene.csrfToken)&id=r1&add.kiwi=5&best.kiwi=2026-12-05"
          + "&set.mango=3&expect.mango=10")
      let request = try await scene.nextRequest(.restock)
      #expect(request.id == "r1")
      let day = try #require(CivilDate("2026-12-05")).daysSinceEpoch
      #expect(
        request.command
          == .restock(
            Restock(
              add: ["kiwi": 5], set: ["mango": 3], expect: ["mango": 10],
              bestBeforeDay: ["kiwi": day])))
      var result = CommandResult(status: .applied)
      result.stock = ["kiwi": 15, "mango": 3]
      try await scene.answer(result, to: request)
      let done = try await answer.text
      #expect(done.contains("Done."))
      #expect(done.contains("+5 Kiwi (best before 2026-12-05), −7 Mango."))
      #expect(done.contains(" data-reload=\"/kiosks/k1\">"))
      #expect(try await !scene.get("/kiosks/k1").text.contains("data-reload"))
    }
  }

  private static func publish(_ scene: Scene, kiwi: Int) async throws {
    var fruits = FruitAmounts(Menu.standard.fruits.map { ($0.id, 10) })
    (fruits["kiwi"], fruits["strawberry"]) = (kiwi, 16)
    try await scene.kiosk("stock", StockReport(seq: 2, at: scene.now, fruits: fruits).payload)
    let alert: StockAlert = kiwi == 0 ? .out : kiwi <= 5 ? .low : .ok
    try await scene.kiosk("alert/kiwi", Array(alert.rawValue.utf8))
  }

  @Test func whatIsSoldOutLeadsToItsRestock() async throws {
    try await Scene.run { scene in
      try await Self.publish(scene, kiwi: 0)
      let entry = LedgerEntry(
        seq: 7, epoch: 0, at: scene.now, source: Source(kind: .order, name: "p1"), id: nil,
        outcome: .outOfStock(
          Order(juice: "mango_kiwi"), missing: ["kiwi": 1, "mango": 2, "durian": 3]))
      try await scene.kiosk("events", entry.payload, retain: false)
      try await scene.authenticate("minji")
      let page = try await scene.get("/kiosks/k1").text
      // In the order of the menu, without fruits that are not on it.
      #expect(page.contains("id=\"short-7\" href=\"/kiosks/k1?fruit=kiwi,mango\""))
      #expect(page.contains("<a class=\"chip bad\" href=\"/kiosks/k1?fruit=kiwi\">Kiwi is out</a>"))
      #expect(!page.contains("autofocus") && !page.contains("value=\"now\""))
      #expect(try await scene.get("/").text.contains("href=\"/kiosks/k1?fruit=kiwi\""))

      let form = try await scene.get("/kiosks/k1?fruit=kiwi,mango").text
      #expect(form.contains("name=\"add.kiwi\" value=\"100\" autofocus"))
      #expect(form.components(separatedBy: "autofocus").count == 2)
      #expect(form.components(separatedBy: "value=\"now\"").count == 2)
      #expect(form.contains("name=\"expect.kiwi\" value=\"0\""))
      for odd in ["durian", "", "ki wi", "%3Cb%3E", "a,b,,", "kiwi&fruit=kiwi"] {
        let page = try await scene.get("/kiosks/k1?fruit=\(odd)")
        #expect(page.status == .ok && !page.text.contains("autofocus"), "\(odd)")
      }
      try await scene.authenticate("vera")
      let seen = try await scene.get("/kiosks/k1?fruit=kiwi").text
      #expect(!seen.contains("<form method=\"post\" action=\"/kiosks"))
      #expect(!seen.contains("expect."))
    }
  }

  @Test func aKioskThatRefusesAJuiceIsNotGreen() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      // The default stock: ten of each, and strawberry juice takes sixteen.
      let list = try await scene.get("/").text
      #expect(list.contains("id=\"row-k1\" class=\"kiosk bad\""))
      #expect(
        list.contains("<dt>Not for sale</dt><dd><a href=\"/?q=out&amp;page=1\">1</a></dd>"))
      #expect(list.contains("1 of 7 juices not for sale"))
      #expect(list.contains("href=\"/kiosks/k1?fruit=strawberry\">"))
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("Not for sale: Strawberry juice (Strawberry 10/16)"))
      #expect(page.contains(">Too little Strawberry</a>"))
      scene.cookieJar[SessionMiddleware.languageCookie] = "ko"
      #expect(try await scene.get("/kiosks/k1").text.contains("판매 불가: 딸기쥬스 (딸기 10/16)"))
      scene.cookieJar[SessionMiddleware.languageCookie] = "en"
      let fruits = FruitAmounts(Menu.standard.fruits.map { ($0.id, 16) })
      try await scene.kiosk("stock", StockReport(seq: 2, at: scene.now, fruits: fruits).payload)
      #expect(try await scene.get("/").text.contains("id=\"row-k1\" class=\"kiosk good\""))
      try await scene.kiosk("service", Array("closed".utf8))
      let closed = try await scene.get("/").text
      #expect(closed.contains("id=\"row-k1\" class=\"kiosk warn\""))
      #expect(
        closed.contains(">1</a></dd>") && !closed.contains("not for sale</span>"))
    }
  }

  @Test func aRestockWithoutAReviewExpectsWhatWasShown() async throws {
    try await Scene.run { scene in
      try await Self.publish(scene, kiwi: 0)
      try await scene.authenticate("minji")
      async let answer = scene.post(
        "/kiosks/k1/review",
        "csrf_token=\(scene.csrfToken)&id=r1&do=now&add.kiwi=100&add.mango=0&expect.kiwi=0&expect.mango=10"
      )
      let request = try await scene.nextRequest(.restock)
      #expect(request.id == "r1")
      #expect(
        request.command == .restock(Restock(add: ["kiwi": 100], set: [:], expect: ["kiwi": 0])))
      // Another user was faster: nothing changed, and nothing is offered without room.
      var result = CommandResult(status: .rejected)
      (result.reason, result.stock) = (.conflict, ["kiwi": 100])
      try await Self.publish(scene, kiwi: 100)
      try await scene.answer(result, to: request)
      let page = try await answer.text
      #expect(page.contains("Kiwi: 0 → <strong>100</strong>"))
      #expect(page.contains("Kiwi: the capacity is 100.") && !page.contains("/kiosks/k1/restock"))
    }
  }

  /// A restock that is not plain is reviewed before it is sent.
  @Test(arguments: [
    "add.kiwi=5", "add.kiwi=5&expect.mango=10", "add.kiwi=500&expect.kiwi=10",
    "add.kiwi=-11&expect.kiwi=10", "set.kiwi=5&expect.kiwi=10",
    "add.kiwi=5&expect.kiwi=10&set.mango=3&expect.mango=10", "expect.kiwi=10",
    "add.kiwi=5&expect.kiwi=10&id=no%20id",
  ])
  func aDoubtfulRestockIsReviewed(form: String) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let id = form.contains("id=") ? "" : "&id=r1"
      let answer = try await scene.post(
        "/kiosks/k1/review", "csrf_token=\(scene.csrfToken)&do=now\(id)&\(form)")
      #expect(answer.status == .ok && answer.text.contains("<h1>Review</h1>"))
    }
  }

  @Test func aKioskThatIsAwayIsReviewed() async throws {
    try await Scene.run { scene in
      try await scene.kiosk("status", Array("offline".utf8))
      try await scene.authenticate("minji")
      let page = try await scene.post(
        "/kiosks/k1/review", "csrf_token=\(scene.csrfToken)&do=now&id=r1&add.kiwi=5&expect.kiwi=10"
      ).text
      #expect(
        page.contains("This kiosk is offline") && page.contains("name=\"add.kiwi\" value=\"5\""))
    }
  }

  @Test func theListShowsEachFruitAndWhatIsWrong() async throws {
    try await Scene.run { scene in
      try await Self.publish(scene, kiwi: 3)
      try await scene.authenticate("vera")
      let calm = try await scene.get("/").text
      for fruit in Menu.standard.fruits {
        #expect(calm.contains("<span class=\"hidden\">\(fruit.name[.english]) </span>"))
      }
      // The bar and its mark at the low threshold.
      #expect(calm.contains("d=\"M0 0h30v10H0z\"/><path class=\"mark\" d=\"M50 0v10\"/>"))
      #expect(calm.contains("3<span class=\"hidden\"> / 100</span> <small>low</small>"))
      #expect(calm.contains(">Online<") && !calm.contains("Needs attention"))
      #expect(calm.contains("href=\"/sales?from=2026-11-21&amp;to=2026-11-21\""))

      let health = KioskHealth(
        at: Timestamp(milliseconds: scene.now.milliseconds + 420_000), uptime: 0,
        counters: .init(), memory: nil, queue: 0, service: .open, low: 0, out: 0, ledger: 1,
        diskFree: 9_000_000)
      try await scene.kiosk("service", Array("closed".utf8))
      let info = KioskInfo(version: "1", startedAt: scene.now, menuProblem: "damaged <file>")
      try await scene.kiosk("info", info.payload)
      try await scene.receive("health", health.payload)
      let list = try await scene.get("/").text
      #expect(list.contains("Needs attention") && list.contains("more</span>"))
      let page = try await scene.get("/kiosks/k1").text
      for words in [
        "Clock 7 min ahead", "Disk: 9 MB free", "Closed",
        "title=\"damaged &lt;file&gt;: correct the menu, and send it again\">Menu of the chain not in use",
      ] {
        #expect(page.contains(words), "\(words)")
      }
      #expect(!list.contains(">Online<"))
    }
  }

  /// A kiosk with a sixth fruit keeps the columns of the others.
  @Test func aFurtherFruitStandsBelowTheColumns() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      let plum = Fruit(id: "plum", name: LocalizedName(fallback: "Plum"))
      let menu = try Menu(fruits: Menu.standard.fruits + [plum], juices: Menu.standard.juices)
      let fruits = FruitAmounts(menu.fruits.map { ($0.id, 7) })
      let payload = MenuReport(menu: menu, capacities: fruits, lowMarks: [:]).payload
      try await scene.kiosk("status", Array("online".utf8), of: "k2")
      try await scene.kiosk("menu", payload, of: "k2")
      try await scene.kiosk(
        "stock", StockReport(seq: 1, at: scene.now, fruits: fruits).payload, of: "k2")
      let row = try await scene.get("/?q=k2").text
      #expect(row.contains("<span>Mango</span>") && row.contains("<span>Plum</span>"))
      let list = try await scene.get("/").text
      #expect(!list.contains("<span>Plum</span>"))
      #expect(list.contains("<span class=\"stock\"><span class=\"levels\">"))
      #expect(list.contains(" <span class=\"fruit-name\">Plum</span>"))
      #expect(!list.contains("<span class=\"fruit-name\">Mango</span>"))
    }
  }

  /// A fruit of which some is left is short, not out, and no stockout is expected of it.
  @Test func whatIsShortIsNotExpectedToRunOut() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      var fruits = FruitAmounts(Menu.standard.fruits.map { ($0.id, 20) })
      fruits["strawberry"] = 6
      try await scene.kiosk("stock", StockReport(seq: 2, at: scene.now, fruits: fruits).payload)
      try await scene.kiosk("alert/strawberry", Array("out".utf8))
      func outlook(_ fruit: Fruit.ID, _ minutes: Int64) -> (Fruit.ID, ForecastReport.Outlook) {
        let empty = Timestamp(milliseconds: scene.now.milliseconds + minutes * 60_000)
        return (
          fruit, ForecastReport.Outlook(stock: fruits[fruit] ?? 0, perHour: 2, emptyAt: empty)
        )
      }
      let forecast = ForecastReport(
        at: scene.now,
        fruits: Dictionary(uniqueKeysWithValues: [outlook("strawberry", 35), outlook("kiwi", 90)]))
      try await scene.kiosk("forecast", forecast.payload)
      let list = try await scene.get("/").text
      #expect(list.contains("<small>left</small>") && !list.contains("<small>out</small>"))
      #expect(list.contains("Kiwi <span class=\"key\">out</span> in 1 h 30 min"))
      #expect(!list.contains("in 35 min"))
      scene.cookieJar[SessionMiddleware.languageCookie] = "ko"
      #expect(
        try await scene.get("/").text.contains("키위 1시간 30분 후 <span class=\"key\">품절</span>"))
    }
  }

  /// Kiosks with different menus: one with too many fruits to show, one without a menu.
  @Test func otherMenusHaveTheirNamesInTheRow() throws {
    var fleet = KioskFleet(root: "kiosk")
    func publish(_ topic: String, _ payload: [UInt8]) {
      fleet.receive(
        topic: "kiosk/\(topic)", payload: payload, isRetained: true, at: Timestamp(milliseconds: 0))
    }
    func stock(_ count: Int) throws -> (menu: [UInt8], stock: [UInt8]) {
      let fruits = (1...count).map { number in
        Fruit(
          id: Fruit.ID("fruit\(number)") ?? "none",
          name: LocalizedName(fallback: "Fruit \(number)"))
      }
      let amounts = FruitAmounts(fruits.map { ($0.id, 5) })
      let juice = Juice(
        id: "juice", name: LocalizedName(fallback: "Juice"),
        recipe: try Recipe([fruits[0].id: 1]))
      let menu = try Menu(fruits: fruits, juices: [juice])
      return (
        MenuReport(menu: menu, capacities: amounts, lowMarks: [:]).payload,
        StockReport(seq: 1, at: Timestamp(milliseconds: 0), fruits: amounts).payload
      )
    }
    func page() -> String {
      FleetPage(
        fleet: fleet, connectionError: nil, now: Timestamp(milliseconds: 0), language: .english
      ).liveParts.map(\.html.text).joined()
    }
    publish("new/status", Array("online".utf8))
    #expect(page().contains("id=\"row-new\"") && page().contains("Made today (+ 1 unknown)"))
    #expect(page().contains("<dt>Kiosk</dt>"))
    for (id, count) in [("a", 10), ("b", 10)] {
      let (menu, stock) = try stock(count)
      publish("\(id)/status", Array("offline".utf8))
      publish("\(id)/menu", menu)
      publish("\(id)/stock", stock)
    }
    #expect(page().contains("<span>Fruit 10</span>") && !page().contains("fruit-name"))
    let (menu, stock) = try stock(100)
    publish("b/menu", menu)
    publish("b/stock", stock)
    publish("b/alert/fruit77", Array("out".utf8))
    let mixed = page()
    #expect(mixed.contains("<span>Fruit 10</span>") && mixed.contains("class=\"levels own\""))
    #expect(mixed.contains("Fruit 77") && mixed.contains(">+76</span>"))
    #expect(!mixed.contains("Fruit 24<") && mixed.contains("Fruit 23<"))
  }

  @Test func aFullStoreIsNotOfferedMore() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let page = try await scene.post(
        "/kiosks/k1/review", "csrf_token=\(scene.csrfToken)&do=review&add.kiwi=95&add.mango=-11"
      ).text
      #expect(page.contains("Kiwi: the capacity is 100."))
      #expect(page.contains("Mango: there are only 10."))
      #expect(page.contains("href=\"/kiosks/k1?add.kiwi=95&amp;add.mango=-11\">Back"))
      #expect(!page.contains("/kiosks/k1/restock"))
      let filled = try await scene.post(
        "/kiosks/k1/review", "csrf_token=\(scene.csrfToken)&do=fill"
      ).text
      #expect(filled.contains("name=\"add.kiwi\" value=\"90\""))
    }
  }

  @Test func aKioskIsCalledByItsName() async throws {
    try await Scene.run { scene in
      let name = LocalizedName(english: "City hall", korean: "시청", fallback: "City hall")
      let info = KioskInfo(version: "1", startedAt: scene.now, name: name, place: "1 Main Street")
      try await scene.kiosk("info", info.payload)
      try await scene.authenticate("minji")
      let pages = ["/kiosks/k1", "/kiosks/k1/panel", "/kiosks/k1/display"]
      for path in pages {
        let page = try await scene.get(path).text
        #expect(page.firstMatch(of: /<title>.*City hall.*<\/title>/) != nil, "\(path)")
      }
      #expect(try await scene.get("/kiosks/k1").text.contains("k1 · 1 Main Street"))
      #expect(try await scene.get("/?q=main").text.contains(">City hall"))
      #expect(try await scene.get("/?q=harbour").text.contains("No kiosk matches."))
      let review = try await scene.post(
        "/kiosks/k1/review", "csrf_token=\(scene.csrfToken)&do=review&add.kiwi=1"
      ).text
      #expect(review.contains("← City hall"))
    }
  }

  @Test func pricesAndTakingsAreShown() async throws {
    let price = Money(units: 350, try #require(Currency("EUR")))
    var tally = SalesReport.Tally()
    tally.made = ["kiwi": 2]
    tally.takings.add(price.times(2), for: "kiwi")
    let (juice, sold) = (try #require(Menu.standard.juice("kiwi")), tally)
    let menu = try Menu(
      fruits: Menu.standard.fruits,
      juices: [Juice(id: juice.id, name: juice.name, recipe: juice.recipe, price: price)])
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      #expect(try await !scene.get("/kiosks/k1").text.contains("taken today"))
      try await scene.kiosk(
        "menu", MenuReport(menu: menu, capacities: ["kiwi": 9], lowMarks: ["kiwi": 1]).payload)
      let today = CivilDate(year: 2026, month: 11, day: 21)
      let sales = SalesReport(
        at: scene.now, timeZone: "GMT", today: today,
        hours: [SalesReport.Hour(hour: 9, tally: sold)],
        days: [today, CivilDate(year: 2026, month: 11, day: 20)].map {
          SalesReport.Day(day: $0, tally: sold)
        })
      try await scene.kiosk("sales", sales.payload)
      let entry = LedgerEntry(
        seq: 2, epoch: 1, at: scene.now, source: nil, id: nil,
        outcome: .ready(Order(juice: "kiwi"), used: ["kiwi": 1], ticket: Ticket(day: 0, number: 1)),
        amount: price)
      try await scene.kiosk("events", entry.payload, retain: false)
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("<b>€7.00</b> value today"))
      #expect(page.contains("in 30 days €14.00"))
      #expect(page.contains("Kiwi juice <span class=\"muted\">€3.50</span>"))
      for path in ["panel", "display"] {
        #expect(try await scene.get("/kiosks/k1/\(path)").text.contains("€3.50"), "\(path)")
      }
    }
  }

  /// The menu lacks a juice: its name is that of another kiosk that the user may see, or of the kiosk's
  /// own file.
  @Test func aJuiceThatLeftTheMenuKeepsItsName() async throws {
    try await Scene.run { scene in
      let password = try User.test("vera", .viewer).password
      try scene.dashboard.users.update { users in
        users["rita"] = User(name: "rita", role: .viewer, password: password, regions: ["North"])
      }
      let whole = MenuReport(menu: .standard, capacities: [:], lowMarks: [:])
      let juices = Menu.standard.juices.filter { $0.id != "banana" }
      let menu = try Menu(fruits: Menu.standard.fruits, juices: juices)
      for (kiosk, region, report) in [
        ("k1", "North", MenuReport(menu: menu, capacities: [:], lowMarks: [:])),
        ("k2", "South", whole),
      ] as [(KioskID, String, MenuReport)] {
        let info = KioskInfo(version: "1", startedAt: scene.now, region: region)
        try await scene.kiosk("status", Array("online".utf8), of: kiosk)
        try await scene.kiosk("info", info.payload, of: kiosk)
        try await scene.kiosk("menu", report.payload, of: kiosk)
      }
      let entry = LedgerEntry(
        seq: 2, epoch: 1, at: scene.now, source: nil, id: nil,
        outcome: .ready(
          Order(juice: "banana"), used: ["banana": 2], ticket: Ticket(day: 0, number: 1)))
      try await scene.kiosk("events", entry.payload, retain: false)
      for (user, isShown) in [("vera", true), ("rita", false)] {
        try await scene.authenticate(user)
        #expect(
          try await scene.get("/kiosks/k1").text.contains("Banana juice") == isShown, "\(user)")
      }
      let settings = SettingsReport(stored: nil, file: whole, fileHours: nil)
      try await scene.kiosk("settings", settings.payload)
      #expect(try await scene.get("/kiosks/k1").text.contains("Banana juice"))
    }
  }

  @Test func whatAKioskSaysIsNeverMarkup() async throws {
    try await Scene.run { scene in
      let evil = "<img src=x onerror=alert(1)>\"'"
      let name = LocalizedName(english: evil, fallback: evil)
      let menu = try Menu(
        fruits: [Fruit(id: "kiwi", name: name)],
        juices: [Juice(id: "kiwi", name: name, recipe: Recipe(["kiwi": 1]))])
      try await scene.kiosk(
        "menu", MenuReport(menu: menu, capacities: ["kiwi": 9], lowMarks: ["kiwi": 1]).payload)
      let entry = LedgerEntry(
        seq: 2, epoch: 0, at: scene.now, source: Source(kind: .order, name: evil), id: nil,
        outcome: .ready(Order(juice: "kiwi"), used: ["kiwi": 1], ticket: Ticket(day: 0, number: 1)))
      try await scene.kiosk("events", entry.payload, retain: false)
      let info = KioskInfo(version: evil, startedAt: scene.now, name: name, place: evil)
      try await scene.kiosk("info", info.payload)
      try await scene.authenticate("minji")
      for path in [
        "/", "/?q=\(evil.percentEncoded)", "/kiosks/k1", "/kiosks/k1/panel", "/kiosks/k1/display",
      ] {
        let page = try await scene.get(path)
        #expect(page.status == .ok)
        #expect(!page.text.contains("<img src=x"), "\(path)")
      }
      #expect(try await scene.get("/kiosks/k1").text.contains("&lt;img src=x"))
    }
  }

  @Test func everyPageKeepsToItself() async throws {
    try await Scene.run { scene in
      for path in ["/", "/login", "/nowhere", "/kiosks/k1"] {
        let headers = try await scene.get(path).headers
        let policy = try #require(headers[.contentSecurityPolicy])
        #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
        #expect(headers[.xContentTypeOptions] == "nosniff")
        #expect(headers[.cacheControl] == "no-store")
      }
      #expect(try await scene.get("/nowhere").status == .notFound)
    }
  }

  @Test func wrongPasswordsAreThrottled() async throws {
    try await Scene.run { scene in
      scene.session = try #require(try await scene.get("/login").session)
      for _ in 0..<10 {
        #expect(try await scene.logIn("minji", "wrong-password").status == .unauthorized)
      }
      let answer = try await scene.logIn("minji")
      #expect(answer.status == .tooManyRequests)
      #expect(answer.headers[.retryAfter] != nil)
      scene.advance(FailedLogins.pause)
      #expect(try await scene.logIn("minji").status == .seeOther)
    }
  }

  @Test func whoGuessesElsewhereLocksNobodyOut() async throws {
    try await Scene.run(DashboardSettings(port: 0, isBehindProxy: true)) { scene in
      scene.session = try #require(try await scene.get("/login").session)
      for _ in 0..<10 {
        let guess = try await scene.logIn("minji", "guess", from: "192.0.2.1")
        #expect(guess.status == .unauthorized)
      }
      #expect(try await scene.logIn("minji", from: "192.0.2.1").status == .tooManyRequests)
      #expect(try await scene.logIn("minji", from: "198.51.100.7").status == .seeOther)
    }
  }

  /// Many simultaneous guesses use up the attempts of unknown browsers at all addresses; a browser
  /// that has logged in before is not affected.
  @Test func aBrowserThatHasLoggedInKeepsItsWayIn() async throws {
    try await Scene.run(DashboardSettings(port: 0, isBehindProxy: true)) { scene in
      let thief = try #require(try await scene.get("/login").session)
      try await scene.authenticate("minji", from: "192.0.2.1")
      #expect(try await scene.post("/logout", "csrf_token=\(scene.csrfToken)").status == .seeOther)
      let owner = scene.cookieJar
      scene.cookieJar = [SessionMiddleware.sessionCookie: thief]
      var statuses: [HTTPResponse.Status] = []
      for number in 1...120 {
        statuses.append(
          try await scene.logIn("minji", "guess", from: "203.0.113.\(number)").status)
      }
      #expect(statuses.filter { $0 == .unauthorized }.count == 100)
      #expect(Set(statuses.suffix(20)) == [.tooManyRequests])
      // The right password does not help an unknown browser.
      #expect(try await scene.logIn("minji", from: "198.51.100.7").status == .tooManyRequests)
      // Works from any address, including one that guesses come from.
      scene.cookieJar = owner
      try await scene.authenticate("minji", from: "203.0.113.7")
      #expect(try await scene.get("/kiosks/k1").status == .ok)
    }
  }

  @Test func aKnownBrowserDoesNotGuessForEver() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      for _ in 0..<10 {
        #expect(try await scene.logIn("minji", "guess").status == .unauthorized)
      }
      #expect(try await scene.logIn("minji").status == .tooManyRequests)
    }
  }

  @Test func aFormOutlivesItsSession() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let forms = [
        (
          "/kiosks/k1/review", "do=review&add.kiwi=5&add.mango=0&set.banana=7&set.mango=0",
          "/kiosks/k1"
        ),
        (
          "/kiosks/k1/restock", "id=r1&add.kiwi=5&set.banana=7&set.mango=0&expect.banana=10",
          "/kiosks/k1"
        ),
      ]
      for (path, fields, page) in forms {
        let token = scene.csrfToken
        scene.dashboard.sessions.end(scene.session)
        let answer = try await scene.post(path, "csrf_token=\(token)&\(fields)")
        let login = try #require(answer.headers[.location])
        let target = "\(page)?add.kiwi=5&set.banana=7&set.mango=0"
        #expect(login == "/login?to=\(target.percentEncoded)")
        #expect(
          try await scene.get(login).text.contains(
            "value=\"\(target.replacing("&", with: "&amp;"))\""))
        try await scene.authenticate("minji")
        let form = try await scene.get(target)
        #expect(form.status == .ok)
        #expect(form.text.contains("name=\"add.kiwi\" value=\"5\""))
        #expect(form.text.contains("name=\"set.banana\" value=\"7\""))
        #expect(form.text.contains("name=\"set.mango\" value=\"0\""))
        #expect(form.text.contains("Your numbers are still here."))
        // An address that fills in numbers gets no button without a review.
        #expect(try await !scene.get("\(target)&fruit=kiwi").text.contains("value=\"now\""))
        // The page of another session: nothing is sent, and the form can be opened again.
        let forged = try await scene.post(path, "csrf_token=old&\(fields)")
        #expect(forged.status == .forbidden)
        #expect(
          forged.text.contains(
            "href=\"\(target.replacing("&", with: "&amp;"))\">Open the form again"))
      }
      for (path, page) in [
        ("/kiosks/k1/job", "/kiosks/k1"), ("/kiosks/k1/service", "/kiosks/k1"),
        ("/routes", "/routes/new"), ("/kiosks/k1/panel", "/kiosks/k1/panel"),
        ("/routes/r1/delete", "/routes/r1"), ("/routes/r1/kiosks/k1", "/routes/r1/kiosks/k1"),
      ] {
        scene.dashboard.sessions.end(scene.session)
        let long = String(repeating: "1", count: 9_000)
        let answer = try await scene.post(path, "csrf_token=x&password=secret&q=\(long)")
        #expect(answer.headers[.location] == "/login?to=\(page.percentEncoded)")
      }
      let odd = "/kiosks/k1?add.kiwi=%3Cb%3E&set.kiwi=99999999999999999999&add.mango=1%202"
      try await scene.authenticate("minji")
      #expect(try await scene.get(odd).text.contains("name=\"add.mango\" value=\"12\""))
    }
  }

  /// The numbers are still in the form that the page opens again, also the one that is none.
  @Test(arguments: [
    ("review", "add.kiwi", "add.mango"), ("review", "set.kiwi", "add.mango"),
    ("remove", "remove.kiwi", "remove.mango"),
  ])
  func aNumberThatIsTooLargeIsNamedAndStays(path: String, large: String, other: String)
    async throws
  {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let answer = try await scene.post(
        "/kiosks/k1/\(path)",
        "csrf_token=\(scene.csrfToken)&id=r1&reason=damaged&\(large)=99999999999&\(other)=7")
      #expect(answer.status == .badRequest)
      #expect(answer.text.contains("“99999999999” is not a whole number from"))
      let link = try #require(answer.text.firstMatch(of: /href="([^"]*)">Open the form again/))
      let form = try await scene.get(
        String(link.output.1).replacing("&amp;", with: "&")
      ).text
      #expect(form.contains("name=\"\(large)\" value=\"99999999999\""))
      #expect(form.contains("name=\"\(other)\" value=\"7\""))
    }
  }

  /// A command would wait ten minutes for its answer.
  @Test func withoutABrokerNothingIsSentAndThePageSaysSoAtOnce() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let route = try await scene.post(
        "/routes",
        "csrf_token=\(scene.csrfToken)&arrival=2026-11-22T08:00&until=2026-11-24T08:00&margin=20&kiosk.k1=1"
      )
      let stop = "\(try #require(route.headers[.location]))/kiosks/k1"
      try await scene.stopBroker()
      for (path, fields, target) in [
        ("/kiosks/k1/restock", "id=r1&add.kiwi=5", "/kiosks/k1?add.kiwi=5"),
        ("/kiosks/k1/service", "id=r2&service=closed", "/kiosks/k1"),
        ("/kiosks/k1/job", "id=r3&decision=again.7", "/kiosks/k1"),
        (stop, "id=r4&brought.kiwi=7", "\(stop)?brought.kiwi=7"),
      ] {
        let answer = try await scene.post(path, "csrf_token=\(scene.csrfToken)&\(fields)")
        #expect(answer.status == .serviceUnavailable)
        #expect(answer.text.contains("Nothing was sent"), "\(path)")
        #expect(answer.text.contains("href=\"\(target)\">Open the form again"), "\(path)")
      }
      // The stop was not recorded as sent.
      #expect(try await scene.get(stop).text.contains("data-outcome=\"open\""))
      let reason = try #require(scene.dashboard.link.connectionError).description
      let order = try await scene.post(
        "/kiosks/k1/panel", "csrf_token=\(scene.csrfToken)&id=o1&juice=kiwi")
      #expect(order.status == .ok && order.text.contains("Your order was not sent."))
      for page in [order.text, try await scene.get("/kiosks/k1/panel").text] {
        #expect(page.contains("Out of service at the moment.") && !page.contains(reason))
      }
      // The operator sees the reason.
      #expect(try await scene.get("/kiosks/k1").text.contains(reason))
      scene.cookieJar[SessionMiddleware.languageCookie] = "ko"
      let korean = try #require(scene.dashboard.link.connectionError).text(.korean)
      for path in ["/", "/kiosks/k1"] {
        #expect(try await scene.get(path).text.contains(korean), "\(path)")
      }
    }
  }

  @Test func aRestockCanBeUndoneForTenMinutes() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      func publish(_ seq: Int, _ id: String?, minutesAgo: Int64, _ changes: FruitAmounts)
        async throws
      {
        let entry = LedgerEntry(
          seq: seq, epoch: 7,
          at: Timestamp(milliseconds: scene.now.milliseconds - minutesAgo * 60_000),
          source: Source(kind: .restock, name: "minji"), id: id.flatMap { CommandID($0) },
          outcome: .restocked(changes: changes))
        try await scene.kiosk("events", entry.payload, retain: false)
      }
      try await publish(3, "r1", minutesAgo: 10, ["kiwi": 4])
      try await publish(4, nil, minutesAgo: 9, ["kiwi": 5, "mango": -2])
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("id=\"undo-4\"") && !page.contains("id=\"undo-3\""))
      async let answer = scene.post("/kiosks/k1/undo", "csrf_token=\(scene.csrfToken)&undo=4")
      let request = try await scene.nextRequest(.restock)
      #expect(request.id == "undo-7-4")
      #expect(request.command == .restock(Restock(add: ["kiwi": -5, "mango": 2])))
      try await scene.answer(CommandResult(status: .applied), to: request)
      #expect(try await answer.text.contains("counter-entry: −5 Kiwi, +2 Mango."))
      try await publish(5, "undo-7-4", minutesAgo: 0, ["kiwi": -5, "mango": 2])
      let after = try await scene.get("/kiosks/k1").text
      #expect(after.contains("undoes #4") && !after.contains("id=\"undo-4\""))
      for (seq, words) in [
        ("3", "cannot be undone any more"), ("4", "Entry #4 is undone."),
        ("99", "cannot be undone any more"),
      ] {
        let refused = try await scene.post(
          "/kiosks/k1/undo", "csrf_token=\(scene.csrfToken)&undo=\(seq)")
        #expect(refused.text.contains(words))
      }
      try await scene.authenticate("vera")
      #expect(try await !scene.get("/kiosks/k1").text.contains("name=\"undo\""))
    }
  }

  @Test func anExpectedTimeThatHasPassedIsNow() async throws {
    try await Scene.run { scene in
      try await Self.publish(scene, kiwi: 3)
      let emptyAt = Timestamp(milliseconds: scene.now.milliseconds - 25 * 60_000)
      let report = ForecastReport(
        at: scene.now, fruits: ["kiwi": .init(stock: 3, perHour: 1, emptyAt: emptyAt)])
      try await scene.kiosk("forecast", report.payload)
      try await scene.authenticate("vera")
      for page in [try await scene.get("/").text, try await scene.get("/kiosks/k1").text] {
        #expect(!page.contains("25 min ago"))
        #expect(page.contains("out</span> now") || page.contains("runs out now"))
      }
    }
  }

  /// A time is `14:05`, after its day if that is not today.
  @Test func allPagesWriteTimesInTheSameForm() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      func time(hours: Int64) -> Timestamp {
        Timestamp(milliseconds: scene.now.milliseconds + hours * 3_600_000)
      }
      var clean = MachineReport.Program(.clean)
      (clean.dueAt, clean.last) = (time(hours: 30), time(hours: -3))
      let machine = MachineReport(
        state: .idle, queue: 0, juices: ["kiwi"], jobs: [], ready: [], programs: [clean])
      try await scene.kiosk("machine/bar", machine.payload)
      let route = try await scene.post(
        "/routes",
        "csrf_token=\(scene.csrfToken)&arrival=2026-11-22T08:00&until=2026-11-24T08:00&margin=20&kiosk.k1=1"
      )
      let path = try #require(route.headers[.location])
      let form = /(?:[A-Z][a-z]{2} \d{1,2} |\d{1,2}월 \d{1,2}일 )?\d{2}:\d{2}/
      for (language, due) in [("en", "Nov 22 15:00"), ("ko", "11월 22일 15:00")] {
        scene.cookieJar[SessionMiddleware.languageCookie] = language
        var shown: Set<String> = []
        for page in ["/kiosks/k1", "/kiosks/k1/history", "/history", "/account", path] {
          let text = try await scene.get(page).text
          let times = text.matches(of: /<time [^>]*>([^<]*)</).map { String($0.1) }
          let others = times.filter { $0.wholeMatch(of: form) == nil }
          #expect(others.isEmpty, "\(page): \(others)")
          shown.formUnion(times)
        }
        #expect(shown.isSuperset(of: [due, "06:00"]), "\(shown)")
      }
    }
  }

  @Test func aTileFiltersTheList() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      let page = try await scene.get("/").text
      #expect(
        page.contains("<dt>Not for sale</dt><dd><a href=\"/?q=out&amp;page=1\">1</a></dd>"))
      #expect(page.contains("data-problems=\"1\""))
      #expect(try await scene.get("/?q=out&page=1").text.contains("id=\"row-k1\""))
      #expect(try await scene.get("/?q=offline&page=1").text.contains("No kiosk matches."))
    }
  }

  @Test func theStockOfAnOfflineKioskHasItsTime() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      #expect(try await !scene.get("/kiosks/k1").text.contains("As of"))
      try await scene.kiosk("status", Array("offline".utf8))
      for user in ["minji", "vera"] {
        try await scene.authenticate(user)
        let page = try await scene.get("/kiosks/k1").text
        #expect(page.contains("data-away"), "\(user)")
        #expect(
          page.contains("As of <time datetime=\""), "\(user)"
        )
      }
    }
  }
}
