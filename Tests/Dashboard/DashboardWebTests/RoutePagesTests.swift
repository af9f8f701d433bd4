import CommandLineSupport
import Fleet
import Foundation
import HTTPTypes
import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import DashboardWeb

/// Routes, from the plan to the kiosk that the test simulates.
@Suite struct RoutePagesTests {
  /// The times of the plan, relative to the scene's: 2026-11-21T09:00 in UTC.
  private static let times =
    "arrival=2026-11-22T08:00&until=2026-11-24T08:00&margin=20&fill=capacity"

  /// Creates a route for k1.
  ///
  /// - Returns: The path of the route.
  private static func createRoute(_ scene: Scene) async throws -> String {
    let answer = try await scene.post(
      "/routes", "csrf_token=\(scene.csrfToken)&\(times)&kiosk.k1=1")
    #expect(answer.status == .seeOther)
    let path = try #require(answer.headers[.location])
    #expect(path.hasPrefix("/routes/r"))
    return path
  }

  /// Changes a route to one that was created a day earlier.
  private static func makeOlder(_ path: String, in scene: Scene) async throws {
    let id = try #require(Route.ID(path.dropFirst("/routes/".count)))
    _ = try await scene.dashboard.routes.change(id) { route in
      route = Route(
        id: route.id,
        createdAt: Timestamp(milliseconds: route.createdAt.milliseconds - 86_400_000),
        createdBy: route.createdBy, plan: route.plan, timeZone: route.timeZone,
        stops: route.stops)
    }
  }

  private static func field(_ name: String, in page: String) throws -> String {
    let start = try #require(page.range(of: "name=\"\(name)\" value=\""))
    return String(page[start.upperBound...].prefix { $0 != "\"" })
  }

  /// Posts a stop and answers it in the kiosk's name.
  private static func confirm(
    _ scene: Scene, _ path: String, _ body: String, _ status: CommandResult.Status,
    _ reason: RejectionReason? = nil, stock: FruitAmounts = [:], seq: Int? = nil,
    as user: String = "minji"
  ) async throws -> (page: String, request: KioskProtocol.Request) {
    async let page = scene.post("\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&\(body)")
    let command = try await scene.nextCommand()
    #expect(command.topic == "kiosk/k1/restock/\(user)")
    let request = try KioskProtocol.Request(kind: .restock, payload: command.payload)
    var result = CommandResult(status: status)
    (result.id, result.reason, result.stock, result.seq) = (request.id, reason, stock, seq)
    try await scene.kiosk("restock/\(user)/result", result.payload, retain: false)
    return (try await page.text, request)
  }

  @Test func theRecordOfWhoDidWhatNamesTheKiosksOfARoute() async throws {
    try await Scene.run { scene in
      let name = LocalizedName(english: "Town hall", korean: "구청", fallback: "")
      let info = KioskInfo(version: "1", startedAt: scene.now, name: name)
      try await scene.kiosk("info", info.payload)
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      for change in ["edit", "delete"] {
        let answer = try await scene.post(
          "\(path)/\(change)", "csrf_token=\(scene.csrfToken)&name=South&order.k1=1&sure=1")
        #expect(answer.status == .seeOther, "\(change)")
      }
      let records = await scene.dashboard.activity.records(since: scene.now) { $0.kind == .actions }
      let actions = records.records.compactMap { record -> [String?]? in
        guard case .action(let action) = record.event, !action.isLogin else { return nil }
        return [action.user, action.verb.rawValue, action.detail, action.koreanDetail]
      }
      #expect(
        Set(actions) == [
          ["minji", "planned_route", "Town hall", "구청"],
          ["minji", "changed_route", "South: Town hall", "South: 구청"],
          ["minji", "deleted_route", "South: Town hall", "South: 구청"],
        ])
    }
  }

  @Test func aRouteIsPlannedAndDriven() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await scene.kiosk("alert/kiwi", Array("low".utf8))
      let form = try await scene.get("/routes/new").text
      #expect(form.contains("name=\"kiosk.k1\" value=\"1\" checked"))
      #expect(form.contains("value=\"2026-11-22T08:00\""))
      let path = try await Self.createRoute(scene)
      let route = try await scene.get(path).text
      // Five fruits, each with room for 90.
      #expect(route.contains("Kiwi</th><td>90</td>"))
      let stop = try await scene.get("\(path)/kiosks/k1").text
      let id = try Self.field("id", in: stop)
      #expect(try Self.field("ledger.kiwi", in: stop) == "10")
      #expect(try Self.field("brought.kiwi", in: stop) == "90")
      let body =
        "id=\(id)&brought.kiwi=80&brought.mango=0&counted.mango=7&counted.kiwi=&ledger.mango=10&ledger.kiwi=10&best.kiwi=2026-12-05&best.mango=2026-12-06&best.banana="
      let (done, request) = try await Self.confirm(scene, path, body, .applied)
      // Only the counted fruit has an expected stock.
      #expect(
        request.command
          == .restock(
            Restock(
              add: ["kiwi": 80], set: ["mango": 7], expect: ["mango": 10],
              bestBeforeDay: ["kiwi": try #require(CivilDate("2026-12-05")).daysSinceEpoch])))
      let wrong = try await scene.post(
        "\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&id=\(id)&best.kiwi=5.12.2026")
      #expect(wrong.status == .badRequest && wrong.text.contains("write the date like 2026-12-05"))
      #expect(request.id?.text == id)
      #expect(done.contains("data-outcome=\"applied\"") && done.contains("<td>−3</td>"))
      #expect(!done.contains("name=\"id\""))
      // A second confirmation sends nothing; otherwise the kiosk would receive another command.
      let again = try await scene.post("\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&\(body)")
      #expect(again.text.contains("data-outcome=\"applied\""))
      let others = try await scene.post(
        "\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&id=\(id)&brought.kiwi=1")
      #expect(others.text.contains("already sent with other numbers"))
      // The same numbers with another date are not the same report, either.
      let otherDate = body.replacing("2026-12-05", with: "2026-12-06")
      let dated = try await scene.post(
        "\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&\(otherDate)")
      #expect(dated.text.contains("already sent with other numbers or dates"))
      #expect(dated.text.contains("best before 2026-12-06"))
      // The sent fruit is in the kiosk, with the other date.
      #expect(dated.text.contains("Only the date differs") && !dated.text.contains("add mine"))
      let own = "correct=dates&amp;brought.kiwi=0&amp;best.kiwi=2026-12-06"
      #expect(dated.text.contains("href=\"?\(own)\">Mine are right"))
      // The browser keeps the numbers for the second correction.
      for (word, isDeleted) in [("1", true), ("dates", false)] {
        let form = try await scene.get("\(path)/kiosks/k1?correct=\(word)&brought.kiwi=0").text
        #expect(form.contains("class=\"primary\" data-discard") == isDeleted, "\(word)")
      }
      let all = try await scene.get("/routes").text
      #expect(all.contains("1 / 1") && all.contains("<td class=\"short\">−3</td>"))
      #expect(all.contains("80 / 90"))
      // A route that has started is kept.
      let stays = try await scene.post("\(path)/delete", "csrf_token=\(scene.csrfToken)&sure=1")
      #expect(stays.text.contains("cannot be deleted"))
      #expect(try await scene.get(path).status == .ok)
    }
  }

  /// The browser's Back loads the form again.
  @Test func aFormThatIsSentTwiceCreatesOneRoute() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      func send(_ fields: String) async throws -> String? {
        try await scene.post(
          "/routes", "csrf_token=\(scene.csrfToken)&\(Self.times)&kiosk.k1=1\(fields)"
        ).headers[.location]
      }
      #expect(try await send("&order.k1=&proposed=k2&q=x") == "\(path)?existed=1")
      let existed = try await scene.get("\(path)?existed=1").text
      #expect(existed.contains("This route exists already: it was planned at "))
      #expect(try await !scene.get(path).text.contains("exists already"))
      #expect(await scene.dashboard.routes.all.count == 1)
      let other = try await send("&name=North")
      #expect(other?.hasPrefix("/routes/r") == true && other != path)
      #expect(await scene.dashboard.routes.all.count == 2)
      // A deleted route can be planned again.
      _ = try await scene.post("\(path)/delete", "csrf_token=\(scene.csrfToken)&sure=1")
      #expect(await scene.dashboard.routes.all.count == 1)
      #expect(try await send("") == path)
      #expect(await scene.dashboard.routes.all.count == 2)
      // The same entries plan another route if one has been driven.
      _ = try await scene.post(
        "\(path)/kiosks/k1/skip", "csrf_token=\(scene.csrfToken)&skip=1")
      let next = try #require(try await send(""))
      #expect(next.hasPrefix("/routes/r") && next != path && !next.contains("?"))
      #expect(try await send("") == "\(next)?existed=1")
      #expect(await scene.dashboard.routes.all.count == 3)
    }
  }

  @Test func theDriverIsAUserWhoCanReportStops() async throws {
    try await Scene.run { scene in
      let dan = try User.test("dan", .driver)
      try scene.dashboard.users.update { $0[dan.name] = dan }
      try await scene.authenticate("minji")
      let form = try await scene.get("/routes/new").text
      #expect(
        form.contains(
          "<select name=\"driver\"><option value=\"\">no driver yet</option>"
            + "<option value=\"dan\">dan</option><option value=\"minji\">minji</option></select>"))
      func create(_ driver: String) async throws -> Answer {
        try await scene.post(
          "/routes", "csrf_token=\(scene.csrfToken)&\(Self.times)&kiosk.k1=1&driver=\(driver)")
      }
      for driver in ["Jun", "vera"] {
        let refused = try await create(driver)
        #expect(refused.text.contains("There is no user \(driver) who can report stops"))
        #expect(refused.text.contains("name=\"kiosk.k1\" value=\"1\" checked"))
      }
      #expect(await scene.dashboard.routes.all.isEmpty)
      let path = try #require(try await create("dan").headers[.location])
      // A removed driver remains on the page and in the form.
      #expect(try await !scene.get(path).text.contains("There is no user dan"))
      #expect(try await !scene.get("/routes").text.contains("cannot report stops"))
      try scene.dashboard.users.update { $0[dan.name] = nil }
      let removed = try await scene.get(path).text
      #expect(removed.contains("Driver: dan") && removed.contains("There is no user dan"))
      #expect(try await scene.get("/routes").text.contains("cannot report stops"))
      let page = try await scene.get("\(path)/edit").text
      #expect(page.contains("<option value=\"dan\" selected>"))
      func edit(_ fields: String) async throws -> Answer {
        try await scene.post("\(path)/edit", "csrf_token=\(scene.csrfToken)&\(fields)")
      }
      let refused = try await edit("driver=Jun&name=South").text
      #expect(refused.contains("There is no user Jun") && refused.contains("value=\"South\""))
      #expect(try await edit("driver=dan&name=South").status == .seeOther)
      #expect(try await scene.get(path).text.contains("Driver: dan"))
    }
  }

  /// A driver sees only routes of which all kiosks are in the own regions.
  @Test func aDriverWhoCannotSeeTheKiosksIsRefused() async throws {
    try await Scene.run { scene in
      for (name, region) in [("dora", "South"), ("dan", "North")] as [(User.Name, String)] {
        let user = User(
          name: name, role: .driver, password: try User.test(name, .driver).password,
          regions: [region])
        try scene.dashboard.users.update { $0[name] = user }
      }
      let info = KioskInfo(version: "1", startedAt: scene.now, region: "North")
      try await scene.kiosk("info", info.payload)
      try await Self.addKiosk(scene, region: "South")
      try await scene.authenticate("minji")
      func create(_ driver: String) async throws -> Answer {
        try await scene.post(
          "/routes", "csrf_token=\(scene.csrfToken)&\(Self.times)&kiosk.k1=1&driver=\(driver)")
      }
      let problem = "These kiosks are not in a region of"
      let refused = try await create("dora").text
      #expect(refused.contains("\(problem) dora: k1. Choose another driver"))
      #expect(refused.contains("name=\"kiosk.k1\" value=\"1\" checked"))
      #expect(refused.contains("<option value=\"dora\" selected>dora · South</option>"))
      #expect(await scene.dashboard.routes.all.isEmpty)
      let path = try #require(try await create("dan").headers[.location])
      func edit(_ fields: String) async throws -> Answer {
        try await scene.post("\(path)/edit", "csrf_token=\(scene.csrfToken)&\(fields)")
      }
      #expect(try await edit("driver=dora").text.contains("\(problem) dora: k1."))
      #expect(try await edit("driver=dan&add=k2&mixed=1").text.contains("\(problem) dan: k2."))
      #expect(try await !scene.get(path).text.contains(problem))
      // A driver who keeps the route may have lost the region; the page of the route names that.
      try await scene.kiosk(
        "info", KioskInfo(version: "1", startedAt: scene.now, region: "East").payload)
      #expect(try await scene.get(path).text.contains("\(problem) dan: k1."))
      #expect(try await scene.get("/routes").text.contains("\(problem) dan: k1."))
      #expect(try await edit("driver=dan&name=South").status == .seeOther)
      #expect(try await edit("driver=&add=k2&mixed=1").status == .seeOther)
      #expect(try await !scene.get(path).text.contains(problem))
    }
  }

  /// An operator of a region learns nothing of the users of others.
  @Test func theDriversOfOtherRegionsAreNotOffered() async throws {
    try await Scene.run { scene in
      let drivers: [(User.Name, [String])] = [
        ("dan", ["North", "West"]), ("dora", ["South"]), ("dave", []),
      ]
      for (name, regions) in drivers {
        let user = User(
          name: name, role: .driver, password: try User.test(name, .driver).password,
          regions: regions)
        try scene.dashboard.users.update { $0[name] = user }
      }
      let info = KioskInfo(version: "1", startedAt: scene.now, region: "North")
      try await scene.kiosk("info", info.payload)
      func offered() async throws -> [String] {
        let form = try await scene.get("/routes/new").text
        return form.matches(of: /<option value="(d[a-z]+)">([^<]+)</).map { String($0.output.2) }
      }
      try await scene.authenticate("minji")
      #expect(try await offered() == ["dan · North · West", "dave", "dora · South"])
      try scene.dashboard.users.update { users in
        guard let minji = users["minji"] else { return }
        users["minji"] = User(
          name: "minji", role: .operator, password: minji.password, regions: ["North"])
      }
      try await scene.authenticate("minji")
      #expect(try await offered() == ["dan · North", "dave"])
    }
  }

  /// A colleague has saved other values while the page was open.
  @Test func anOldPageChangesOnlyWhatItsUserHasChanged() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await Self.addKiosk(scene)
      let answer = try await scene.post(
        "/routes",
        "csrf_token=\(scene.csrfToken)&\(Self.times)&kiosk.k1=1&kiosk.k2=1&mixed=1&name=North&driver=minji"
      )
      let path = try #require(answer.headers[.location])
      func edit(_ fields: String) async throws -> Answer {
        try await scene.post("\(path)/edit", "csrf_token=\(scene.csrfToken)&\(fields)")
      }
      func route() async throws -> Route { try #require(await scene.dashboard.routes.all.first) }
      let page = try await scene.get("\(path)/edit").text
      for field in ["name\" value=\"North", "driver\" value=\"minji", "order.k1\" value=\"1"] {
        #expect(page.contains("name=\"was.\(field)\""), "\(field)")
      }
      let shown = "was.name=North&was.driver=minji&was.order.k1=1&was.order.k2=2"
      #expect(
        try await edit("\(shown)&name=East&driver=&order.k1=1&order.k2=2").status == .seeOther)
      #expect(
        try await edit("\(shown)&name=North&driver=minji&order.k1=2&order.k2=1").status == .seeOther
      )
      #expect(try await (route().name, route().driver) == ("East", nil))
      #expect(try await route().stops.map(\.kiosk) == ["k2", "k1"])
      #expect(
        try await edit("\(shown)&name=North&driver=minji&order.k1=1&order.k2=2").status == .seeOther
      )
      #expect(try await route().stops.map(\.kiosk) == ["k2", "k1"])
      // After a login, the page has what was typed before.
      let typed = try await scene.get(
        "\(path)/edit?was.name=East&name=West&was.order.k1=2&order.k1=7"
      )
      .text
      #expect(typed.contains("Nothing has been sent") && typed.contains("value=\"West\""))
      #expect(typed.contains("name=\"order.k1\" value=\"7\""))
    }
  }

  /// One form with two buttons: what was typed and ticked is used by both.
  @Test func aProposalKeepsWhatWasEntered() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await Self.addKiosk(scene)
      let form = try await scene.get("/routes/new").text
      #expect(try Self.field("proposed", in: form).contains("k2"))
      // Against the proposal, the user ticks k1 and not k2.
      let entered =
        "arrival=2026-11-23T10:15&until=2026-11-25T08:00&margin=30&fill=need&van=200&stops=7"
        + "&name=North&driver=minji&order.k1=3&proposed=k2&kiosk.k1=1"
      let page = try await scene.post(
        "/routes", "csrf_token=\(scene.csrfToken)&\(entered)&do=propose")
      #expect(page.status == .ok)
      for (name, value) in [
        ("arrival", "2026-11-23T10:15"), ("name\" maxlength=\"64", "North"), ("order.k1", "3"),
      ] {
        #expect(page.text.contains("name=\"\(name)\" value=\"\(value)\""), "\(name)")
      }
      for part in [
        "value=\"200\"", "value=\"7\"", "value=\"need\" checked", "value=\"minji\" selected",
        "name=\"kiosk.k1\" value=\"1\" checked",
      ] { #expect(page.text.contains(part), "\(part)") }
      #expect(!page.text.contains("name=\"kiosk.k2\" value=\"1\" checked"))
      let answer = try await scene.post("/routes", "csrf_token=\(scene.csrfToken)&\(entered)")
      #expect(answer.status == .seeOther)
      let route = try #require(await scene.dashboard.routes.all.first)
      #expect(route.plan.arrival.description == "2026-11-23T10:15:00Z")
      #expect((route.plan.fill, route.plan.van, route.plan.margin) == (.need, 200, 30))
      #expect(route.stops.map(\.kiosk) == ["k1"])
      // A mistake keeps the other values.
      let mistake = try await scene.post(
        "/routes", "csrf_token=\(scene.csrfToken)&\(entered)&do=propose&mixed=1")
      #expect(mistake.text.contains("value=\"2026-11-25T08:00\""))
    }
  }

  /// A search hides no selected kiosk, and proposes none again that the user has not selected.
  @Test func aSearchChangesNoSelection() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await Self.addKiosk(scene)
      var proposed = "k2"
      for search in ["nowhere", ""] {
        let fields = "\(Self.times)&q=\(search)&proposed=\(proposed)&kiosk.k1=1&do=propose"
        let page = try await scene.post("/routes", "csrf_token=\(scene.csrfToken)&\(fields)").text
        #expect(page.contains("name=\"kiosk.k1\" value=\"1\" checked"))
        #expect(page.contains("name=\"kiosk.k2\" value=\"1\"") == search.isEmpty)
        #expect(!page.contains("name=\"kiosk.k2\" value=\"1\" checked"))
        proposed = try Self.field("proposed", in: page)
        #expect(proposed.split(separator: " ").contains("k2"))
      }
      // Also if no kiosk is listed, or the form has a mistake.
      for fields in ["do=propose", "margin=x"] {
        let page = try await scene.post(
          "/routes", "csrf_token=\(scene.csrfToken)&q=nowhere&proposed=k2&\(fields)"
        ).text
        let proposed = try Self.field("proposed", in: page).split(separator: " ")
        #expect(proposed.contains("k2"))
      }
      // What is proposed and selected stays, too.
      let page = try await scene.get("/routes/new?q=nowhere").text
      #expect(page.contains("name=\"kiosk.k2\" value=\"1\" checked"))
    }
  }

  @Test func aLongListHasEachSelectedKiosk() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let alone = try await scene.get("\(path)/edit").text
      #expect(!alone.contains("Add a kiosk"))
      let menu = MenuReport(menu: .standard, capacities: [:], lowMarks: [:]).payload
      let stock = StockReport(seq: 1, at: scene.now, fruits: [:]).payload
      for number in 100...300 {
        let kiosk = try #require(KioskID("a\(number)"))
        for (topic, payload) in [("status", Array("online".utf8)), ("menu", menu)] {
          try await scene.kiosk(topic, payload, of: kiosk)
        }
        // Nothing can be planned for a kiosk without a known stock.
        if number != 299 { try await scene.kiosk("stock", stock, of: kiosk) }
      }
      #expect(try await scene.get("/routes/new?margin=20").text.contains(">+2</p>"))
      let form = try await scene.get("/routes/new?kiosk.k1=1").text
      #expect(form.contains("name=\"kiosk.k1\" value=\"1\" checked") && form.contains(">+2</p>"))
      let edit = try await scene.get("\(path)/edit").text
      #expect(edit.contains("<option value=\"a300\">") && !edit.contains("value=\"a299\""))
    }
  }

  @Test func expiredFruitIsOnTheSheetAndAtTheStop() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let stock = StockReport(
        seq: 3, at: scene.now, fruits: ["kiwi": 10, "mango": 10], expired: ["kiwi": 7])
      try await scene.kiosk("stock", stock.payload)
      let path = try await Self.createRoute(scene)
      #expect(try await scene.get(path).text.contains("Expired on arrival, take out: 7 Kiwi."))
      let stop = try await scene.get("\(path)/kiosks/k1").text
      #expect(stop.contains("Expired: take it out") && stop.contains("Kiwi: <b>7</b>"))
      try await scene.authenticate("vera")
      let seen = try await scene.get("\(path)/kiosks/k1").text
      #expect(seen.contains("Kiwi: <b>7</b>") && !seen.contains("kiwi.spoiled"))
    }
  }

  /// The kiosk's page has the same command, and a driver cannot open it.
  @Test func aDriverRecordsExpiredFruitThatWasTakenOut() async throws {
    try await Scene.run { scene in
      let dan = try User.test("dan", .driver)
      try scene.dashboard.users.update { $0[dan.name] = dan }
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      _ = try await scene.post(
        "\(path)/edit", "csrf_token=\(scene.csrfToken)&driver=dan&name=&order.k1=1")
      let stock = StockReport(seq: 3, at: scene.now, fruits: ["kiwi": 10], expired: ["kiwi": 7])
      try await scene.kiosk("stock", stock.payload)
      try await scene.authenticate("dan")
      let stop = "\(path)/kiosks/k1"
      let page = try await scene.get(stop).text
      #expect(page.contains("id=\"send-remove\" method=\"post\" action=\"\(stop)/remove\""))
      #expect(page.contains("value=\"kiwi.spoiled\""))
      let form = "csrf_token=\(scene.csrfToken)&id=d1"
      let other = try await scene.post("\(stop)/remove", "\(form)&reason=spoiled&remove.kiwi=1")
      #expect(other.status == .badRequest)
      async let answer = scene.post(
        "\(stop)/remove", "\(form)&expired=kiwi.spoiled&amount.kiwi=7")
      let command = try await scene.nextCommand()
      #expect(command.topic == "kiosk/k1/restock/dan")
      let request = try KioskProtocol.Request(kind: .restock, payload: command.payload)
      #expect(request.command == .remove(Removal(expired: ["kiwi": 7], reason: .spoiled)))
      let rest = StockReport(seq: 4, at: scene.now, fruits: ["kiwi": 10])
      try await scene.kiosk("stock", rest.payload)
      var result = CommandResult(status: .applied)
      result.id = request.id
      try await scene.kiosk("restock/dan/result", result.payload, retain: false)
      let done = try await answer.text
      #expect(done.contains("Recorded as taken out: 7 Kiwi.") && !done.contains("kiwi.spoiled"))
      #expect(done.contains("name=\"brought.kiwi\""))
    }
  }

  @Test func theDriverSeesThatFruitIsBlocked() async throws {
    try await Scene.run { scene in
      let dan = try User.test("dan", .driver)
      try scene.dashboard.users.update { $0[dan.name] = dan }
      try await scene.authenticate("minji")
      // The kiosk has room for each fruit but mango.
      var fruits = FruitAmounts(Menu.standard.fruits.map { ($0.id, 10) })
      fruits["mango"] = 100
      try await scene.kiosk("stock", StockReport(seq: 2, at: scene.now, fruits: fruits).payload)
      let path = try await Self.createRoute(scene)
      _ = try await scene.post(
        "\(path)/edit", "csrf_token=\(scene.csrfToken)&driver=dan&name=&order.k1=1")
      try await scene.authenticate("dan")
      for (state, fruits, isShown) in [
        (.blocked, ["kiwi"], true), (.blocked, ["mango"], false), (.ok, [], false),
      ] as [(SensorReport.State, [Fruit.ID], Bool)] {
        let report = SensorReport(
          state: state, value: 9500, unit: .celsius, maximum: 7000, fruits: fruits)
        try await scene.kiosk("sensor/fridge", report.payload)
        let page = try await scene.get("\(path)/kiosks/k1").text
        let notice = page.range(
          of: "Sensor fridge: blocked (9.5 °C, Kiwi). This fruit is not for sale: ask before")
        #expect((notice != nil) == isShown && page.contains("ask before") == isShown)
        if let notice { #expect(page[notice.upperBound...].contains("name=\"brought.kiwi\"")) }
        // Blocked fruit is not filled in as brought, and the browser asks for a number.
        #expect(page.contains("name=\"brought.kiwi\" value=\"\(isShown ? "" : "90")\" required>"))
        #expect(page.contains("blocked by a sensor: enter the amount, or 0") == isShown)
        #expect(try Self.field("brought.mango", in: page) == "0")
        let korean = try await scene.get("\(path)/kiosks/k1", [.acceptLanguage: "ko"]).text
        #expect(korean.contains("센서 fridge: 차단됨 (9.5 °C, 키위). 판매할 수 없는") == isShown)
      }
    }
  }

  /// The form leaves out the same fruit, so it must say so.
  @Test func fruitThatWasBlockedIsNamedWhileTheKioskIsOffline() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let report = SensorReport(
        state: .blocked, value: 9500, unit: .celsius, maximum: 7000, fruits: ["kiwi"])
      try await scene.kiosk("sensor/fridge", report.payload)
      try await scene.kiosk("status", Array("offline".utf8))
      let page = try await scene.get("\(path)/kiosks/k1").text
      #expect(page.contains("This kiosk is offline"))
      #expect(page.contains("Last known: sensor fridge: blocked (9.5 °C, Kiwi). This fruit is not"))
      #expect(page.contains("name=\"brought.kiwi\" value=\"\" required>"))
      let korean = try await scene.get("\(path)/kiosks/k1", [.acceptLanguage: "ko"]).text
      #expect(korean.contains("마지막 상태: 센서 fridge: 차단됨 (9.5 °C, 키위)."))
    }
  }

  @Test func aRejectedReportKeepsWhatDidNotFit() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let id = try Self.field("id", in: try await scene.get("\(path)/kiosks/k1").text)
      let (page, request) = try await Self.confirm(
        scene, path, "id=\(id)&brought.kiwi=95&fit=1&counted.mango=9&ledger.mango=10", .rejected,
        .conflict, stock: ["mango": 7])
      guard case .restock(let restock) = request.command else {
        Issue.record("\(request.command)")
        return
      }
      #expect(restock.add == ["kiwi": 90])
      #expect(try Self.field("brought.kiwi", in: page) == "95")
    }
  }

  @Test func aStopAndAPlanOutliveTheirSession() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      func login(_ path: String, _ fields: String) async throws -> String {
        scene.dashboard.sessions.end(scene.session)
        let answer = try await scene.post(path, "csrf_token=x&\(fields)")
        try await scene.authenticate("minji")
        let target = answer.headers[.location]?.dropFirst("/login?to=".count)
        return try #require(target?.removingPercentEncoding)
      }
      let stop = try await login(
        "\(path)/kiosks/k1", "id=c1&brought.kiwi=7&counted.mango=9&ledger.mango=12&ledger.kiwi=10")
      let page = try await scene.get(stop).text
      #expect(try Self.field("brought.kiwi", in: page) == "7")
      #expect(try Self.field("brought.banana", in: page) == "0")
      #expect(try Self.field("counted.mango", in: page) == "9")
      #expect(try Self.field("ledger.mango", in: page) == "12")
      #expect(try Self.field("ledger.kiwi", in: page) == "10")
      #expect(page.contains("Your numbers are still here."))
      let plan = try await login(
        "/routes", "\(Self.times.replacing("margin=20", with: "margin=33"))&kiosk.k1=1")
      let form = try await scene.get(plan).text
      #expect(form.contains("name=\"kiosk.k1\" value=\"1\" checked"))
      #expect(form.contains("name=\"margin\" min=\"0\" max=\"200\" value=\"33\""))
    }
  }

  @Test func whatFitsIsProposedAndTheRestIsLeftOut() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      // Planned for ten; less was sold, so that only 88 fit.
      var fruits = FruitAmounts(Menu.standard.fruits.map { ($0.id, 10) })
      fruits["kiwi"] = 12
      try await scene.kiosk("stock", StockReport(seq: 2, at: scene.now, fruits: fruits).payload)
      let page = try await scene.get("\(path)/kiosks/k1").text
      // The plan is proposed: until the visit, the kiosk sells more.
      #expect(try Self.field("brought.kiwi", in: page) == "90")
      #expect(page.contains("Ledger as of <time"))
      #expect(try Self.field("brought.mango", in: page) == "90")
      #expect(page.contains("planned 90 · <span id=\"ledger-kiwi\""))
      #expect(page.contains("<b class=\"short\">room for 88</b>"))
      #expect(page.contains("name=\"fit\" value=\"1\" checked"))
      let id = try Self.field("id", in: page)
      let body = "id=\(id)&brought.kiwi=90&brought.mango=4&fit=1"
      let (done, request) = try await Self.confirm(scene, path, body, .applied)
      #expect(request.command == .restock(Restock(add: ["kiwi": 88, "mango": 4])))
      #expect(done.contains("<td>90</td><td>88</td>"))
      #expect(done.contains("<li>Kiwi: 90 entered, 88 recorded: more does not fit.</li>"))
      #expect(!done.contains("Mango: 4 entered"))
      // A browser that has received no answer sends it again, when nothing more fits.
      let full = FruitAmounts(Menu.standard.fruits.map { ($0.id, 100) })
      try await scene.kiosk("stock", StockReport(seq: 3, at: scene.now, fruits: full).payload)
      let again = try await scene.post("\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&\(body)")
      #expect(again.text.contains("data-outcome=\"applied\""))
      #expect(!again.text.contains("already sent with other"))
    }
  }

  @Test func aReportOfWhichNothingFitsSaysSo() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let fruits = FruitAmounts(Menu.standard.fruits.map { ($0.id, 100) })
      try await scene.kiosk("stock", StockReport(seq: 2, at: scene.now, fruits: fruits).payload)
      let id = try Self.field("id", in: try await scene.get("\(path)/kiosks/k1").text)
      let page = try await scene.post(
        "\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&id=\(id)&brought.kiwi=400&fit=1")
      #expect(page.text.contains("Kiwi: 400 entered, 0 recorded: more does not fit."))
    }
  }

  /// A report that arrives later than the visit: what was sold since has made no room for it.
  @Test(arguments: [
    ("", 88), ("&ago=20", 88), ("&ago=60", 82), ("&ago=2000000", 82), ("&ago=-5", 88),
    ("&ago=x", 88),
  ])
  func whatFittedAtTheVisitCounts(ago: String, brought: Int) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      try await Self.makeOlder(path, in: scene)
      let sold = LedgerEntry(
        seq: 2, epoch: 0, at: Timestamp(milliseconds: scene.now.milliseconds - 30_000),
        source: nil, id: nil,
        outcome: .ready(
          Order(juice: "kiwi", quantity: 2), used: ["kiwi": 6], ticket: Ticket(day: 0, number: 1)))
      try await scene.kiosk("events", sold.payload, retain: false)
      var fruits = FruitAmounts(Menu.standard.fruits.map { ($0.id, 10) })
      fruits["kiwi"] = 12
      try await scene.kiosk("stock", StockReport(seq: 2, at: scene.now, fruits: fruits).payload)
      let id = try Self.field("id", in: try await scene.get("\(path)/kiosks/k1").text)
      let (_, request) = try await Self.confirm(
        scene, path, "id=\(id)&brought.kiwi=90&fit=1\(ago)", .applied)
      #expect(request.command == .restock(Restock(add: ["kiwi": brought])))
    }
  }

  /// The age of fruit counts from the visit, also if the report is sent later, and if it is corrected.
  @Test(
    arguments: [
      ("", nil, nil), ("&ago=59", nil, nil), ("&ago=28800", 64, nil),
      ("&ago=28800&best.kiwi=2026-12-05", 64, nil),
      ("&ago=28800&best.kiwi=2026-11-22", nil, "2026-11-22"),
      // A wrong clock: the visit was not before the route.
      ("&ago=2000000", 48, nil),
    ] as [(String, Int64?, String?)])
  func theAgeOfFruitCountsFromTheVisit(fields: String, hours: Int64?, day: String?) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let fruits = Menu.standard.fruits.map { Fruit(id: $0.id, name: $0.name, keepsHours: 72) }
      let menu = try Menu(fruits: fruits, juices: Menu.standard.juices)
      try await scene.kiosk(
        "menu", MenuReport(menu: menu, capacities: [:], lowMarks: [:]).payload)
      func restock(_ amount: Int) throws -> KioskProtocol.Command {
        var (times, days): ([Fruit.ID: Int64], [Fruit.ID: Int64]) = ([:], [:])
        if let hours { times["kiwi"] = scene.now.milliseconds + hours * 3_600_000 }
        if let day { days["kiwi"] = try #require(CivilDate(day)).daysSinceEpoch }
        return .restock(
          Restock(add: ["kiwi": amount], bestBefore: times, bestBeforeDay: days))
      }
      let path = try await Self.createRoute(scene)
      try await Self.makeOlder(path, in: scene)
      let id = try Self.field("id", in: try await scene.get("\(path)/kiosks/k1").text)
      let (page, request) = try await Self.confirm(
        scene, path, "id=\(id)&brought.kiwi=5\(fields)", .applied)
      #expect(try request.command == restock(5))
      #expect(page.contains("T01:00:00Z") == fields.contains("28800"))
      async let corrected = scene.post(
        "\(path)/kiosks/k1/correct",
        "csrf_token=\(scene.csrfToken)&id=x1&brought.kiwi=8\(fields)")
      let sent = try await scene.nextRequest(.restock)
      #expect(try sent.command == restock(3))
      try await scene.answer(CommandResult(status: .applied), to: sent)
      #expect(try await corrected.text.contains("Done, corrected."))
    }
  }

  /// After a rejection, the same fruit has the age from the first visit, and other fruit that from the
  /// later one.
  @Test(
    arguments: [("brought.kiwi=0&brought.mango=4", 64), ("brought.mango=3", nil)]
      as [(String, Int64?)])
  func onlyTheSameFruitHasTheAgeOfARejectedReport(fields: String, hours: Int64?) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let fruits = Menu.standard.fruits.map { Fruit(id: $0.id, name: $0.name, keepsHours: 72) }
      let menu = try Menu(fruits: fruits, juices: Menu.standard.juices)
      try await scene.kiosk(
        "menu", MenuReport(menu: menu, capacities: [:], lowMarks: [:]).payload)
      let path = try await Self.createRoute(scene)
      try await Self.makeOlder(path, in: scene)
      let id = try Self.field("id", in: try await scene.get("\(path)/kiosks/k1").text)
      let (page, _) = try await Self.confirm(
        scene, path, "id=\(id)&brought.kiwi=5&brought.mango=4&ago=28800", .rejected, .expired)
      #expect(page.contains("enter 0 for it"))
      let next = try Self.field("id", in: page)
      let (_, request) = try await Self.confirm(scene, path, "id=\(next)&\(fields)", .applied)
      guard case .restock(let restock) = request.command else {
        Issue.record("\(request.command)")
        return
      }
      let end = hours.map { scene.now.milliseconds + $0 * 3_600_000 }
      #expect(restock.bestBefore["mango"] == end && restock.bestBefore["kiwi"] == nil)
    }
  }

  /// Two drivers with the same numbers, of which only some fitted: nothing to correct.
  @Test func equalNumbersAreNoDifference() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let id = try Self.field("id", in: try await scene.get("\(path)/kiosks/k1").text)
      _ = try await Self.confirm(
        scene, path, "id=\(id)&brought.kiwi=99&brought.mango=5&fit=1", .applied)
      let other = try await scene.post(
        "\(path)/kiosks/k1",
        "csrf_token=\(scene.csrfToken)&id=\(id)&brought.kiwi=99&brought.mango=7&fit=1"
      ).text
      #expect(other.contains("Mango</th><td>+5</td><td>+7</td><td>+2</td>"))
      #expect(other.contains("href=\"?correct=1&amp;brought.mango=7\">Mine are right"))
    }
  }

  @Test func twoReportsAreComparedFruitByFruit() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let id = try Self.field("id", in: try await scene.get("\(path)/kiosks/k1").text)
      _ = try await Self.confirm(
        scene, path, "id=\(id)&brought.kiwi=9&counted.mango=8&ledger.mango=10", .applied, seq: 4)
      // Kiwi: 7 instead of 9. Mango: counted as 9 and 2 added, instead of counted as 8.
      let fields = "brought.kiwi=7&brought.mango=2&counted.mango=9&ledger.mango=10"
      let sent = try await scene.post(
        "\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&id=\(id)&\(fields)")
      for page in [sent.text, try await scene.get("\(path)/kiosks/k1?\(fields)").text] {
        #expect(page.contains("<th scope=\"col\">Sent by minji</th>"))
        #expect(page.contains("Kiwi</th><td>+9</td><td>+7</td><td>−2</td>"))
        #expect(page.contains("Mango</th><td>0, 8 counted</td><td>+2, 9 counted</td><td>+3</td>"))
        #expect(!page.contains("Banana</th><td>0</td><td>0</td>"))
        let own = "correct=1&brought.kiwi=7&brought.mango=2&counted.mango=9"
        #expect(page.contains("href=\"?\(own.replacing("&", with: "&amp;"))\">Mine are right"))
        let form = try await scene.get("\(path)/kiosks/k1?\(own)").text
        #expect(try Self.field("id", in: form).hasPrefix("correct-4-"))
        #expect(form.contains("name=\"brought.kiwi\" value=\"7\""))
        #expect(form.contains("name=\"counted.mango\" value=\"9\""))
        #expect(!form.contains("comparison"))
        #expect(page.contains("href=\"/kiosks/k1?add.kiwi=7&amp;add.mango=2\">Both were put in"))
        #expect(page.contains("data-discard href=\"?\">Theirs are right"))
      }
      let same = "brought.kiwi=9&counted.mango=8&ledger.mango=10"
      #expect(try await !scene.get("\(path)/kiosks/k1?\(same)").text.contains("comparison"))
    }
  }

  @Test func aConflictOffersTheSameOverWhatIsThereNow() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let id = try Self.field("id", in: try await scene.get("\(path)/kiosks/k1").text)
      let (page, _) = try await Self.confirm(
        scene, path, "id=\(id)&brought.kiwi=5&counted.mango=9&ledger.mango=10", .rejected,
        .conflict, stock: ["mango": 7])
      #expect(page.contains("data-outcome=\"rejected\""))
      #expect(page.contains("Mango: 10 → <strong>7</strong>"))
      #expect(try Self.field("id", in: page) != id)
      #expect(try Self.field("ledger.mango", in: page) == "7")
      #expect(try Self.field("counted.mango", in: page) == "9")
      #expect(try Self.field("brought.kiwi", in: page) == "5")
      // A page rendered before the rejection.
      let old = try await scene.post(
        "\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&id=someother&brought.kiwi=44")
      #expect(old.text.contains("filled in on an old page"))
      #expect(try Self.field("brought.kiwi", in: old.text) == "44")
      // Other numbers with the id of the rejected report, which does not apply.
      let other = try await scene.post(
        "\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&id=\(id)&brought.kiwi=6")
      #expect(other.text.contains("filled in on an old page"))
      #expect(!other.text.contains("comparison"))
      #expect(try Self.field("brought.kiwi", in: other.text) == "6")
    }
  }

  @Test func whatMayHaveBeenDoneIsSentAgainAsItWas() async throws {
    try await Scene.run(answerTimeout: .milliseconds(1)) { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let id = try Self.field("id", in: try await scene.get("\(path)/kiosks/k1").text)
      let unknown = try await scene.post(
        "\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&id=\(id)&brought.kiwi=5")
      #expect(unknown.text.contains("data-outcome=\"unknown\""))
      #expect(try await scene.nextCommand().topic == "kiosk/k1/restock/minji")
      // The text about dates names a correction, for which there is no form before the answer.
      let date = "brought.kiwi=5&best.kiwi=2026-12-06"
      let dated = try await scene.get("\(path)/kiosks/k1?\(date)").text
      #expect(dated.contains("\"comparison\"") && !dated.contains("Only the date differs"))
      // With other numbers, the first ones are sent, since they may have arrived.
      let other = try await scene.post(
        "\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&id=\(id)&brought.kiwi=6")
      #expect(other.text.contains("already sent with other numbers"))
      let again = try await scene.nextRequest(.restock)
      #expect(again.id?.text == id)
      #expect(again.command == .restock(Restock(add: ["kiwi": 5])))
      // The kiosk's event supplies the missing answer.
      let entry = LedgerEntry(
        seq: 3, epoch: 0, at: scene.now, source: Source(kind: .restock, name: "minji"),
        id: again.id,
        outcome: .restocked(changes: ["kiwi": 5]))
      try await scene.kiosk("history", HistoryReport(entries: [entry]).payload)
      #expect(try await scene.get("\(path)/kiosks/k1").text.contains("data-outcome=\"applied\""))
    }
  }

  @Test func whatIsSentInPlaceOfAnotherCorrectionIsShown() async throws {
    try await Scene.run(answerTimeout: .milliseconds(1)) { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let id = try Self.field("id", in: try await scene.get("\(path)/kiosks/k1").text)
      _ = try await scene.post(
        "\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&id=\(id)&brought.kiwi=5")
      _ = try await scene.nextCommand()
      let entry = LedgerEntry(
        seq: 3, epoch: 0, at: scene.now, source: Source(kind: .restock, name: "minji"),
        id: KioskProtocol.Request.ID(id), outcome: .restocked(changes: ["kiwi": 5]))
      try await scene.kiosk("history", HistoryReport(entries: [entry]).payload)
      for (id, amount) in [("x1", 8), ("x2", 9), ("x3", 8)] {
        let page = try await scene.post(
          "\(path)/kiosks/k1/correct",
          "csrf_token=\(scene.csrfToken)&id=\(id)&brought.kiwi=\(amount)")
        let sent = try await scene.nextRequest(.restock)
        #expect(sent.id?.text == "x1" && sent.command == .restock(Restock(add: ["kiwi": 3])))
        #expect(page.text.contains("already sent with other numbers") == (amount == 9))
      }
    }
  }

  @Test func aRouteIsThereAfterARestart() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let folder = "\(scene.dashboard.settings.stateFolder)/routes"
      let state = StateFolder(path: scene.dashboard.settings.stateFolder)
      let book = RouteStore(folder: state)
      let routes = await book.all
      #expect(routes.map { "/routes/\($0.id)" } == [path])
      // A broken file is skipped and kept.
      try Data("{".utf8).write(to: URL(filePath: "\(folder)/broken.json"))
      let other = RouteStore(folder: state)
      #expect(await other.all.count == 1)
      #expect(await other.problems.map(\.description).first?.contains("broken.json") == true)
      #expect(
        try await scene.post("\(path)/delete", "csrf_token=\(scene.csrfToken)").text.contains(
          "<h1>Delete the route?</h1>"))
      #expect(try await scene.get(path).status == .ok)
      #expect(
        try await scene.post("\(path)/delete", "csrf_token=\(scene.csrfToken)&sure=1").status
          == .seeOther)
      #expect(try await scene.get(path).status == .notFound)
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: folder) == ["broken.json"])
    }
  }

  @Test(arguments: [false, true])
  func theFirstRouteGoesForOneMoreThanAreKept(areNamed: Bool) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let id = try #require(Route.ID(path.dropFirst("/routes/".count)))
      let book = scene.dashboard.routes
      let first = try #require(await book[id])
      let day = first.plan.arrival.milliseconds + 86_400_000
      func add(_ number: Int, name: String?) async throws {
        try await book.add(
          Route(
            id: try #require(Route.ID("n\(number)")),
            createdAt: Timestamp(milliseconds: day + Int64(number)),
            createdBy: "minji", plan: first.plan, timeZone: nil, stops: first.stops, name: name))
      }
      for number in 1...RouteStore.maximumRoutes {
        try await add(number, name: areNamed ? "\(number)" : nil)
      }
      #expect(await book.all.count == RouteStore.maximumRoutes)
      #expect(await book[id] == nil)
      #expect(await book["n1"] != nil)
      try await add(RouteStore.maximumRoutes + 1, name: nil)
      #expect(await book.all.count == RouteStore.maximumRoutes)
      #expect(await book["n1"] == nil)
      #expect(await book.all.first?.id.text == "n\(RouteStore.maximumRoutes + 1)")
    }
  }

  @Test func aRouteThatIsNotOverIsNotReplaced() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let id = try #require(Route.ID(path.dropFirst("/routes/".count)))
      let book = scene.dashboard.routes
      let first = try #require(await book[id])
      for number in 2...RouteStore.maximumRoutes {
        try await book.add(
          Route(
            id: try #require(Route.ID("n\(number)")), createdAt: first.createdAt,
            createdBy: "jun", plan: first.plan, timeZone: nil, stops: first.stops))
      }
      let form = "csrf_token=\(scene.csrfToken)&\(Self.times)&kiosk.k1=1&name=North"
      let refused = try await scene.post("/routes", form)
      #expect(refused.text.contains("There are already 200 routes that are not over."))
      #expect(await book.all.count == RouteStore.maximumRoutes)
      #expect(await book[id] != nil)
      #expect(try await book.remove("n2"))
      #expect(try await scene.post("/routes", form).status == .seeOther)
    }
  }

  @Test func whatCannotBeKeptIsNotSent() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let id = try Self.field("id", in: try await scene.get("\(path)/kiosks/k1").text)
      // A folder has the name of the file that is written first.
      let name = path.dropFirst("/routes/".count)
      let new = "\(scene.dashboard.settings.stateFolder)/routes/\(name).json.new"
      try FileManager.default.createDirectory(
        atPath: "\(new)/full", withIntermediateDirectories: true)
      let answer = try await scene.post(
        "\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&id=\(id)&brought.kiwi=5")
      #expect(answer.status == .serviceUnavailable)
      #expect(answer.text.contains("nothing was sent"))
      #expect(try await scene.get("\(path)/kiosks/k1").text.contains("data-outcome=\"open\""))
    }
  }

  // MARK: Attacks

  @Test func aFormWithoutCSRFTokenMakesNoRoute() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      for csrfToken in [
        "", "csrf_token=", "csrf_token=AAAA",
        "csrf_token=\(Sessions().csrfToken(for: scene.session))",
      ] {
        for place in ["/routes", "\(path)/delete", "\(path)/kiosks/k1"] {
          let body = "\(csrfToken)&\(Self.times)&kiosk.k1=1&id=r1&brought.kiwi=5"
          #expect(try await scene.post(place, body).status == .forbidden)
        }
      }
      #expect(await scene.dashboard.routes.all.count == 1)
    }
  }

  @Test func aViewerLooksAndChangesNothing() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      let none = try await scene.get("/routes").text
      #expect(none.contains("There is no route yet.</p>"))
      try await scene.authenticate("minji")
      #expect(try await scene.get("/routes").text.contains("Plan one for the kiosks"))
      let path = try await Self.createRoute(scene)
      try await scene.authenticate("vera")
      for place in ["/routes", path, "\(path)/kiosks/k1", "\(path)/stops.csv"] {
        let page = try await scene.get(place)
        #expect(page.status == .ok)
        #expect(!page.text.contains("method=\"post\" action=\"/routes"), "\(place)")
      }
      #expect(try await scene.get("/routes/new").status == .forbidden)
      for place in ["/routes", "\(path)/delete", "\(path)/kiosks/k1"] {
        let body = "csrf_token=\(scene.csrfToken)&\(Self.times)&kiosk.k1=1&id=r1&brought.kiwi=5"
        #expect(try await scene.post(place, body).status == .forbidden)
      }
      scene.session = "nobody"
      for place in ["/routes", "/routes/new", path, "\(path)/kiosks/k1", "\(path)/load.csv"] {
        #expect(try await scene.get(place).status == .seeOther)
      }
    }
  }

  @Test(arguments: [
    "id=c1&brought.tea=5", "id=c1&counted.kiwi=-1", "id=c1&brought.kiwi=1e9", "brought.kiwi=1",
    "id=c%201&brought.kiwi=1", "id=c1&brought.kiwi=99999999999", "id=c1&counted.ki%20wi=1",
  ])
  func aStopThatNoneOfOursCanSay(body: String) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let answer = try await scene.post(
        "\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&\(body)")
      #expect(answer.status == .badRequest)
    }
  }

  @Test(arguments: [
    ("arrival=2026-11-24T08:00&until=2026-11-22T08:00&margin=20", "must be before"),
    ("arrival=2026-11-22T08:00&until=soon&margin=20", "must be before"),
    ("arrival=2026-11-22T08:00&until=2026-11-24T08:00&margin=201", "whole number from 0 to 200"),
    ("arrival=2026-11-20T23:59&until=2026-11-24T08:00&margin=20", "must not be before today"),
    ("arrival=2026-11-21T07:00&until=2026-11-21T08:59&margin=20", "that is still to come"),
    ("arrival=2026-11-22T08:00&until=2036-11-24T08:00&margin=20", "more than 60 days"),
    ("\(times)&stops=0", "The number of stops is from 1 to 100."),
    ("\(times)&stops=many", "The number of stops is from 1 to 100."),
    ("\(times)&van=-1", "a whole number from 1 to 1000000, or empty"),
  ])
  func aPlanThatCannotBe(times: String, problem: String) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      #expect(try await scene.get("/routes/new?\(times)").text.contains(problem))
      let answer = try await scene.post(
        "/routes", "csrf_token=\(scene.csrfToken)&\(times)&kiosk.k1=1")
      #expect(answer.text.contains(problem))
      let none = try await scene.post("/routes", "csrf_token=\(scene.csrfToken)&\(Self.times)")
      #expect(none.text.contains("Choose 1 to 100 kiosks."))
      let many = (1...101).map { "kiosk.k\($0)=1" }.joined(separator: "&")
      let tooMany = try await scene.post(
        "/routes", "csrf_token=\(scene.csrfToken)&\(Self.times)&\(many)")
      #expect(tooMany.text.contains("Choose 1 to 100 kiosks."))
      let unknown = try await scene.post(
        "/routes", "csrf_token=\(scene.csrfToken)&\(Self.times)&kiosk.k9=1")
      #expect(unknown.status == .badRequest)
      #expect(await scene.dashboard.routes.all.isEmpty)
    }
  }

  @Test func aRouteThatBeganEarlierTodayIsPlanned() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let times = "arrival=2026-11-21T00:00&until=2026-11-22T08:00&margin=20&fill=capacity"
      let answer = try await scene.post(
        "/routes", "csrf_token=\(scene.csrfToken)&\(times)&kiosk.k1=1")
      #expect(answer.status == .seeOther)
    }
  }

  @Test func aNameIsNeitherMarkupNorAFormula() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let (evil, formula) = ("<img src=x onerror=alert(1)>\"'", "=cmd|' /C calc'!A0")
      let info = KioskInfo(
        version: "1", startedAt: scene.now,
        name: LocalizedName(english: formula, korean: evil, fallback: "k1"), place: evil)
      try await scene.kiosk("info", info.payload)
      let fruit = LocalizedName(english: "  +kiwi, \"ripe\"", fallback: "kiwi")
      let menu = try Menu(
        fruits: [Fruit(id: "kiwi", name: fruit)],
        juices: [Juice(id: "kiwi", name: fruit, recipe: Recipe(["kiwi": 1]))])
      try await scene.kiosk(
        "menu", MenuReport(menu: menu, capacities: ["kiwi": 30], lowMarks: [:]).payload)
      let path = try await Self.createRoute(scene)
      for place in ["/routes", "/routes/new", path, "\(path)/kiosks/k1"] {
        for language in ["en", "ko"] {
          scene.cookieJar[SessionMiddleware.languageCookie] = language
          let page = try await scene.get(place)
          #expect(page.status == .ok)
          #expect(!page.text.contains("<img src=x"), "\(place)")
        }
      }
      scene.cookieJar[SessionMiddleware.languageCookie] = "en"
      let csv = try await scene.get("\(path)/stops.csv")
      #expect(csv.headers[.contentType] == "text/csv; charset=utf-8; header=present")
      #expect(
        csv.headers[.contentDisposition]?.hasPrefix("attachment; filename=\"stops-r") == true)
      #expect(
        csv.text.hasSuffix(
          "k1,'=cmd|' /C calc'!A0,\"<img src=x onerror=alert(1)>\"\"'\","
            + "\"'  +kiwi, \"\"ripe\"\"\",10,10,20,,,,,,open,0,1\r\n"))
      #expect(csv.text.unicodeScalars.first == "\u{FEFF}")
      let load = try await scene.get("\(path)/load.csv").text
      #expect(load.hasSuffix("\"'  +kiwi, \"\"ripe\"\"\",20,,,20\r\n"))
    }
  }

  @Test(arguments: [
    ("2026-11-24T15:30:00Z", "00:30", "00:30"),
    ("2026-11-24T14:59:59Z", "Nov 24 23:59", "11월 24일 23:59"),
    ("2026-11-25T14:59:59Z", "23:59", "23:59"),
    ("2026-11-25T15:00:00Z", "Nov 26 00:00", "11월 26일 00:00"),
  ])
  func aTimeIsReportedWithItsDayUnlessThatIsToday(time: String, english: String, korean: String)
    throws
  {
    let now = try #require(Timestamp("2026-11-24T15:45:00Z"))
    let time = try #require(Timestamp(time))
    #expect(LocalTime("Asia/Seoul", now: now, .english).text(time) == english)
    #expect(LocalTime("Asia/Seoul", now: now, .korean).text(time) == korean)
  }

  @Test func aTimeInAFormIsOnTheClockOfTheKiosks() {
    let localTime = LocalTime("Asia/Seoul", now: Timestamp(milliseconds: 0), .english)
    let time = localTime.time(field: "2026-11-27T08:00")
    #expect(time?.description == "2026-11-26T23:00:00Z")
    #expect(time.map { localTime.field($0) } == "2026-11-27T08:00")
    #expect(localTime.time(field: "2026-11-27T08:00:30")?.description == "2026-11-26T23:00:30Z")
    // Before and after the clocks change in Berlin.
    let berlin = LocalTime("Europe/Berlin", now: Timestamp(milliseconds: 0), .english)
    for (field, time) in [
      ("2026-10-25T01:30", "2026-10-24T23:30:00Z"), ("2026-10-25T04:00", "2026-10-25T03:00:00Z"),
      ("2026-03-29T01:30", "2026-03-29T00:30:00Z"), ("2026-03-29T04:00", "2026-03-29T02:00:00Z"),
    ] {
      #expect(berlin.time(field: field)?.description == time)
    }
    for field in ["", "2026-11-27", "27.11.2026", "2026-13-01T08:00", "soon"] {
      #expect(localTime.time(field: field) == nil)
    }
  }

  @Test func aSavedRouteIsPlannedAgainInItsOrder() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let answer = try await scene.post(
        "/routes",
        "csrf_token=\(scene.csrfToken)&\(Self.times)&kiosk.k1=1&order.k1=3&name=North%20%3Cb%3E&driver=minji"
      )
      let path = try #require(answer.headers[.location])
      let page = try await scene.get(path).text
      #expect(page.contains("North &lt;b&gt;") && page.contains("Driver: minji"))
      #expect(page.contains("class=\"tick\""))
      let id = path.dropFirst("/routes/".count)
      #expect(try await scene.get("/routes").text.contains("/routes/new?from=\(id)"))
      let form = try await scene.get("/routes/new?from=\(id)").text
      #expect(form.contains("name=\"kiosk.k1\" value=\"1\" checked"))
      #expect(form.contains("name=\"order.k1\" value=\"1\""))
      #expect(form.contains("name=\"name\" maxlength=\"64\" value=\"North &lt;b&gt;\""))
      // Two days, as before.
      #expect(
        form.contains("value=\"2026-11-22T08:00\"") && form.contains("value=\"2026-11-24T08:00\""))
      let edited = try await scene.post(
        "\(path)/edit", "csrf_token=\(scene.csrfToken)&driver=%20&name=South&order.k1=x")
      #expect(edited.headers[.location] == path)
      let changed = try await scene.get(path).text
      #expect(changed.contains("<h1>South</h1>") && !changed.contains("Driver:"))
      // Another has added the kiosk meanwhile.
      let again = try await scene.post("\(path)/edit", "csrf_token=\(scene.csrfToken)&add=k1")
      #expect(again.headers[.location] == path)
      for body in ["add=nowhere", "add=%3Cb%3E"] {
        let refused = try await scene.post("\(path)/edit", "csrf_token=\(scene.csrfToken)&\(body)")
        #expect(refused.status == .badRequest)
      }
    }
  }

  /// Publishes the state of a second kiosk.
  private static func addKiosk(
    _ scene: Scene, timeZone: String = "UTC", region: String? = nil
  ) async throws {
    let fruits = FruitAmounts(Menu.standard.fruits.map { ($0.id, 0) })
    let capacities = FruitAmounts(Menu.standard.fruits.map { ($0.id, 100) })
    let menu = MenuReport(menu: .standard, capacities: capacities, lowMarks: [:])
    let sales = SalesReport(
      at: scene.now, timeZone: timeZone, today: CivilDate(daysSinceEpoch: 20_778))
    let info = KioskInfo(version: "1", startedAt: scene.now, region: region)
    for (topic, payload) in [
      ("status", Array("online".utf8)), ("menu", menu.payload), ("sales", sales.payload),
      ("info", info.payload),
      ("stock", StockReport(seq: 1, at: scene.now, fruits: fruits).payload),
    ] { try await scene.kiosk(topic, payload, of: "k2") }
  }

  /// A phone sends its stored reports when the region of the kiosk is known.
  @Test func aRouteWithAnUnknownKioskWaits() async throws {
    try await Scene.run { scene in
      let (rita, dan) = (try User.test("rita", .operator), try User.test("dan", .driver))
      try scene.dashboard.users.update { users in
        for user in [rita, dan] {
          users[user.name] = User(
            name: user.name, role: user.role, password: user.password, regions: ["North"])
        }
      }
      let info = KioskInfo(version: "1", startedAt: scene.now, region: "North")
      try await scene.kiosk("info", info.payload)
      let now = scene.now
      let end = Timestamp(milliseconds: now.milliseconds + 86_400_000)
      let plan = try #require(RoutePlan(arrival: now, end: end, margin: 20, fill: .capacity))
      let stops = (["k1", "k9"] as [KioskID]).map {
        Route.Stop(kiosk: $0, name: nil, place: nil, wasOnline: true, lines: [], command: .random)
      }
      try await scene.dashboard.routes.add(
        Route(
          id: "r1", createdAt: now, createdBy: "ada", plan: plan, timeZone: nil, stops: stops,
          driver: "dan"))
      try await scene.authenticate("rita")
      #expect(try await scene.get("/routes/r1").status == .serviceUnavailable)
      #expect(try await scene.get("/routes/r1/kiosks/k1").status == .serviceUnavailable)
      try await scene.authenticate("dan")
      #expect(try await scene.get("/routes/r1").status == .ok)
      try await scene.kiosk(
        "info", KioskInfo(version: "1", startedAt: now, region: "South").payload, of: "k9")
      for user in ["rita", "dan"] {
        try await scene.authenticate(user)
        #expect(try await scene.get("/routes/r1").status == .notFound)
      }
    }
  }

  /// A driver may not restock a kiosk; the own numbers stay in the browser.
  @Test func aDriverIsNotSentToTheKiosk() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let id = try Self.field("id", in: try await scene.get("\(path)/kiosks/k1").text)
      _ = try await Self.confirm(scene, path, "id=\(id)&brought.kiwi=80", .applied)
      let dan = try User.test("dan", .driver)
      try scene.dashboard.users.update { $0[dan.name] = dan }
      _ = try await scene.post(
        "\(path)/edit", "csrf_token=\(scene.csrfToken)&driver=dan&name=&order.k1=1")
      let body = "id=\(id)&brought.kiwi=70"
      let own = try await scene.post("\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&\(body)")
      #expect(own.text.contains("href=\"/kiosks/k1?add.kiwi=70\""))
      try await scene.authenticate("dan")
      #expect(
        try await scene.get("/routes").text.contains(
          "data-gone=\"its route was deleted or is not yours any more; tell an operator"))
      let page = try await scene.post(
        "\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&\(body)")
      #expect(page.text.contains("already sent with other numbers"))
      #expect(
        page.text.contains("href=\"?correct=1&amp;brought.kiwi=70\">Mine are right: correct it"))
      #expect(!page.text.contains("href=\"/kiosks/k1?"))
    }
  }

  @Test func aProposalIsForOneTimeZoneAndOneRegion() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let sales = SalesReport(
        at: scene.now, timeZone: "Europe/Berlin", today: CivilDate(daysSinceEpoch: 20_778))
      try await scene.kiosk("sales", sales.payload)
      #expect(!(try await scene.get("/routes/new").text.contains("name=\"zone\"><")))
      try await Self.addKiosk(scene, timeZone: "Asia/Seoul", region: "South")
      func kiosks(_ query: String) async throws -> [Bool] {
        let form = try await scene.get("/routes/new?\(query)").text
        return ["k1", "k2"].map { form.contains("name=\"kiosk.\($0)\"") }
      }
      #expect(try await kiosks("zone=Europe/Berlin") == [true, false])
      #expect(try await kiosks("zone=Asia/Seoul") == [false, true])
      #expect(try await kiosks("zone=Asia/Seoul&region=South") == [false, true])
      #expect(try await kiosks("zone=Europe/Berlin&region=South") == [false, false])
      // An unknown time zone or region counts as none.
      #expect(try await kiosks("zone=Mars&region=North") == [false, true])
      let form = try await scene.get("/routes/new?zone=Asia/Seoul").text
      #expect(form.contains("<option value=\"Asia/Seoul\" selected>"))
      // Times are in the chosen zone, in which the route shows them.
      let answer = try await scene.post(
        "/routes", "csrf_token=\(scene.csrfToken)&\(Self.times)&zone=Asia/Seoul&kiosk.k2=1")
      let id = try #require(answer.headers[.location]?.dropFirst("/routes/".count))
      let route = await scene.dashboard.routes.all.first
      #expect(route?.timeZone == "Asia/Seoul")
      #expect(route?.plan.arrival.description == "2026-11-21T23:00:00Z")
      // Planned again, it keeps its kiosks and its time zone.
      #expect(try await kiosks("from=\(id)") == [false, true])
    }
  }

  @Test func whatAnotherRouteVisitsIsNotProposedAgain() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await Self.addKiosk(scene)
      func isProposed() async throws -> Bool {
        try await scene.get("/routes/new?\(Self.times)").text
          .contains("name=\"kiosk.k2\" value=\"1\" checked")
      }
      #expect(try await isProposed())
      let answer = try await scene.post(
        "/routes",
        "csrf_token=\(scene.csrfToken)&\(Self.times)&kiosk.k2=1&kiosk.k1=1&order.k2=1&van=600")
      let path = try #require(answer.headers[.location])
      #expect(try await !isProposed())
      #expect(try await scene.get("/routes/new").text.contains("on a route: "))
      // Five fruits: 500 for one kiosk, 450 for the other.
      let page = try await scene.get(path).text
      #expect(page.contains("more than the van holds: 950 of 600 pieces"))
      #expect(page.contains("1. <a data-stop") && page.contains("Next stop: 1. k2"))
      _ = try await scene.post("\(path)/kiosks/k2/skip", "csrf_token=\(scene.csrfToken)&skip=1")
      let after = try await scene.get(path).text
      #expect(after.contains("Next stop: 2. k1") && !after.contains("more than the van holds"))
      #expect(try await isProposed())
    }
  }

  @Test func aKioskIsSkippedOnTheWay() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      func skip(_ value: String) async throws -> Answer {
        try await scene.post(
          "\(path)/kiosks/k1/skip", "csrf_token=\(scene.csrfToken)&skip=\(value)")
      }
      #expect(try await skip("2").status == .badRequest)
      #expect(try await skip("1").headers[.location] == path)
      #expect(try await scene.get(path).text.contains(">skipped<"))
      #expect(try await scene.get("/routes").text.contains("1 / 1"))
      #expect(try await scene.get("\(path)/kiosks/k1").text.contains("Visit it after all"))
      #expect(try await skip("0").headers[.location] == path)
      #expect(try await scene.get(path).text.contains(">planned<"))
    }
  }

  /// The page with the numbers is that of the report, or that of its correction.
  @Test(arguments: [false, true])
  func aNumberThatIsTooLargeIsShownAgain(isCorrection: Bool) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let route = try await Self.createRoute(scene)
      let path = "\(route)/kiosks/k1"
      let first = try await scene.get(path).text
      var (target, fields) = (path, "id=\(try Self.field("id", in: first))")
      if isCorrection {
        _ = try await Self.confirm(scene, route, "\(fields)&brought.kiwi=80", .applied)
        let form = try await scene.get("\(path)?correct=1").text
        let correct = try Self.field("correct", in: form)
        (target, fields) = ("\(path)/correct", "id=x1&correct=\(correct)")
      }
      let answer = try await scene.post(
        target, "csrf_token=\(scene.csrfToken)&\(fields)&brought.kiwi=99999999999&brought.mango=7")
      #expect(answer.status == .badRequest)
      let query = "brought.kiwi=99999999999&brought.mango=7\(isCorrection ? "&correct=1" : "")"
      let link = "href=\"\(path)?\(query.replacing("&", with: "&amp;"))\">Open the form again"
      #expect(answer.text.contains(link))
      let form = try await scene.get("\(path)?\(query)").text
      #expect(form.contains("action=\"\(target)\""))
      #expect(try Self.field("brought.kiwi", in: form) == "99999999999")
      #expect(try Self.field("brought.mango", in: form) == "7")
    }
  }

  @Test func aConfirmedSheetIsCorrected() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let path = try await Self.createRoute(scene)
      let id = try Self.field("id", in: try await scene.get("\(path)/kiosks/k1").text)
      _ = try await Self.confirm(
        scene, path, "id=\(id)&brought.kiwi=80&counted.mango=7&ledger.mango=10", .applied)
      let form = try await scene.get("\(path)/kiosks/k1?correct=1").text
      #expect(form.contains("name=\"brought.kiwi\" value=\"80\""))
      #expect(form.contains("name=\"counted.mango\" value=\"7\""))
      #expect(!form.contains("name=\"counted.kiwi\"") && form.contains("name=\"best.kiwi\""))
      async let page = scene.post(
        "\(path)/kiosks/k1/correct",
        "csrf_token=\(scene.csrfToken)&id=x1&brought.kiwi=8&counted.mango=9")
      let request = try await scene.nextRequest(.restock)
      #expect(request.command == .restock(Restock(add: ["kiwi": -72, "mango": 2])))
      try await scene.answer(CommandResult(status: .applied), to: request)
      #expect(try await page.text.contains("Done, corrected."))
      #expect(try await scene.get("/routes").text.contains("8 / 90"))
      // The links of this page are relative to its own path.
      let next = try await scene.get("\(path)/kiosks/k1/correct?correct=1").text
      #expect(try Self.field("brought.kiwi", in: next) == "8")
      // Sent again, nothing is sent.
      let again = try await scene.post(
        "\(path)/kiosks/k1/correct",
        "csrf_token=\(scene.csrfToken)&id=x1&brought.kiwi=8&counted.mango=9")
      #expect(again.text.contains("Done, corrected."))
      // A page from before the correction, with other numbers.
      let late = try await scene.post(
        "\(path)/kiosks/k1", "csrf_token=\(scene.csrfToken)&id=\(id)&brought.kiwi=80")
      #expect(late.text.contains("data-outcome=\"others\""))
      #expect(late.text.contains("Sent by minji") && !late.text.contains("on an old page"))
    }
  }

  @Test func aPlaceLeadsToAMapAndNothingElse() {
    let evil = "1 Main Street\"><b>/?&#x"
    let link = HTML.map(evil, timeZone: "Europe/Berlin", .english)?.text ?? ""
    #expect(
      link.contains(
        "https://www.google.com/maps/search/?api=1&amp;query=1%20Main%20Street%22%3E%3Cb%3E/%3F%26%23x"
      ))
    let korean = HTML.map("시청 1 a/b", timeZone: "Asia/Seoul", .korean)?.text ?? ""
    #expect(korean.contains("https://map.kakao.com/link/search/%EC%8B%9C%EC%B2%AD%201%20a%2Fb\""))
    // A place without a digit is no address.
    for place in ["", "Lobby", "지하"] {
      #expect(HTML.map(place, timeZone: nil, .english) == nil)
    }
  }

  @Test func kiosksOfTwoCurrenciesAreNotInOneVanByAccident() async throws {
    func kiosk(_ id: KioskID, _ price: Money?) throws -> KioskState {
      var fleet = KioskFleet(root: "kiosk")
      let name = LocalizedName(fallback: "kiwi")
      let menu = try Menu(
        fruits: [Fruit(id: "kiwi", name: name)],
        juices: [Juice(id: "kiwi", name: name, recipe: Recipe(["kiwi": 1]), price: price)])
      fleet.receive(
        topic: "kiosk/\(id)/menu",
        payload: MenuReport(menu: menu, capacities: [:], lowMarks: [:]).payload,
        isRetained: true, at: Timestamp(milliseconds: 0))
      return try #require(fleet[id])
    }
    let won = Money(units: 5_000, try #require(Currency("KRW")))
    let kiosks = [
      try kiosk("a", Money("3.50", .euro)), try kiosk("b", won), try kiosk("c", nil),
    ]
    #expect(MixedKiosks(kiosks, regions: [:], .english)?.kinds == ["EUR: a", "KRW: b"])
    #expect(MixedKiosks([kiosks[0], kiosks[2]], regions: [:], .english) == nil)
    let regions: [KioskID: String] = ["a": "north", "c": "south"]
    #expect(
      MixedKiosks([kiosks[0], kiosks[2]], regions: regions, .english)?.kinds
        == ["north: a", "south: c"])
    #expect(MixedKiosks([kiosks[0]], regions: regions, .english) == nil)
  }
}
