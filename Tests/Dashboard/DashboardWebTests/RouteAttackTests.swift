import Fleet
import HTTPTypes
import Hummingbird
import JuiceDomain
import KioskProtocol
import Testing

@testable import DashboardWeb

/// Attacks on each path that the dashboard has, so also on a path that is new.
@Suite struct RouteAttackTests {
  /// Paths that need no user. A token is the user of the others.
  private static let open = Set(
    [
      "/login", "/logout", "/language/{language}", "/password/{token}", "/wall/{token}",
      "/wall/{token}/live", "/tablet/{token}", "/tablet/{token}/live", "/pictures/{picture}",
      "/health",
    ] + (Asset.all + [.worker]).map(\.path))
  /// Forms of a user about the user.
  private static let own: Set<String> = [
    "/account/password", "/account/sessions", "/account/messages",
  ]

  private static let values = [
    "kiosk": "k1", "route": "r1", "language": "ko", "token": String(repeating: "A", count: 43),
    "picture": "kiwi.svg",
  ]

  /// Values that end a field, leave a folder, are markup, or are longer than anything.
  private static let evil = [
    "..%2F..%2Fetc%2Fpasswd", "%2e%2e", "%00", "k1%0D%0AX-Evil:%201", "%E2%80%A8X-Evil:1",
    "%22%3E%3Cx-evil%3E", "%ff%fe", "//evil.example", "https:%2F%2Fevil.example",
    String(repeating: "A", count: 9000), String(repeating: "%ED%95%9C", count: 3000),
  ]

  private struct Path {
    let method: HTTPRequest.Method
    let pattern: String

    /// The path with a value for each parameter, and the names of the parameters.
    func filled(_ values: [String: String]) -> String {
      values.reduce(pattern) { $0.replacing("{\($1.key)}", with: $1.value) }
    }

    var isLive: Bool { pattern.hasSuffix("live") }
    var isTable: Bool { pattern.hasSuffix(".csv") || pattern.hasSuffix(".xlsx") }
  }

  /// Runs an attack on each path, with a chain whose database is away. The kiosk is in the region
  /// `North`. Of the routes with a stop at the kiosk, `r1` has the driver `dan`, `r2` another one.
  private func attack(
    _ user: String? = nil,
    _ body: @Sendable @escaping (Scene, Path) async throws -> Void
  ) async throws {
    let archive = ChainArchive(ChainSettings(database: "host=/nowhere dbname=juice"))
    // No kiosk answers, so the pages that ask one do not wait.
    try await Scene.run(
      answerTimeout: .zero, archive: archive
    ) { scene in
      let (admin, driver) = (try User.test("ada", .admin), try User.test("dan", .driver))
      let regional = User(
        name: "rita", role: .admin, password: admin.password, regions: ["West", "South"])
      try scene.dashboard.users.update { users in
        for user in [admin, driver, regional] { users[user.name] = user }
      }
      let info = KioskInfo(
        version: "1", startedAt: scene.now, name: LocalizedName(fallback: "Harbour"),
        region: "North")
      try await scene.kiosk("info", info.payload)
      try await Self.addRoutes(to: scene)
      scene.session = try await scene.get("/login").session ?? ""
      if let user { try await scene.authenticate(user) }
      let paths = scene.dashboard.router().routes.map {
        Path(method: $0.method, pattern: $0.path.description)
      }
      #expect(paths.count { $0.method == .post } > 20 && paths.count > 50)
      for path in paths { try await body(scene, path) }
    }
  }

  private static func addRoutes(to scene: Scene) async throws {
    let later = Timestamp(milliseconds: scene.now.milliseconds + 86_400_000)
    let plan = try #require(RoutePlan(arrival: scene.now, end: later, margin: 20, fill: .capacity))
    let kiosk = try #require(scene.dashboard.link.fleet["k1"])
    for (id, driver) in [("r1", " Dan"), ("r2", "Danny")] as [(Route.ID, String)] {
      let stop = Route.Stop(
        kiosk: "k1", name: kiosk.name, place: nil, wasOnline: true,
        lines: plan.lines(for: kiosk, at: scene.now) ?? [], command: .random)
      try await scene.dashboard.routes.add(
        Route(
          id: id, createdAt: scene.now, createdBy: "ada", plan: plan, timeZone: nil, stops: [stop],
          driver: driver))
    }
  }

  @Test func withoutALoginNothingIsShownOrChanged() async throws {
    try await attack { scene, path in
      guard !Self.open.contains(path.pattern) else { return }
      let target = path.filled(Self.values)
      let answer =
        path.method == .get
        ? try await scene.get(target)
        : try await scene.post(target, "csrf_token=\(scene.csrfToken)")
      let isLogin = answer.text.contains("action=\"/login\"") && path.pattern == "/"
      let isSentThere = answer.headers[.location]?.hasPrefix("/login") == true
      #expect(isLogin || answer.status == .seeOther && isSentThere, "\(path)")
    }
  }

  /// A tablet has no session: its link is the only permission.
  @Test func aFormWithoutTheTokenOfItsSessionIsForged() async throws {
    try await attack("ada") { scene, path in
      guard path.method == .post, path.pattern != "/tablet/{token}" else { return }
      let target = path.filled(Self.values)
      let token = scene.csrfToken
      let other = scene.dashboard.sessions.csrfToken(for: "another")
      for forged in ["", other, token + "A", String(token.dropLast()), scene.session, "%00"] {
        let answer = try await scene.post(target, "do=add&user=eve&csrf_token=\(forged)")
        #expect(answer.status == .forbidden, "\(path) \(forged)")
      }
      for (query, body) in [
        ("", "do=add"), ("?csrf_token=\(token)", "do=add"),
        // A field that occurs twice does not count.
        ("", "csrf_token=\(other)&csrf_token=\(token)"), ("", "csrf_token=\(token)&a=1&a=2"),
      ] {
        let answer = try await scene.post(target + query, body)
        #expect(answer.status == .forbidden, "\(path) \(query) \(body)")
      }
    }
  }

  @Test(arguments: ["vera", "minji"])
  func aRoleThatIsTooLowChangesNothing(user: String) async throws {
    try await attack(user) { scene, path in
      let isTechnical = ChainLayout.Tab.all.contains { $0.isTechnical && $0.path == path.pattern }
      let isDenied =
        path.pattern.hasPrefix("/users") || isTechnical
        || path.method == .post && user == "vera" && !Self.own.contains(path.pattern)
      guard isDenied, !Self.open.contains(path.pattern) else { return }
      let target = path.filled(Self.values)
      let answer =
        path.method == .get
        ? try await scene.get(target)
        : try await scene.post(target, "csrf_token=\(scene.csrfToken)")
      #expect(answer.status == .forbidden, "\(path)")
    }
  }

  @Test func aUserOfOtherRegionsSeesNothingOfTheKiosk() async throws {
    try await attack("rita") { scene, path in
      // The live list of kiosks does not end.
      guard !Self.open.contains(path.pattern), path.pattern != "/live" else { return }
      let target = path.filled(Self.values)
      let answer =
        path.method == .get
        ? try await scene.get(target)
        : try await scene.post(
          target,
          "csrf_token=\(scene.csrfToken)&kiosk.k1=1&margin=20&arrival=2026-11-22T08:00"
            + "&until=2026-11-23T08:00")
      if path.pattern.contains("{kiosk}") || path.pattern.contains("{route}"),
        !path.pattern.hasPrefix("/chain")
      {
        #expect(answer.status == .notFound, "\(path)")
      }
      if path.pattern.hasPrefix("/users") {
        #expect([.notFound, .forbidden].contains(answer.status), "\(path)")
      }
      #expect(!answer.text.contains("Harbour"), "\(path)")
      #expect(await scene.dashboard.routes.all.count == 2, "\(path)")
    }
  }

  /// A user of the kiosk's region needs no archive for it.
  @Test func aUserOfTheRegionSeesTheKiosk() async throws {
    try await attack("rita") { scene, path in
      let info = KioskInfo(
        version: "1", startedAt: scene.now, name: LocalizedName(fallback: "Harbour"),
        region: "West")
      if scene.dashboard.link.fleet["k1"]?.region != "West" {
        try await scene.kiosk("info", info.payload)
      }
      guard path.method == .get, !path.isLive, !Self.open.contains(path.pattern),
        !["users", "chain"].contains(path.pattern.split(separator: "/").first)
      else { return }
      let answer = try await scene.get(path.filled(Self.values))
      #expect(answer.status == .ok, "\(path)")
      let isOfKiosks = ["", "kiosks", "routes"].contains(
        path.pattern.split(separator: "/").first ?? "")
      if isOfKiosks, path.pattern != "/routes" {
        #expect(answer.text.contains("Harbour") || path.isTable, "\(path)")
      }
    }
  }

  /// The region of `k2` is only in the archive, which is away.
  @Test func aKioskWhoseRegionIsUnknownHidesNoOther() async throws {
    let archive = ChainArchive(ChainSettings(database: "host=/nowhere dbname=juice"))
    try await Scene.run(answerTimeout: .zero, archive: archive) { scene in
      let password = try User.test("ada", .admin).password
      try scene.dashboard.users.update { users in
        users["rita"] = User(name: "rita", role: .operator, password: password, regions: ["West"])
      }
      let info = KioskInfo(version: "1", startedAt: scene.now, region: "West")
      try await scene.kiosk("info", info.payload)
      try await scene.kiosk("status", Array("online".utf8), of: "k2")
      try await scene.authenticate("rita")
      let list = try await scene.get("/")
      #expect(list.status == .ok && list.text.contains("row-k1") && !list.text.contains("row-k2"))
      #expect(list.text.contains("<a href=\"/routes\">"))
      for path in ["/", "/kiosks/k1", "/routes", "/routes/new", "/history"] {
        let page = try await scene.get(path)
        #expect(page.status == .ok, "\(path)")
        #expect(page.text.contains("Kiosks whose region only the archive has"), "\(path)")
      }
      // It would leave out k2 on the open page, or for good.
      #expect(try await scene.get("/live").status == .serviceUnavailable)
      for group in ["all", "same_region", "same_currency"] {
        let form = "csrf_token=\(scene.csrfToken)&\(group)=1"
        let answer = try await scene.post("/kiosks/k1/settings", form)
        #expect(answer.status == .serviceUnavailable, "\(group)")
      }
      #expect(try await scene.get("/kiosks/k2").status == .serviceUnavailable)
      // A form about it can be opened again with its values.
      let form = "csrf_token=\(scene.csrfToken)&add.kiwi=5"
      let answer = try await scene.post("/kiosks/k2/review", form)
      #expect(answer.status == .serviceUnavailable)
      #expect(answer.text.contains("href=\"/kiosks/k2?add.kiwi=5\""))
    }
  }

  /// A driver sees only the own routes, and of these only what the driver needs.
  @Test(arguments: ["r1", "r2"])
  func aDriverSeesOnlyTheOwnRoutes(route: String) async throws {
    let allowed: Set<String> = [
      "/routes/{route}", "/routes/{route}/live", "/routes/{route}/stops.csv",
      "/routes/{route}/stops.xlsx", "/routes/{route}/load.csv", "/routes/{route}/load.xlsx",
      "/routes/{route}/kiosks/{kiosk}",
      "/routes/{route}/kiosks/{kiosk}/live", "/routes/{route}/kiosks/{kiosk}/skip",
      "/routes/{route}/kiosks/{kiosk}/correct", "/routes/{route}/kiosks/{kiosk}/remove",
    ]
    try await attack("dan") { scene, path in
      guard !Self.open.contains(path.pattern), !path.pattern.hasPrefix("/account") else { return }
      let isAllowed =
        allowed.contains(path.pattern)
        && (path.method == .get || path.pattern.contains("{kiosk}"))
      // The live updates of an own route do not end.
      if isAllowed, path.isLive, route == "r1" { return }
      let target = path.filled(Self.values.merging(["route": route]) { $1 })
      let answer =
        path.method == .get
        ? try await scene.get(target)
        : try await scene.post(target, "csrf_token=\(scene.csrfToken)&skip=1&sure=1")
      switch (path.pattern, path.method) {
      case ("/", .get): #expect(answer.headers[.location] == "/routes")
      case ("/routes", .get):
        #expect(answer.text.contains("/routes/r1") && !answer.text.contains("/routes/r2"))
      case _ where isAllowed && route == "r1":
        #expect(![.notFound, .forbidden].contains(answer.status), "\(path)")
      case _ where isAllowed: #expect(answer.status == .notFound, "\(path)")
      default: #expect([.forbidden, .notFound].contains(answer.status), "\(path)")
      }
      // It is true of viewers only.
      #expect(!answer.text.contains("You can view this"), "\(path)")
      #expect(await scene.dashboard.routes["r2"]?.stops.first?.isSkipped == false)
      #expect(await scene.dashboard.routes.all.count == 2)
    }
  }

  /// The token of a screen is neither a session nor the token of a password link or of another screen.
  @Test(arguments: Screen.allCases)
  func theTokenOfAScreenGivesNothingElse(screen: Screen) async throws {
    let token = Self.values["token"] ?? ""
    try await attack { scene, path in
      try await scene.dashboard.screens.replace(token, for: "k1", screen)
      scene.session = token
      guard !path.isLive else { return }
      let target = path.filled(Self.values)
      let answer =
        path.method == .get
        ? try await scene.get(target)
        : try await scene.post(target, "csrf_token=\(scene.csrfToken)")
      switch (path.pattern, path.method) {
      case ("/\(screen)/{token}", .get):
        #expect(answer.status == .ok && answer.text.contains("Kiwi juice"))
      case ("/\(screen)/{token}", .post): #expect(answer.status == .badRequest)
      case ("/wall/{token}", _), ("/tablet/{token}", _): #expect(answer.status == .notFound)
      case ("/password/{token}", _): #expect(answer.status.kind == .clientError)
      case (let other, _) where Self.open.contains(other): break
      default: #expect(!answer.text.contains("Kiwi"), "\(path)")
      }
      #expect(answer.status != .ok || Self.open.contains(path.pattern) || path.pattern == "/")
    }
  }

  @Test func aFormThatIsTooLargeIsRefused() async throws {
    try await attack("ada") { scene, path in
      guard path.method == .post else { return }
      try await scene.dashboard.screens.replace(Self.values["token"], for: "k1", .tablet)
      let body =
        "csrf_token=\(scene.csrfToken)&name=\(String(repeating: "x", count: Form.maximumSize))"
      let answer = try await scene.post(path.filled(Self.values), body)
      #expect(answer.status == .contentTooLarge, "\(path)")
    }
  }

  /// An unknown token, kiosk or route has the same answer, whatever was guessed.
  @Test func aValueInAPathThatIsNoneIsNotFound() async throws {
    try await attack("ada") { scene, path in
      // The live updates of a kiosk begin before the kiosk is known.
      for name in Self.values.keys
      where path.pattern.contains("{\(name)}") && (!path.isLive || name == "token") {
        for evil in Self.evil {
          var values = Self.values
          values[name] = evil.replacing("//", with: "%2F%2F")
          let target = path.filled(values)
          let answer =
            path.method == .get
            ? try await scene.get(target)
            : try await scene.post(target, "csrf_token=\(scene.csrfToken)")
          #expect(answer.status.kind == .clientError, "\(path) \(evil.prefix(40))")
          check(answer, path, evil)
        }
      }
    }
  }

  @Test func whatAQuerySaysIsText() async throws {
    let names = [
      "to", "q", "page", "from", "days", "kind", "juice", "panel", "fruit", "language", "user",
      "role", "region", "message", "done", "kiosk", "low.kiwi", "<x-evil>",
    ]
    try await attack("ada") { scene, path in
      guard path.method == .get, !path.isLive else { return }
      for evil in Self.evil.prefix(9) {
        let query = names.map { "\($0)=\(evil)" }.joined(separator: "&")
        let answer = try await scene.get(path.filled(Self.values) + "?" + query)
        check(answer, path, evil)
      }
    }
  }

  private func check(_ answer: Answer, _ path: Path, _ evil: String) {
    #expect(answer.status != .internalServerError, "\(path) \(evil.prefix(40))")
    #expect(!answer.text.contains("<x-evil"), "\(path) \(evil)")
    #expect(!answer.text.contains("root:"), "\(path) \(evil)")
    for field in answer.headers {
      #expect(field.name.rawName.lowercased() != "x-evil", "\(path) \(evil)")
      #expect(!field.value.contains { $0.isNewline }, "\(path) \(evil)")
      if field.name == .location {
        #expect(field.value.hasPrefix("/") && !field.value.hasPrefix("//"), "\(path) \(evil)")
      }
    }
  }
}
