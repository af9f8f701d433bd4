import CommandLineSupport
import Fleet
import Foundation
import HTTPTypes
import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import DashboardWeb

/// The pages for customers: the wall and the tablet, which a secret link shows without a login.
@Suite struct ScreenTests {
  private static let token = String(repeating: "A", count: 43)
  private static let amount = Money(units: 350, .euro)

  /// Runs a test with a link to each screen of the kiosk, in a browser without a login.
  private static func run(
    _ body: @Sendable @escaping (Scene) async throws -> Void
  ) async throws {
    try await Scene.run(answerTimeout: .seconds(600)) { scene in
      for screen in Screen.allCases {
        try await scene.dashboard.screens.replace(token, for: "k1", screen)
      }
      try await body(scene)
    }
  }

  private static func wall(_ scene: Scene, _ query: String = "") async throws -> String {
    try await scene.get("/wall/\(token)\(query)").text
  }

  private static func tablet(_ scene: Scene, _ query: String = "") async throws -> String {
    try await scene.get("/tablet/\(token)\(query)").text
  }

  /// Publishes a menu in which one juice has a price, allergens, a note and a picture.
  private static func publishMenu(_ scene: Scene, picture: String? = nil) async throws {
    let juices = Menu.standard.juices.map { juice in
      var juice = juice
      guard juice.id == "kiwi" else { return juice }
      juice.price = amount
      juice.allergens = LocalizedName(english: "Nuts", korean: "견과류", fallback: "Nuts")
      juice.note = LocalizedName(fallback: "0.3 l")
      juice.picture = picture.flatMap { Juice.Picture($0) }
      return juice
    }
    let menu = try Menu(fruits: Menu.standard.fruits, juices: juices)
    try await scene.kiosk("menu", MenuReport(menu: menu, capacities: [:], lowMarks: [:]).payload)
  }

  private static func publish(
    _ scene: Scene, machine: MachineID = "bar", _ state: MachineReport.State,
    _ jobs: [(ticket: Int, state: JobState)] = []
  ) async throws {
    let report = MachineReport(
      state: state, queue: 0, juices: ["kiwi"],
      jobs: jobs.map {
        MachineReport.Job(
          job: 100 + $0.ticket, attempt: 100 + $0.ticket, ticket: $0.ticket, juice: "kiwi",
          quantity: 1, state: $0.state, at: scene.now)
      }, ready: [])
    try await scene.kiosk("machine/\(machine)", report.payload)
  }

  private static func receive(
    _ scene: Scene, _ outcome: LedgerEntry.Outcome, seq: Int, amount: Money? = nil,
    minutesAgo: Int64 = 0
  ) async throws {
    let entry = LedgerEntry(
      seq: seq, epoch: 1, at: Timestamp(milliseconds: scene.now.milliseconds - minutesAgo * 60_000),
      source: Source.tablet, id: nil, outcome: outcome, amount: amount)
    try await scene.kiosk("events", entry.payload, retain: false)
  }

  private static func end(_ ticket: Int, by machine: MachineID? = "bar") -> JobEnd {
    JobEnd(
      job: 100 + ticket, machine: machine, order: Order(juice: "kiwi"),
      ticket: Ticket(day: 0, number: ticket))
  }

  // MARK: Links

  @Test(arguments: Screen.allCases)
  func aLinkShowsAScreenOfOneKioskAndNothingElse(screen: Screen) async throws {
    try await Scene.run { scene in
      let name = screen.rawValue
      func change(_ action: String) async throws {
        let form = "csrf_token=\(scene.csrfToken)&screen=\(name)&do=\(action)"
        let answer = try await scene.post("/kiosks/k1/screens", form)
        #expect(answer.status == .seeOther)
      }
      func link() async throws -> String? {
        let page = try await scene.get("/kiosks/k1").text
        let start = "href=\"/\(name)/"
        return page.firstRange(of: start).map { range in
          "/\(name)/" + page[range.upperBound...].prefix { $0 != "\"" }
        }
      }
      try await scene.authenticate("minji")
      #expect(try await link() == nil)
      try await change("create")
      let path = try #require(try await link())
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("aria-label=\"http://localhost\(path)\""), "the QR code")
      let undo = try await scene.post("/kiosks/k1/undo", "csrf_token=\(scene.csrfToken)&undo=99")
      #expect(undo.text.contains(path), "the page of an answer has the link, too")

      scene.cookieJar = [:]
      let shown = try await scene.get(path)
      #expect(shown.status == .ok && shown.text.contains("Kiwi juice"))
      #expect(shown.text.contains("data-live=\"\(path)/live\""))
      #expect(!shown.text.contains("/kiosks/k1") && !shown.text.contains("csrf_token"))
      #expect(!shown.text.contains("href=\"/\"") && !shown.text.contains("/login"))
      #expect(shown.headers[values: .setCookie].allSatisfy { !$0.contains("juice_known") })
      #expect(try await scene.get("/kiosks/k1").status == .seeOther)
      let other = screen == .wall ? "tablet" : "wall"
      for path in [
        "/\(name)/x", "/\(name)/", "/\(name)/x/live", "\(path)/panel", "\(path)/..",
        path.replacing("/\(name)/", with: "/\(other)/"),
      ] {
        #expect(try await scene.get(path).status == .notFound, "\(path)")
      }
      // A kiosk without a status: neither juices nor tickets.
      try await scene.kiosk("status", [])
      let out = try await scene.get(path).text
      #expect(out.contains("Out of service at the moment.") && !out.contains("Kiwi juice"))

      try await scene.authenticate("vera")
      #expect(try await link() == nil)
      try await scene.authenticate("minji")
      try await change("create")
      #expect(try await link() == path, "a form that is sent twice keeps the link")
      try await change("replace")
      #expect(try await scene.get(path).status == .notFound, "the link was replaced")
      try await change("revoke")
      #expect(await scene.dashboard.screens.tokens(of: "k1") == [:])
      // Another process has the same links.
      try await change("create")
      let links = ScreenLinks(
        folder: StateFolder(path: scene.dashboard.settings.stateFolder),
        logger: scene.dashboard.link.logger)
      let token = try #require(await scene.dashboard.screens.tokens(of: "k1")[screen])
      #expect(await links.kiosk(for: token, screen) == "k1")
      for form in ["screen=door&do=create", "screen=\(name)&do=show", "do=create"] {
        let refused = try await scene.post(
          "/kiosks/k1/screens", "csrf_token=\(scene.csrfToken)&\(form)")
        #expect(refused.status == .badRequest, "\(form)")
      }
      let (records, _) = await scene.dashboard.activity.records(since: scene.now) { _ in true }
      let verbs = records.compactMap { record -> ActivityLog.Action.Verb? in
        guard case .action(let action) = record.event, !action.isLogin else { return nil }
        return action.verb
      }
      let expected: [ActivityLog.Action.Verb: Int] =
        screen == .wall
        ? [.madeWallLink: 3, .revokedWallLink: 1] : [.madeTabletLink: 3, .revokedTabletLink: 1]
      #expect(Dictionary(verbs.map { ($0, 1) }, uniquingKeysWith: +) == expected)
    }
  }

  @Test func theWordsAreInTheKiosksLanguage() async throws {
    try await Self.run { scene in
      #expect(try await Self.wall(scene).contains("<html lang=\"en\">"))
      let info = KioskInfo(
        version: "1", startedAt: scene.now,
        notice: LocalizedName(english: "Call 110", korean: "문의 110", fallback: "Call 110"),
        language: .korean)
      try await scene.kiosk("info", info.payload)
      for page in [try await Self.wall(scene), try await Self.tablet(scene)] {
        #expect(page.contains("<html lang=\"ko\">") && page.contains("딸기쥬스"))
        #expect(page.contains("문의 110") && !page.contains("Call 110"))
      }
      let english = try await Self.wall(scene, "?language=en")
      #expect(english.contains("Call 110") && english.contains("Strawberry juice"))
      #expect(english.contains("data-live=\"/wall/\(Self.token)/live?language=en\""))
    }
  }

  @Test func withoutAScriptThePageLoadsItselfAgain() async throws {
    try await Self.run { scene in
      for (page, name) in [
        (try await Self.wall(scene, "?language=ko"), "wall"),
        (try await Self.tablet(scene, "?language=ko"), "tablet"),
      ] {
        #expect(
          page.contains(
            "<noscript><meta http-equiv=\"refresh\" content=\"15;url=/\(name)/\(Self.token)?language=ko\">"
          ))
      }
    }
  }

  @Test func theSendersOfScreensAreTranslated() {
    #expect(Source.tablet.sender(.korean) == "태블릿")
    #expect(Source.virtualPanel.sender(.korean) == "가상 버튼")
    #expect(Source.tablet.sender(.english) == "tablet")
  }

  // MARK: The wall

  @Test func aBoxWithoutContentIsNotThere() async throws {
    try await Self.run { scene in
      let empty = try await Self.wall(scene)
      #expect(empty.contains("<aside id=\"boxes\" class=\"none\"></aside>"))
      try await Self.publish(
        scene, .busy, [(45, .needsDecision), (46, .started), (47, .queued)])
      for ticket in [43, 44] {
        try await Self.receive(scene, .made(Self.end(ticket)), seq: ticket)
      }
      let wall = try await Self.wall(scene)
      #expect(!wall.contains("box pay"))
      let boxes = try #require(wall.firstRange(of: "box making").map { wall[..<$0.lowerBound] })
      #expect(boxes.contains("box ready"), "what is ready stands above what is being made")
      let tickets = wall.matches(of: /<b(?: class="ticket")?>(\d+)<\/b>/).map { Int($0.1) }
      #expect(tickets == [44, 43, 45, 46, 47])
      #expect(wall.contains("<li class=\"now\"><b>46</b></li>"))
      // A juice about which a person must decide is not being made.
      let asked = try #require(wall.firstRange(of: "box sorry").map { wall[$0.lowerBound...] })
      #expect(asked.contains("<b class=\"ticket\">45</b>\n<span>Please ask us.</span>"))
      #expect(try await Self.wall(scene, "?language=ko").contains("<span>직원에게 문의해 주세요.</span>"))
    }
  }

  /// Without a stock it is unknown what can be ordered.
  @Test(arguments: Screen.allCases)
  func withoutAStockAScreenOffersNothing(screen: Screen) async throws {
    try await Self.run { scene in
      let token = String(repeating: "B", count: 43)
      try await scene.dashboard.screens.replace(token, for: "k2", screen)
      let menu = MenuReport(menu: .standard, capacities: [:], lowMarks: [:])
      try await scene.kiosk("menu", menu.payload, of: "k2")
      try await scene.kiosk("status", Array("online".utf8), of: "k2")
      let page = try await scene.get("/\(screen.rawValue)/\(token)").text
      #expect(!page.contains("Kiwi juice") && !page.contains("What would you like?"))
      // The script shows the same text in a paragraph of its own.
      #expect(page.split(separator: "Out of service at the moment.").count == 3)
    }
  }

  @Test func ofTwoMachinesTheWallNamesTheOneWithTheTicket() async throws {
    try await Self.run { scene in
      try await Self.publish(scene, machine: "left", .busy, [(46, .started)])
      try await Self.receive(scene, .made(Self.end(44, by: "left")), seq: 1)
      let one = try await Self.wall(scene)
      #expect(one.contains("<small>Kiwi juice</small>") && !one.contains("left"))
      try await Self.publish(scene, machine: "right", .busy, [(47, .started)])
      try await Self.receive(scene, .made(Self.end(45, by: "right")), seq: 2)
      let two = try await Self.wall(scene)
      for (ticket, machine) in [(44, "left"), (45, "right")] {
        #expect(two.contains("<b class=\"ticket\">\(ticket)</b><small>\(machine)</small>"))
      }
      for (ticket, machine) in [(46, "left"), (47, "right")] {
        #expect(two.contains("<b>\(ticket)</b><small>\(machine)</small>"))
      }
    }
  }

  @Test(arguments: [true, false]) func ticketsGoAfterTenMinutes(isMade: Bool) async throws {
    try await Self.run { scene in
      for (ticket, minutes) in [(41, 11), (42, 9), (43, 0)] as [(Int, Int64)] {
        let end = Self.end(ticket)
        try await Self.receive(
          scene,
          isMade ? .made(end) : .failed(end, reason: "jam", changes: [:]), seq: ticket,
          minutesAgo: minutes)
      }
      let wall = try await Self.wall(scene)
      #expect(wall.contains(">42</b>") && wall.contains(">43</b>") && !wall.contains(">41</b>"))
    }
  }

  /// The kiosk's time is midnight: 9:00 UTC is 0:00 in Alaska.
  @Test func ticketsGoAtTheNewDay() async throws {
    try await Self.run { scene in
      try await Self.receive(scene, .made(Self.end(99)), seq: 1, minutesAgo: 2)
      try await Self.receive(scene, .made(Self.end(1)), seq: 2)
      #expect(try await Self.wall(scene).contains(">99</b>"))
      let sales = SalesReport(
        at: scene.now, timeZone: "America/Anchorage", today: CivilDate(daysSinceEpoch: 20_778))
      try await scene.kiosk("sales", sales.payload)
      let wall = try await Self.wall(scene)
      #expect(wall.contains(">1</b>") && !wall.contains(">99</b>"))
    }
  }

  @Test(arguments: [
    (MachineReport.State.cleaningDue, "machine must be cleaned", "기계 청소 필요"),
    (.fault, "machine out of order", "기계 고장"),
  ])
  func theReasonIsWhatHappens(
    state: MachineReport.State, english: String, korean: String
  ) async throws {
    try await Self.run { scene in
      try await Self.publish(scene, state)
      for page in [try await Self.wall(scene), try await Self.tablet(scene)] {
        #expect(page.contains(english))
      }
      for page in [
        try await Self.wall(scene, "?language=ko"), try await Self.tablet(scene, "?language=ko"),
      ] {
        #expect(page.contains(korean))
      }
    }
  }

  /// A machine that is being cleaned takes orders, and makes them afterwards.
  @Test func anOrderWaitsForTheEndOfACleaning() async throws {
    try await Self.run { scene in
      try await Self.publish(scene, .cleaning, [(46, .queued)])
      let wall = try await Self.wall(scene)
      #expect(wall.contains("<b>46</b><small>after the cleaning</small>"))
      #expect(wall.contains("<b class=\"name\">Kiwi juice</b>"))
      let kiosk = try #require(scene.dashboard.link.fleet["k1"])
      let answer = OrderAnswer(
        kiosk: kiosk, now: scene.now, language: .english, isForCustomer: true)
      let part = try #require(answer.liveParts.first).html.text
      #expect(part.contains("The machine is being cleaned. It makes your juice after that."))
    }
  }

  @Test func aMenuHasPricesAllergensAndNotes() async throws {
    try await Self.run { scene in
      try await Self.publishMenu(scene)
      for page in [try await Self.wall(scene), try await Self.tablet(scene)] {
        #expect(page.contains("€3.50") && page.contains("Nuts · 0.3 l"))
      }
      #expect(try await Self.wall(scene, "?language=ko").contains("견과류 · 0.3 l"))
      try await scene.authenticate("minji")
      #expect(try await scene.get("/kiosks/k1/panel").text.contains("Nuts · 0.3 l"))
    }
  }

  /// 7 juices are rows of 4 and 3, not of 5 and 2; a wide area has more columns than a high one.
  @Test func theRowsAreEqual() {
    #expect(WallPage.columns(7, width: 15.4, height: 7.2) == 4)
    for count in 1...40 {
      for (width, height) in [(15.4, 7.2), (10.6, 7.2), (8.6, 13), (8.6, 8)] {
        let columns = WallPage.columns(count, width: width, height: height)
        let rows = (count + columns - 1) / columns
        #expect((1...9).contains(columns) && columns * rows >= count)
        #expect(columns == (count + rows - 1) / rows, "\(count): the last row is the shortest one")
      }
    }
  }

  // MARK: The tablet

  /// Presses the button of a tablet, and answers as the kiosk.
  private static func press(
    _ scene: Scene, _ result: CommandResult, juice: String = "kiwi", more: String = ""
  ) async throws -> (command: String, page: String) {
    async let answer = scene.post("/tablet/\(token)", "id=t1&juice=\(juice)\(more)")
    let command = try await scene.nextCommand()
    var result = result
    result.id = "t1"
    try await scene.kiosk("order/tablet/result", result.payload, retain: false)
    return (
      "\(command.topic) \(String(decoding: command.payload, as: UTF8.self))",
      try await answer.text
    )
  }

  private static let order =
    #"kiosk/k1/order/tablet {"id":"t1","juice":"kiwi","quantity":1,"sent_at":"2026-11-21T09:00:00Z"}"#

  private static func result(_ status: CommandResult.Status, seq: Int = 142) -> CommandResult {
    var result = CommandResult(status: status)
    (result.seq, result.ticket, result.juice) = (seq, 42, "kiwi")
    return result
  }

  @Test func aTabletOrders() async throws {
    try await Self.run { scene in
      let page = try await Self.tablet(scene)
      #expect(page.contains("value=\"kiwi\">") && page.contains("3 left"))
      var asked = Self.result(.awaitingPayment)
      asked.amount = Self.amount
      let (command, answer) = try await Self.press(scene, asked)
      #expect(command == Self.order)
      #expect(answer.contains("id=\"order-142\"") && answer.contains("€3.50 at the terminal"))
      #expect(answer.contains("action=\"/tablet/\(Self.token)\""), "the next customer can order")
      #expect(answer.contains("<span id=\"pay-42\" class=\"\"></span>"))
      try await scene.kiosk(
        "payment/till",
        PaymentReport(state: .waiting, ticket: 42, amount: Self.amount, paySeconds: 45).payload)
      let kiosk = try #require(scene.dashboard.link.fleet["k1"])
      let parts = OrderAnswer(
        kiosk: kiosk, now: scene.now, language: .english, isForCustomer: true
      ).liveParts
      #expect(
        parts.map(\.html.text) == [
          "<span id=\"pay-42\" class=\"\"><span class=\"left\"><span data-left=\"45\">0:45</span> left</span></span>"
        ])
      let ready = try await Self.press(scene, Self.result(.ready)).page
      #expect(ready.contains("<b>42</b>") && ready.contains("is ready. Enjoy!"))
    }
  }

  /// A customer cannot restock, so the text has no link and no question.
  @Test func aJuiceThatIsSoldOutCannotBePressed() async throws {
    try await Self.run { scene in
      var result = Self.result(.outOfStock)
      result.missing = ["kiwi": 1]
      let page = try await Self.press(scene, result).page
      #expect(page.contains("Sorry, this is sold out.") && !page.contains("Update the stock?"))
      #expect(!page.contains("<a "))
      try await scene.kiosk(
        "stock", StockReport(seq: 2, at: scene.now, fruits: ["kiwi": 0, "mango": 10]).payload)
      let sold = try await Self.tablet(scene)
      #expect(sold.contains("name=\"juice\" value=\"kiwi\" disabled>"))
      #expect(sold.contains("name=\"juice\" value=\"mango\">"))
    }
  }

  /// The kiosk receives an order of one glass, or nothing, for each form.
  @Test func theLinkOfATabletOrdersAndNothingElse() async throws {
    try await Self.run { scene in
      let path = "/tablet/\(Self.token)"
      for form in [
        "", "juice=kiwi", "id=t2", "id=t2&juice=", "id=t2&juice=a+b", "id=t2&juice=%2F..%2Fkiwi",
        "id=t2&add.kiwi=5", "id=t2&do=restock&add.kiwi=5", "id=t2&service=closed",
        "id=t2&decision=refund.1795251600", "id=t2&remove.kiwi=1&reason=spoiled",
        "id=t2&program=clean.bar", "id=t2&juice=kiwi&juice=mango", "screen=tablet&do=revoke",
        "id=a%2Fb&juice=kiwi", "id=t2&juice=kiwi&at=-1",
        "id=t2&juice=kiwi&at=Infinity", "id=t2&juice=kiwi&at=99999999999999999999",
      ] {
        #expect(try await scene.post(path, form).status == .badRequest, "\(form)")
      }
      for path in [
        "\(path)/live", "\(path)/restock", "\(path)/service", "\(path)/screens",
        "/wall/\(Self.token)",
      ] {
        #expect(
          try await scene.post(path, "id=t2&juice=kiwi").status.kind == .clientError, "\(path)")
      }
      // Further fields change nothing: not the number of glasses, the panel or the kiosk.
      let more =
        "&quantity=99&source=restock/desk&kiosk=k2&panel=staff&topic=restock&add.kiwi=5&service=closed"
      let command = try await Self.press(scene, Self.result(.ready), more: more).command
      #expect(command == Self.order)
      // A link that was revoked orders nothing.
      try await scene.dashboard.screens.replace(nil, for: "k1", .tablet)
      #expect(try await scene.post(path, "id=t3&juice=kiwi").status == .notFound)
      #expect(try await scene.get("\(path)/live").status == .notFound)
    }
  }

  /// A stalled network can deliver a press minutes later, when the customer is gone.
  @Test func aLatePressIsNotSent() async throws {
    try await Self.run { scene in
      func at(_ age: Int64) -> String { "&at=\(scene.now.milliseconds - age)" }
      let late = try await scene.post("/tablet/\(Self.token)", "id=t0&juice=kiwi\(at(5001))")
      #expect(late.text.contains("Your order was not sent."))
      let older = try await Self.press(scene, Self.result(.ready), more: at(5000)).command
      #expect(older == Self.order.replacing("09:00:00", with: "08:59:55"))
      let ahead = try await Self.press(scene, Self.result(.ready), more: at(-9000)).command
      #expect(ahead == Self.order, "a time of the future is now")
    }
  }

  @Test func anOrderIsSentAgainWithoutTheTimeOfItsPress() async throws {
    try await Scene.run(answerTimeout: .milliseconds(1)) { scene in
      try await scene.authenticate("minji")
      let order = "csrf_token=\(scene.csrfToken)&id=v1&juice=kiwi&at=\(scene.now.milliseconds)"
      let page = try await scene.post("/kiosks/k1/panel", order).text
      #expect(page.contains("name=\"id\" value=\"v1\"") && !page.contains("name=\"at\""))
    }
  }

  // MARK: Money

  /// An end of an order whose price was asked for, the ledger's entries and the device's report, and what
  /// customers read on the panel, the tablet and the wall.
  struct MoneyCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The entries: a kind of payment step, or `nil` for the end of the order.
    let steps: [PaymentStep.Kind?]
    var reason = "jam"
    /// The amount of the end, for the glasses that were made.
    var pays: Money?
    var isUndecided = false
    let english: String
    let korean: String
    /// The words of the wall, if they differ from those of the panel.
    var wallEnglish, wallKorean: String?
    /// Whether the wall shows the ticket: a customer who has not paid needs no word there.
    var isOnWall = true
  }

  static let moneyCases = [
    MoneyCase(
      testDescription: "fails, no answer of the terminal yet", steps: [.held, nil],
      english: "You pay nothing: the money is being released.", korean: "승인을 취소하고 있습니다."),
    MoneyCase(
      testDescription: "fails, released", steps: [.held, nil, .released],
      english: "You pay nothing: the money is released.", korean: "승인이 취소되었습니다."),
    MoneyCase(
      testDescription: "fails, a person has the release", steps: [.held, nil],
      isUndecided: true, english: "Please ask us about your money.", korean: "직원에게 문의해 주세요."),
    MoneyCase(
      testDescription: "fails, captured", steps: [.held, .captured, nil],
      english: "Please ask us about your money.", korean: "직원에게 문의해 주세요."),
    MoneyCase(
      testDescription: "fails, a person refunds", steps: [.held, .captured, nil, .refund],
      english: "You pay nothing: the money is being refunded.", korean: "환불하고 있습니다."),
    MoneyCase(
      testDescription: "fails, refunded", steps: [.held, .captured, nil, .refund, .refunded],
      english: "You pay nothing: the money is refunded.", korean: "환불되었습니다."),
    MoneyCase(
      testDescription: "one glass of two", steps: [.held, nil], pays: Money(units: 350, .euro),
      english: "You pay €3.50.", korean: "€3.50만 결제됩니다."),
    MoneyCase(
      testDescription: "the hold was lost before the juice was made",
      steps: [.held, .released, nil],
      reason: "payment_lost", english: "You pay nothing: the money is released.",
      korean: "승인이 취소되었습니다."),
    MoneyCase(
      testDescription: "declined", steps: [nil], reason: "declined",
      english: "The payment was declined. Nothing was charged.", korean: "청구된 금액은 없습니다.",
      isOnWall: false),
    MoneyCase(
      testDescription: "not paid", steps: [nil], reason: "not_paid",
      english: "The order was not paid. Nothing was charged.", korean: "청구된 금액은 없습니다.",
      isOnWall: false),
    MoneyCase(
      testDescription: "replaced", steps: [nil], reason: "replaced",
      english: "Your next order replaces this one. Nothing was charged.", korean: "청구된 금액은 없습니다.",
      isOnWall: false),
    MoneyCase(
      testDescription: "the terminal does not know", steps: [nil], reason: "payment_unknown",
      isUndecided: true, english: "Please ask us before you pay again.",
      korean: "다시 결제하기 전에 직원에게 문의해 주세요.",
      wallEnglish: "Please ask us about your money.", wallKorean: "결제 금액은 직원에게 문의해 주세요."),
    MoneyCase(
      testDescription: "another amount", steps: [.held, nil], reason: "wrong_amount",
      english: "The terminal has failed. Your money is given back.", korean: "결제 금액은 환불됩니다.",
      wallEnglish: "You pay nothing: the money is being released.", wallKorean: "승인을 취소하고 있습니다."),
  ]

  @Test(arguments: moneyCases)
  func theMoneyIsWhatTheLedgerSays(_ money: MoneyCase) async throws {
    try await Self.run { scene in
      try await Self.publishMenu(scene)
      let end = Self.end(42)
      for (index, kind) in money.steps.enumerated() {
        let outcome: LedgerEntry.Outcome =
          kind.map {
            .payment(
              PaymentStep(
                $0, charge: 7, device: "till", job: end.job, order: end.order, ticket: end.ticket))
          }
          ?? (PaymentEnd(rawValue: money.reason) == nil
            ? .failed(end, reason: money.reason, changes: [:])
            : .returned(end, reason: money.reason, changes: [:]))
        try await Self.receive(
          scene, outcome, seq: 10 + index, amount: kind == nil ? money.pays : Self.amount)
      }
      let charge = PaymentReport.Charge(
        charge: 7, job: end.job, ticket: 42, amount: Self.amount, reason: "no answer",
        request: .release, decisions: [.released], at: scene.now)
      try await scene.kiosk(
        "payment/till",
        PaymentReport(state: .idle, charges: money.isUndecided ? [charge] : []).payload)

      let kiosk = try #require(scene.dashboard.link.fleet["k1"])
      for (language, text, onWall) in [
        (Language.english, money.english, money.wallEnglish ?? money.english),
        (.korean, money.korean, money.wallKorean ?? money.korean),
      ] {
        // The same parts are sent to a panel and to a tablet.
        for isForCustomer in [true, false] {
          let answer = OrderAnswer(
            kiosk: kiosk, now: scene.now, language: language, isForCustomer: isForCustomer)
          let part = try #require(answer.liveParts.first { $0.id == "order-142" })
          #expect(part.html.text.contains(text), "\(part.html.text)")
        }
        let wall = try await Self.wall(scene, "?language=\(language.rawValue)")
        let box = wall.firstRange(of: "box sorry").map { wall[$0.lowerBound...] }
        #expect((box != nil) == money.isOnWall)
        if let box {
          #expect(box.contains("<b class=\"ticket\">42</b>") && box.contains(onWall), "\(box)")
        }
      }
    }
  }

  /// The pages say nothing about the money of an order without a charge: in a kiosk without payment, or of a free
  /// panel, even if some of the glasses were made and have a price.
  @Test(arguments: [nil, Money(units: 350, .euro)])
  func whatCostsNothingIsNotMentioned(sold: Money?) async throws {
    try await Self.run { scene in
      try await Self.publishMenu(scene)
      try await scene.kiosk("payment/till", PaymentReport(state: .idle).payload)
      try await Self.receive(
        scene, .failed(Self.end(42), reason: "jam", changes: [:]), seq: 10, amount: sold)
      let wall = try await Self.wall(scene)
      #expect(wall.contains("Sorry, Kiwi juice could not be made.") && !wall.contains("You pay"))
      let kiosk = try #require(scene.dashboard.link.fleet["k1"])
      let answer = OrderAnswer(
        kiosk: kiosk, now: scene.now, language: .english, isForCustomer: true)
      let part = try #require(answer.liveParts.first { $0.id == "order-142" })
      #expect(!part.html.text.contains("You pay"))
    }
  }

  /// The wall says to each customer what becomes of the money, as long as the ticket stands there.
  @Test func theMoneyOfEachOrderThatFailedIsOnTheWall() async throws {
    try await Self.run { scene in
      try await Self.publishMenu(scene)
      for ticket in 41...47 {
        let end = Self.end(ticket)
        func receive(_ kind: PaymentStep.Kind, seq: Int) async throws {
          let step = PaymentStep(
            kind, charge: ticket, device: "till", job: end.job, order: end.order,
            ticket: end.ticket)
          try await Self.receive(scene, .payment(step), seq: seq, amount: Self.amount)
        }
        try await receive(.held, seq: ticket * 10)
        try await Self.receive(
          scene, .failed(end, reason: "jam", changes: [:]), seq: ticket * 10 + 1)
        try await receive(ticket == 47 ? .refunded : .released, seq: ticket * 10 + 2)
      }
      let wall = try await Self.wall(scene)
      let boxes = wall.split(separator: "box sorry").dropFirst().map(String.init)
      #expect(boxes.count == 2, "one for each text")
      let tickets = boxes.map { box in
        box.matches(of: /<b class="ticket">(\d+)<\/b>/).map { String($0.1) }
      }
      #expect(tickets == [["47"], ["46", "45", "44", "43", "42", "41"]])
      #expect(boxes.last?.contains("You pay nothing: the money is released.") == true)
    }
  }

  // MARK: Pictures

  @Test func eachJuiceHasASmallPicture() throws {
    let fruits = (0..<12).map { number in
      Fruit(id: Fruit.ID("own\(number)") ?? "kiwi", name: LocalizedName(fallback: "Own"))
    }
    let own = try Juice(
      id: "own", name: LocalizedName(fallback: "Own"),
      recipe: Recipe(FruitAmounts(fruits.map { ($0.id, 3) })))
    let menu = try Menu(
      fruits: Menu.standard.fruits + fruits, juices: Menu.standard.juices + [own])
    for juice in menu.juices {
      let picture = GlassPicture(of: juice, on: menu, .english).html.text
      #expect(picture.utf8.count < 2048 || juice.id == "own", "\(juice.id): \(picture.utf8.count)")
      #expect(picture.utf8.count < 4096, "\(juice.id): \(picture.utf8.count)")
      #expect(picture.contains("aria-label=\"A glass: ") && !picture.contains("id="))
    }
    let colors = fruits.map { FruitPicture($0.id).color }
    #expect(Set(colors).count > 8, "\(colors)")
    #expect(FruitPicture("orange").color == "#ff922b")
    #expect(FruitPicture("own0", color: Fruit.Color("#A1B2C3")).color == "#a1b2c3")
  }

  @Test func anOwnersOwnPictureIsAFileOfAFolder() async throws {
    try await withUserFile { users in
      let folder = "\(users.path).pictures"
      let files = FileManager.default
      try files.createDirectory(atPath: folder, withIntermediateDirectories: false)
      let svg = Data("<svg xmlns=\"http://www.w3.org/2000/svg\"/>".utf8)
      let large = Data(count: OwnPictures.maximumSize + 1)
      for (name, data) in [
        ("kiwi.svg", svg), ("large.png", large), ("secret.txt", svg), (".hidden.svg", svg),
      ] {
        #expect(files.createFile(atPath: "\(folder)/\(name)", contents: data))
      }
      try await Scene.run(DashboardSettings(port: 0, picturesFolder: folder)) { scene in
        try await scene.dashboard.screens.replace(Self.token, for: "k1", .wall)
        try await Self.publishMenu(scene, picture: "kiwi.svg")
        #expect(
          try await Self.wall(scene).contains("<img class=\"glass\" src=\"/pictures/kiwi.svg\""))
        let picture = try await scene.get("/pictures/kiwi.svg")
        #expect(picture.status == .ok && picture.headers[.contentType] == "image/svg+xml")
        // A script in the file does not run.
        #expect(picture.headers[.contentSecurityPolicy]?.contains("script-src") == true)
        for name in ["large.png", "secret.txt", ".hidden.svg", "other.svg", "..%2Fusers"] {
          #expect(try await scene.get("/pictures/\(name)").status == .notFound, "\(name)")
        }
        // A picture that is not in the folder: the picture of the recipe.
        try await Self.publishMenu(scene, picture: "other.svg")
        #expect(try await !Self.wall(scene).contains("<img"))
      }
    }
  }
}
