import Fleet
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import InMemoryBroker
import JuiceDomain
import KioskMessages
import Logging
import MessageBroker
import Testing

@testable import Dashboard

/// The pages as a browser gets them, with a broker in memory and a kiosk that the test plays.
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
      // The one before is nobody's.
      scene.session = before
      #expect(try await scene.get("/kiosks/k1").status == .seeOther)
      scene.session = after
      #expect(try await scene.get("/kiosks/k1").status == .ok)
    }
  }

  @Test func aSessionEndsByItself() async throws {
    try await Scene.run { scene in
      try await scene.comeIn("minji")
      scene.pass(Sessions.life - .seconds(1))
      #expect(try await scene.get("/kiosks/k1").status == .ok)
      scene.pass(.seconds(1))
      #expect(try await scene.get("/kiosks/k1").status == .seeOther)
    }
  }

  @Test func aFormWithoutProofDoesNothing() async throws {
    try await Scene.run { scene in
      try await scene.comeIn("minji")
      for proof in ["", "proof=", "proof=AAAA", "proof=\(Sessions().proof(for: scene.session))"] {
        for path in ["restock", "review", "service", "panel", "job"] {
          let body = "\(proof)&id=r1&add.kiwi=5&service=closed&juice=kiwi&decision=poured.7"
          #expect(try await scene.post("/kiosks/k1/\(path)", body).status == .forbidden)
        }
        #expect(try await scene.post("/logout", proof).status == .forbidden)
        #expect(
          try await scene.post("/login", proof + "&name=minji&password=strawberries").status
            == .forbidden)
      }
    }
  }

  @Test func aViewerChangesNothing() async throws {
    try await Scene.run { scene in
      try await scene.comeIn("vera")
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("Kiwi"))
      #expect(!page.contains("/kiosks/k1/review"))
      for path in ["restock", "review", "service", "panel", "job"] {
        let answer = try await scene.post(
          "/kiosks/k1/\(path)",
          "proof=\(scene.proof)&id=r1&add.kiwi=5&service=closed&juice=kiwi&decision=poured.7")
        #expect(answer.status == .forbidden)
      }
    }
  }

  @Test func aRestockGoesOutInTheUsersName() async throws {
    try await Scene.run { scene in
      try await scene.comeIn("minji")
      async let answer = scene.post(
        "/kiosks/k1/restock", "proof=\(scene.proof)&id=r1&add.kiwi=5&set.mango=3&expect.mango=10")
      let command = try await scene.nextCommand()
      #expect(command.topic == "kiosk/k1/restock/minji")
      let request = try KioskMessages.Request(kind: .restock, payload: command.payload)
      #expect(request.id == "r1")
      #expect(
        request.command
          == .restock(Restock(add: ["kiwi": 5], set: ["mango": 3], expect: ["mango": 10])))
      var result = CommandResult(status: .applied)
      result.id = "r1"
      result.stock = ["kiwi": 15, "mango": 3]
      try await scene.kiosk("restock/minji/result", result.payload, retain: false)
      #expect(try await answer.text.contains("Done."))
    }
  }

  @Test func aFullStoreIsNotOfferedMore() async throws {
    try await Scene.run { scene in
      try await scene.comeIn("minji")
      let page = try await scene.post(
        "/kiosks/k1/review", "proof=\(scene.proof)&do=review&add.kiwi=95&add.mango=-11"
      ).text
      #expect(page.contains("Kiwi: there is room for 100."))
      #expect(page.contains("Mango: there are only 10."))
      #expect(!page.contains("/kiosks/k1/restock"))
      let filled = try await scene.post(
        "/kiosks/k1/review", "proof=\(scene.proof)&do=fill"
      ).text
      #expect(filled.contains("name=\"add.kiwi\" value=\"90\""))
    }
  }

  @Test func aKioskIsCalledByItsName() async throws {
    try await Scene.run { scene in
      let name = LocalizedName(english: "City hall", korean: "시청", fallback: "City hall")
      let info = KioskInfo(version: "1", startedAt: scene.now, name: name, place: "1 Main Street")
      try await scene.kiosk("info", info.payload)
      try await scene.comeIn("minji")
      let pages = ["/kiosks/k1", "/kiosks/k1/panel", "/kiosks/k1/display"]
      for path in pages {
        let page = try await scene.get(path).text
        #expect(page.firstMatch(of: /<title>.*City hall.*<\/title>/) != nil, "\(path)")
      }
      #expect(try await scene.get("/kiosks/k1").text.contains("k1 · 1 Main Street"))
      #expect(try await scene.get("/?q=main").text.contains(">City hall"))
      #expect(try await scene.get("/?q=harbour").text.contains("No kiosk matches."))
      let review = try await scene.post(
        "/kiosks/k1/review", "proof=\(scene.proof)&do=review&add.kiwi=1"
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
      try await scene.comeIn("minji")
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
      #expect(page.contains("<b>7.00 EUR</b> taken today"))
      #expect(page.contains("in 30 days 14.00 EUR"))
      #expect(page.contains("Kiwi juice <span class=\"muted\">3.50 EUR</span>"))
      for path in ["panel", "display"] {
        #expect(try await scene.get("/kiosks/k1/\(path)").text.contains("3.50 EUR"), "\(path)")
      }
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
      try await scene.comeIn("minji")
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
      scene.pass(FailedLogins.pause)
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

  /// Many who guess at once wear out what strangers may try, wherever they come from; a browser that
  /// has been here is not one of them.
  @Test func aBrowserThatHasLoggedInKeepsItsWayIn() async throws {
    try await Scene.run(DashboardSettings(port: 0, isBehindProxy: true)) { scene in
      let thief = try #require(try await scene.get("/login").session)
      try await scene.comeIn("minji", from: "192.0.2.1")
      #expect(try await scene.post("/logout", "proof=\(scene.proof)").status == .seeOther)
      let owner = scene.cookieJar
      scene.cookieJar = [Doorkeeper.sessionCookie: thief]
      var statuses: [HTTPResponse.Status] = []
      for number in 1...120 {
        statuses.append(
          try await scene.logIn("minji", "guess", from: "203.0.113.\(number)").status)
      }
      #expect(statuses.filter { $0 == .unauthorized }.count == 100)
      #expect(Set(statuses.suffix(20)) == [.tooManyRequests])
      // The right one does not help a stranger.
      #expect(try await scene.logIn("minji", from: "198.51.100.7").status == .tooManyRequests)
      // From anywhere, and from where a guesser is as well.
      scene.cookieJar = owner
      try await scene.comeIn("minji", from: "203.0.113.7")
      #expect(try await scene.get("/kiosks/k1").status == .ok)
    }
  }

  @Test func aKnownBrowserDoesNotGuessForEver() async throws {
    try await Scene.run { scene in
      try await scene.comeIn("minji")
      for _ in 0..<10 {
        #expect(try await scene.logIn("minji", "guess").status == .unauthorized)
      }
      #expect(try await scene.logIn("minji").status == .tooManyRequests)
    }
  }
}
