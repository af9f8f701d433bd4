import CommandLineSupport
import Fleet
import Foundation
import HTTPTypes
import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import DashboardWeb

/// The pages with which administrators manage users, and users their password.
@Suite struct UsersTests {
  @Test(arguments: [([String]?.none, User.Role.admin), (["Seoul"], .viewer)])
  func theFirstUserIsAnAdministrator(regions: [String]?, role: User.Role) async throws {
    try await withUserFile { users in
      let hash = PasswordHash.dummy(cost: .small)
      let first = try users.change(
        "minji", password: hash, regions: regions, addingNew: true)
      let second = try users.change("jun", password: hash, addingNew: true)
      #expect(first.after?.role == role && second.after?.role == .viewer)
      #expect(try users.change("minji", password: hash).after?.role == role)
    }
  }

  @Test func theFirstStartSaysWhatIsNext() async throws {
    try await Scene.run { scene in
      #expect(try await !scene.get("/login").text.contains("juice-dashboard user add"))
      try scene.dashboard.users.update { $0 = [:] }
      for path in ["/login", "/"] {
        let login = try await scene.get(path, [.acceptLanguage: "ko"]).text
        #expect(login.contains("juice-dashboard user add NAME"), "\(path)")
        #expect(login.contains("첫 사용자는 관리자"), "\(path)")
      }
      let cases: [(BrokerError?, String)] = [
        (nil, "is connected to its broker"), (.loginRefused("no"), "is not connected"),
      ]
      for (error, words) in cases {
        let page = FleetPage(
          fleet: KioskFleet(root: "kiosk"), connectionError: error, now: scene.now,
          language: .english, brokerLines: ["broker:", "  host: 10.0.0.5", "  port: 1883"]
        ).page().body.text
        #expect(page.contains(words) && page.contains("  host: 10.0.0.5\n  port: 1883"))
        #expect(
          page.contains("3. Waiting for the first kiosk") && !page.contains("On another computer"))
        let limited = FleetPage(
          fleet: KioskFleet(root: "kiosk"), connectionError: error, now: scene.now,
          language: .english, isLimited: true
        ).page().body.text
        #expect(limited.contains("No kiosk of your regions is known."))
        #expect(!limited.contains("first kiosk"))
      }
    }
  }

  /// Runs a test with the administrator `ada`, who is logged in.
  private func run(_ body: @Sendable @escaping (Scene) async throws -> Void) async throws {
    try await Scene.run { scene in
      let ada = try User.test("ada", .admin)
      try scene.dashboard.users.update { $0[ada.name] = ada }
      try await scene.authenticate("ada")
      try await body(scene)
    }
  }

  private func post(_ body: String, to path: String = "/users", in scene: Scene) async throws
    -> Answer
  {
    try await scene.post(path, "csrf_token=\(scene.csrfToken)&\(body)")
  }

  /// Returns the path of the link on a page.
  private func link(_ page: Answer) throws -> String {
    let value = try #require(page.text.firstMatch(of: /value="([^"]*\/password\/[^"]+)"/)).1
    return String(value)
  }

  /// Uses another browser.
  private func anotherBrowser<Value>(
    _ scene: Scene, _ body: () async throws -> Value
  ) async throws -> Value {
    let cookies = scene.cookieJar
    scene.cookieJar = [:]
    scene.session = try await scene.get("/login").session ?? ""
    let value = try await body()
    scene.cookieJar = cookies
    return value
  }

  @Test func aHelperIsAddedWithALinkThatWorksOnce() async throws {
    try await run { scene in
      let page = try await post("do=add&user=nora&role=operator", in: scene)
      let link = try link(page)
      let file = try String(
        contentsOfFile: "\(scene.dashboard.settings.stateFolder)/password-links.json",
        encoding: .utf8)
      #expect(!file.contains(link.suffix(43)))
      #expect(try await scene.get("/users").text.contains(link) == false)
      try await anotherBrowser(scene) { () async throws -> Void in
        #expect(try await scene.logIn("nora").status == .unauthorized)
        #expect(try await scene.get(link).text.contains("<b>nora</b>"))
        for (new, again, text) in [
          ("short", "short", "at least 8"), ("strawberries", "blueberries1", "not the same"),
        ] {
          let answer = try await post("new=\(new)&again=\(again)", to: link, in: scene)
          #expect(answer.text.contains(text))
        }
        let before = scene.session
        let done = try await post("new=blackberries&again=blackberries", to: link, in: scene)
        #expect(done.status == .seeOther)
        let after = try #require(done.session)
        #expect(after != before)
        #expect(try await scene.get(link).status == .gone)
        let again = try await post("new=raspberries1&again=raspberries1", to: link, in: scene)
        #expect(again.status == .gone)
        #expect(try await scene.logIn("nora", "blackberries").status == .seeOther)
      }
      let audit = try await scene.get("/users/audit").text
      #expect(audit.contains("added a user") && audit.contains("set the own password"))
    }
  }

  @Test func aLinkExpiresAndANewOneReplacesIt() async throws {
    try await run { scene in
      let first = try link(try await post("do=reset&user=vera", in: scene))
      let second = try link(try await post("do=reset&user=vera", in: scene))
      #expect(try await scene.get(first).status == .gone)
      #expect(try await scene.get(second).status == .ok)
      let administration = scene.dashboard.administration
      let token = String(second.suffix(43))
      let later = Timestamp(milliseconds: scene.now.milliseconds + 86_400_000)
      #expect(await administration.user(of: token, at: scene.now) == "vera")
      #expect(await administration.user(of: token, at: later) == nil)
      // The old password is valid until the link is used; a user who is removed has no link.
      try await anotherBrowser(scene) { () async throws -> Void in
        #expect(try await scene.logIn("vera").status == .seeOther)
      }
      _ = try await post("do=remove&user=vera", in: scene)
      #expect(try await scene.get(second).status == .gone)
    }
  }

  /// An administrator changes the file with the command `juice-dashboard user`.
  @Test func aNewPasswordOrAnotherUserOfThatNameEndsALink() async throws {
    try await run { scene in
      let users = scene.dashboard.users
      let first = try link(try await post("do=reset&user=vera", in: scene))
      _ = try users.change("vera", role: .operator)
      #expect(try await scene.get(first).status == .ok)
      _ = try users.change("vera", password: PasswordHash(of: "blackberries", cost: .small))
      #expect(try await scene.get(first).status == .gone)
      let second = try link(try await post("do=reset&user=vera", in: scene))
      #expect(try await scene.get(second).status == .ok)
      try users.update { $0["vera"] = nil }
      _ = try users.change(
        "vera", password: PasswordHash(of: "blackberries", cost: .small), addingNew: true)
      #expect(try await scene.get(second).status == .gone)
      let answer = try await post("new=raspberries1&again=raspberries1", to: second, in: scene)
      #expect(answer.status == .gone)
    }
  }

  @Test func onlyAdministratorsManageUsers() async throws {
    try await run { scene in
      let adas = scene.csrfToken
      for name in ["minji", "vera"] {
        try await anotherBrowser(scene) { () async throws -> Void in
          try await scene.authenticate(name)
          for path in ["/users", "/users/audit"] {
            #expect(try await scene.get(path).status == .forbidden)
          }
          #expect(try await scene.get("/").text.contains("/users") == false)
          for action in ["add", "role", "reset", "remove"] {
            let answer = try await post("do=\(action)&user=\(name)&role=admin", in: scene)
            #expect(answer.status == .forbidden)
          }
        }
      }
      try await anotherBrowser(scene) { () async throws -> Void in
        #expect(try await scene.get("/users").status == .seeOther)
        #expect(try await scene.get("/account").status == .seeOther)
      }
      // A form of another session.
      let forged = try await scene.post("/users", "csrf_token=x\(adas)&do=remove&user=vera")
      #expect(forged.status == .forbidden)
      #expect(scene.dashboard.users.current.users["vera"] != nil)
      #expect(scene.dashboard.users.current.users["minji"]?.role == .operator)
    }
  }

  @Test func rolesChangeButNeverTheOwnOne() async throws {
    try await run { scene in
      _ = try await post("do=role&user=vera&role=operator", in: scene)
      #expect(scene.dashboard.users.current.users["vera"]?.role == .operator)
      for action in ["role", "remove"] {
        let answer = try await post("do=\(action)&user=ada&role=viewer", in: scene)
        #expect(answer.text.contains("cannot change or remove yourself"))
      }
      #expect(scene.dashboard.users.current.users["ada"]?.role == .admin)
      let twice = try await post("do=add&user=minji&role=viewer", in: scene)
      #expect(twice.text.contains("such a user already"))
      #expect(scene.dashboard.users.current.users["minji"]?.role == .operator)
      for body in ["do=add&user=%3Cb%3E&role=viewer", "do=add&user=&role=viewer"] {
        #expect(try await post(body, in: scene).text.contains("A name is 1 to 64"))
      }
      for body in [
        "do=add&user=x&role=root", "do=dance&user=x", "do=role&user=vera",
      ] {
        #expect(try await post(body, in: scene).status == .badRequest)
      }
      // An administrator who is none any more.
      try scene.dashboard.users.update { users in
        guard let ada = users["ada"] else { return }
        users["ada"] = User(name: ada.name, role: .operator, password: ada.password)
      }
      #expect(try await post("do=remove&user=vera", in: scene).status != .ok)
      #expect(scene.dashboard.users.current.users["vera"] != nil)
    }
  }

  @Test func regionsAreChosenFromThoseOfTheKiosks() async throws {
    try await run { scene in
      #expect(try await !scene.get("/users").text.contains("region."))
      for (kiosk, region) in [("k1", "Seoul  North"), ("k2", "Busan")] as [(KioskID, String)] {
        let info = KioskInfo(version: "1", startedAt: scene.now, region: region)
        try await scene.kiosk("info", info.payload, of: kiosk)
        try await scene.kiosk("status", Array("online".utf8), of: kiosk)
      }
      let page = try await scene.get("/users").text
      #expect(page.contains("value=\"Busan\"") && page.contains("value=\"Seoul North\""))
      func regions(of user: User.Name) -> [String]? {
        scene.dashboard.users.current.users[user]?.regions
      }
      for (action, user) in [("add", "jun"), ("regions", "vera")] {
        let body = "do=\(action)&user=\(user)&role=viewer&region.0=Busan&region.1=Bussan"
        let answer = try await post(body, in: scene)
        #expect(answer.text.contains("There is no kiosk in the region Bussan"))
      }
      #expect(regions(of: "jun") == nil && regions(of: "vera") == [])
      _ = try await post(
        "do=add&user=jun&role=viewer&region.1=Seoul+North&region.0=Busan", in: scene)
      #expect(regions(of: "jun") == ["Busan", "Seoul North"])
      _ = try await post("do=regions&user=jun&region.0=Busan", in: scene)
      _ = try await post("do=role&user=jun&role=operator", in: scene)
      #expect(regions(of: "jun") == ["Busan"])
      #expect(scene.dashboard.users.current.users["jun"]?.role == .operator)
      // A region whose last kiosk was removed can stay.
      try await scene.kiosk("status", [], of: "k2")
      _ = try await post("do=regions&user=jun&region.0=Busan&region.1=Seoul+North", in: scene)
      #expect(regions(of: "jun") == ["Busan", "Seoul North"])
      _ = try await post("do=regions&user=jun", in: scene)
      #expect(regions(of: "jun") == [])
      let audit = try await scene.get("/users/audit").text
      #expect(audit.contains("changed the regions") && audit.contains("viewer, Busan, Seoul North"))
      scene.cookieJar[SessionMiddleware.languageCookie] = "ko"
      #expect(!(try await scene.get("/users/audit").text.contains("operator</span>")))
    }
  }

  @Test func everyUserChangesTheOwnPasswordAndEndsOtherSessions() async throws {
    try await run { scene in
      try await scene.authenticate("vera")
      let firstBrowser = scene.cookieJar
      scene.cookieJar = [:]
      try await scene.authenticate("vera")
      let listed = try await scene.get("/account").text
      let ids = listed.matches(of: /name="session" value="([^"]+)"/).map { String($0.1) }
      #expect(ids.count == 1)
      #expect(!listed.contains(scene.session))
      let wrong = try await post(
        "password=wrong-one&new=blackberries&again=blackberries", to: "/account/password",
        in: scene)
      #expect(wrong.status == .unauthorized)
      // Another user's session does not end.
      let ended = try await post("session=\(ids[0])", to: "/account/sessions", in: scene)
      #expect(ended.status == .seeOther)
      let secondBrowser = scene.cookieJar
      scene.cookieJar = firstBrowser
      #expect(try await scene.get("/account").status == .seeOther)
      try await scene.authenticate("vera")
      let third = scene.cookieJar
      scene.cookieJar = secondBrowser
      let changed = try await post(
        "password=strawberries&new=blackberries&again=blackberries", to: "/account/password",
        in: scene)
      #expect(changed.status == .seeOther)
      scene.cookieJar.merge(changed.cookies) { $1 }
      #expect(try await scene.get("/account").status == .ok)
      scene.cookieJar = third
      #expect(try await scene.get("/account").status == .seeOther)
    }
  }

  @Test func anAdministratorEndsTheSessionOfAnother() async throws {
    try await run { scene in
      let adas = scene.cookieJar
      scene.cookieJar = [:]
      try await scene.authenticate("minji")
      let minjis = scene.cookieJar
      // A user cannot end the session of another.
      let all = scene.dashboard.sessions.list(
        of: nil, at: .start, token: scene.session, where: { _ in true })
      let ada = try #require(all.first { $0.user == "ada" })
      _ = try await post("session=\(ada.id)", to: "/account/sessions", in: scene)
      scene.cookieJar = adas
      #expect(try await scene.get("/users").status == .ok)
      let minji = try #require(all.first { $0.user == "minji" })
      _ = try await post("do=end&session=\(minji.id)", in: scene)
      scene.cookieJar = minjis
      #expect(try await scene.get("/kiosks/k1").status == .seeOther)
    }
  }

  @Test(arguments: [
    (
      "Mozilla/5.0 (Linux; Android 14; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36",
      "Chrome, Android"
    ),
    (
      "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1",
      "Safari, iPhone"
    ),
    (
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36 Edg/124.0.0.0",
      "Edge, Windows"
    ),
    ("Mozilla/5.0 (X11; Linux x86_64; rv:125.0) Gecko/20100101 Firefox/125.0", "Firefox, Linux"),
    ("curl/8.5.0", "curl/8.5.0"), ("", ""),
  ])
  func aSessionHasTheNameOfItsBrowser(header: String, name: String) async throws {
    #expect(BrowserName.text(header) == name)
    try await Scene.run { scene in
      scene.session = try await scene.get("/login").session ?? ""
      let login = try await scene.post(
        "/login", "csrf_token=\(scene.csrfToken)&name=vera&password=strawberries&to=/",
        fields: [.userAgent: header])
      scene.cookieJar.merge(login.cookies) { $1 }
      let page = try await scene.get("/account").text
      #expect(page.contains("this browser") && page.contains("\">\(name)"))
    }
  }

  @Test func theReasonOfTheBrokerIsInTheLanguageOfThePage() {
    let errors: [BrokerError] = [
      .unreachable("x"), .loginRefused("x"), .connectionRefused("x"), .protocolRefused("x"),
      .subscriptionRefused(filter: "x"), .tls("x"), .connectionLost("x"), .malformedPacket("x"),
      .sessionTakenOver, .publishRefused(topic: "x", reason: "y"),
      .cannotPublish(topics: ["x"], reason: "y"),
    ]
    for error in errors {
      #expect(error.text(.english) == error.description)
      #expect(error.text(.korean).contains("요") && !error.text(.korean).contains("the broker"))
    }
  }
}
