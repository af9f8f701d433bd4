import Fleet
import Foundation
import HTTPTypes
import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import DashboardWeb

/// Fruits and juices that are added to the menu of a kiosk, which the test simulates.
@Suite struct MenuPageTests {
  private static let fruits = FruitAmounts(Menu.standard.fruits.map { (fruit: $0.id, amount: 100) })
  private static let file = MenuReport(
    menu: .standard, capacities: fruits,
    lowMarks: FruitAmounts(fruits.map { (fruit: $0.fruit, amount: 5) }))
  /// A new juice with a new fruit.
  private static let orange =
    "name.en=Orange+juice&name.ko=%EC%98%A4%EB%A0%8C%EC%A7%80%EC%A5%AC%EC%8A%A4&amount.kiwi=1&fruit.en=Orange"
    + "&fruit.amount=3&fruit.color=%23ff922b&fruit.capacity=40&fruit.crate=&price=4,50&was.price=&currency=EUR"

  private static func post(_ scene: Scene, _ body: String) async throws -> String {
    try await scene.post("/kiosks/k1/menu", "csrf_token=\(scene.csrfToken)&\(body)").text
  }

  /// Posts the form, and answers in the kiosk's name with its new menu.
  private static func save(_ scene: Scene, _ body: String) async throws -> (
    page: String, command: SettingsCommand
  ) {
    async let page = post(scene, body)
    let request = try await scene.nextRequest(.settings)
    guard case .settings(let command) = request.command, let id = request.id else {
      throw RequestError.badForm
    }
    try await publish(scene, id, command.change)
    try await scene.answer(CommandResult(status: .applied), to: request)
    return (try await page, command)
  }

  private static func publish(
    _ scene: Scene, _ id: CommandID, _ change: SettingsChange, of kiosk: KioskID = "k1"
  ) async throws {
    let stored = StoredSettings(id: id, by: "minji", at: scene.now, change: change)
    let (menu, flaws) = change.applied(to: file, isChain: false)
    #expect(flaws.isEmpty)
    try await scene.kiosk(
      "settings", SettingsReport(stored: stored, file: file, fileHours: nil).payload, of: kiosk)
    try await scene.kiosk("menu", menu.payload, of: kiosk)
  }

  @Test func aJuiceWithANewFruitIsPreviewedAndSaved() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      #expect(try await scene.get("/kiosks/k1").text.contains("href=\"/kiosks/k1/menu\""))
      let form = try await scene.get("/kiosks/k1/menu").text
      #expect(form.contains("The recipes and names are those of the kiosk&#39;s file"))
      let preview = try await Self.post(scene, "id=s1&replaces=&do=preview&\(Self.orange)")
      #expect(preview.contains("id=\"juice-orange_juice\"") && preview.contains("€4.50 · 13 left"))
      // The wall is a document of its own, without live updates.
      #expect(preview.contains("&lt;b class=&quot;name&quot;&gt;Orange juice&lt;/b&gt;"))
      #expect(preview.contains("data-live=&quot;&quot;"))
      #expect(preview.contains("name=\"fruit.color\" value=\"#ff922b\""))
      #expect(preview.contains("Nothing is saved yet."))

      let (page, command) = try await Self.save(scene, "id=s1&replaces=&do=save&\(Self.orange)")
      let (fruit, juice) = (command.change.fruits[0], command.change.juices[0])
      #expect(fruit.id == "orange" && fruit.color?.description == "#ff922b" && fruit.crate == nil)
      #expect(juice.id == "orange_juice" && juice.recipe.amounts == ["kiwi": 1, "orange": 3])
      #expect(juice.name[.korean] == "오렌지쥬스")
      #expect(command.change.prices == ["orange_juice": Money(units: 450, .euro)])
      #expect(command.change.capacities == ["orange": 40])
      #expect(
        page.contains(
          "Saved</strong> (k1): new fruit: Orange, new juice: Orange juice (Kiwi 1, Orange 3)"))
      #expect(
        page.contains("Differs from the file")
          && page.contains("value=\"remove.juice.orange_juice\"")
          && page.contains("<span class=\"muted\">Kiwi 1, Orange 3, €4.50</span>"))
      // The fruit of a juice cannot be removed.
      #expect(!page.contains("remove.fruit.orange"))
      // Prices and limits of the settings page include them.
      let settings = try await scene.get("/kiosks/k1/settings").text
      #expect(
        settings.contains("name=\"price.orange_juice\"") && settings.contains("name=\"low.orange\"")
      )
      #expect(settings.contains("new juice: Orange juice (Kiwi 1, Orange 3)"))
    }
  }

  /// A juice of the file is changed, and becomes that of the file again.
  @Test func aChangedJuiceIsShownWithItsOldValues() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let form = try await scene.get("/kiosks/k1/menu?juice=kiwi").text
      #expect(form.contains("name=\"juice\" value=\"kiwi\"") && form.contains("Change Kiwi juice"))
      #expect(form.contains("name=\"amount.kiwi\" value=\"3\""))
      let body =
        "juice=kiwi&name.en=Kiwi+juice&name.ko=%ED%82%A4%EC%9C%84&amount.kiwi=2&note.en=New"
      let typo = try await Self.post(
        scene, "id=s1&replaces=&do=save&juice=kiwi&name.en=Kiwi+juice&amount.kiwi=30")
      #expect(typo.contains("less than half: Kiwi juice: Kiwi 3 → 30."))
      let (page, command) = try await Self.save(scene, "id=s1&replaces=&do=save&\(body)")
      #expect(command.change.juices.map(\.id) == ["kiwi"] && command.change.prices.isEmpty)
      #expect(page.contains("Kiwi juice: Kiwi 3 → Kiwi 2; – → New; 키위쥬스 → 키위"))
      let records = await scene.dashboard.activity.records(since: scene.now) { $0.kind == .actions }
      let details = records.records.compactMap { record -> String? in
        if case .action(let action) = record.event { action.detail } else { nil }
      }
      #expect(details.contains("Kiwi juice: Kiwi 3 → Kiwi 2; – → New; 키위쥬스 → 키위"))
      let asked = try await Self.post(scene, "id=s2&replaces=s1&do=remove.juice.kiwi")
      #expect(asked.contains("Nothing was changed yet.") && asked.contains("Kiwi 2 → Kiwi 3"))
      let (_, back) = try await Self.save(scene, "id=s2&replaces=s1&do=remove.juice.kiwi&sure=1")
      #expect(back.replaced == "s1" && back.change.isEmpty)
    }
  }

  /// The first price of a juice is compared with those of the others, here €3.00 and €4.00.
  @Test(
    arguments: [
      ("8,00", nil), ("8,01", "€8.01 (the nearest price of another juice is €4.00)"), ("1,50", nil),
      ("1,49", "€1.49 (the nearest price of another juice is €3.00)"),
    ] as [(String, String?)])
  func aFirstPriceUnlikeTheOthersIsAsked(price: String, question: String?) async throws {
    try await Scene.run(answerTimeout: .zero) { scene in
      try await scene.authenticate("minji")
      var change = SettingsChange()
      change.prices = ["kiwi": Money(units: 300, .euro), "mango": Money(units: 400, .euro)]
      try await Self.publish(scene, "s0", change)
      let page = try await Self.post(
        scene,
        "id=s1&replaces=s0&do=save&name.en=Mint+juice&amount.kiwi=1&price=\(price)&was.price=")
      #expect(page.contains("Nothing was changed yet") == (question != nil))
      if let question { #expect(page.contains("less than half: Mint juice \(question). If")) }
    }
  }

  /// Only what the page has added goes; a price and a limit stay.
  @Test func theMenuGoesBackToTheFile() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      _ = try await Self.save(scene, "id=s1&replaces=&do=save&\(Self.orange)")
      var change = try #require(scene.dashboard.link.fleet["k1"]?.change)
      change.lowMarks = ["kiwi": 9, "orange": 2]
      change.prices["kiwi"] = Money(units: 300, .euro)
      try await Self.publish(scene, "s2", change)
      let asked = try await Self.post(
        scene,
        "id=s4&replaces=s2&do=save&juice=orange_juice&name.en=Orange+juice&amount.kiwi=1"
          + "&amount.orange=3&price=45&was.price=4.50")
      #expect(asked.contains("Orange juice €4.50 → €45.00"))
      let (page, command) = try await Self.save(scene, "id=s3&replaces=s2&do=back&sure=1")
      var rest = SettingsChange()
      rest.lowMarks = ["kiwi": 9]
      rest.prices = ["kiwi": Money(units: 300, .euro)]
      #expect(command.change == rest)
      #expect(
        page.contains(
          "removed juice: Orange juice (Kiwi 1, Orange 3, €4.50), removed fruit: Orange"))
    }
  }

  @Test(
    arguments: [
      ("", "Write the name of a juice", "쥬스나 새 과일의 이름을"),
      (
        "name.en=A&amount.kiwi=0", "Juice, amount of kiwi: write a whole number from 1",
        "쥬스, kiwi 수량: 1부터"
      ),
      ("name.en=A&amount.kiwi=x", "Juice, amount of kiwi: write a whole", "쥬스, kiwi 수량: 1부터"),
      ("name.en=A", "Juice, recipe: this is missing.", "쥬스, 레시피: 입력해 주세요."),
      ("amount.kiwi=1", "Juice, id: this is missing.", "쥬스, id: 입력해 주세요."),
      ("name.ko=A", "Juice, recipe: this is missing.", "쥬스, 레시피: 입력해"),
      ("name.id=a+b&name.ko=A&amount.kiwi=1", "Juice, id: use 1 to 64 of", "쥬스, id: A-Z"),
      ("name.en=Kiwi&amount.kiwi=1", "Juice, id: the kiosk has a juice “kiwi”", "쥬스, id: kiwi 쥬스가"),
      (
        "name.id=a&name.ko=a%0Ab&amount.kiwi=1", "Juice, Korean name: write one line.",
        "쥬스, 한국어 이름: 한 줄로"
      ),
      ("name.en=A&amount.kiwi=1&picture=a.gif", "Juice, picture: choose", "쥬스, 그림: 목록에서"),
      (
        "name.en=A&amount.kiwi=1&price=x&currency=EUR", "Juice, price: not an amount such as 3.50",
        "쥬스, 가격: 3.50처럼"
      ),
      ("name.en=A&amount.kiwi=1&price=1", "Juice, price: it needs a currency", "쥬스, 가격: KRW처럼"),
      ("fruit.en=Kiwi", "New fruit, id: the kiosk has a fruit “kiwi”", "새 과일, id: kiwi 과일이"),
      ("fruit.en=Default", "New fruit, id: “default” is reserved", "새 과일, id: default는"),
      (
        "fruit.en=Fig&fruit.color=red", "New fruit, color: write it like #ff922b",
        "새 과일, 색: #ff922b처럼"
      ),
      ("fruit.en=Fig&fruit.crate=0", "New fruit, pieces in a crate: write", "새 과일, 상자당 개수: 1부터"),
      ("fruit.en=Fig&fruit.keeps=9999", "New fruit, hours for sale: write", "새 과일, 판매 가능 시간: 1부터"),
      ("fruit.en=Fig&fruit.capacity=4", "New fruit, capacity: write", "새 과일, 최대 수량: 5"),
    ])
  func aMistakeIsNamedInBothLanguages(body: String, english: String, korean: String) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      for (language, text) in [("en", english), ("ko", korean)] {
        scene.cookieJar[SessionMiddleware.languageCookie] = language
        let page = try await Self.post(scene, "id=s1&replaces=&do=save&\(body)")
        #expect(
          page.contains(text),
          "\(language): \(page.firstMatch(of: /notice bad[^<]*/)?.output ?? "")")
      }
    }
  }

  /// An id is made, so that a Korean operator needs no English name.
  @Test func aJuiceWithAKoreanNameOnlyHasAnID() async throws {
    try await Scene.run { scene in
      let kiosk = try #require(scene.dashboard.link.fleet["k1"])
      let edit = try MenuForm.edit(
        Form("name.ko=%EB%B0%B0&amount.kiwi=1&fruit.ko=%EB%B0%B0&fruit.amount=2"), at: kiosk)
      #expect(edit.juices.map(\.id) == ["juice_1"] && edit.fruits.map(\.id) == ["fruit_1"])
    }
  }

  /// The other kiosk, which has no currency, gets the fruit and the juice without the price; one without
  /// kiwi gets the fruit only.
  @Test func manyKiosksGetIt() async throws {
    try await Scene.run(answerTimeout: .zero) { scene in
      try await scene.authenticate("minji")
      let banana = try Menu(
        fruits: Menu.standard.fruits.filter { $0.id == "banana" },
        juices: Menu.standard.juices.filter { $0.id == "banana" })
      let small = MenuReport(menu: banana, capacities: ["banana": 100], lowMarks: ["banana": 5])
      for (id, menu): (KioskID, MenuReport) in [("k2", Self.file), ("k3", small)] {
        try await scene.kiosk("status", Array("online".utf8), of: id)
        try await scene.kiosk("menu", menu.payload, of: id)
      }
      let page = try await Self.post(
        scene, "id=s1&replaces=&do=save&kiosk.k2=1&kiosk.k3=1&\(Self.orange)")
      for id in ["k1", "k2", "k3"] { #expect(page.contains("<li>\(id): no answer yet")) }
      #expect(page.contains("name=\"id\" value=\"s1\"") && page.contains("value=\"Orange juice\""))
      let fleet = scene.dashboard.link.fleet
      let edit = try MenuForm.edit(
        Form(Self.orange), at: try #require(fleet["k1"]))
      let k2 = try #require(fleet["k2"])
      #expect(k2.change(by: edit).juices.count == 1 && k2.change(by: edit).prices.isEmpty)
      #expect(fleet["k1"]?.change(by: edit).prices.count == 1)
      let k3 = try #require(fleet["k3"])
      #expect(k3.change(by: edit).fruits.count == 1 && k3.change(by: edit).juices.isEmpty)
      #expect(fleet["k1"]?.hasAll(of: edit) == true)
      #expect(!k2.hasAll(of: edit) && !k3.hasAll(of: edit))
      #expect(
        try await Self.post(scene, "id=s2&replaces=&do=save&kiosk.k9=1&\(Self.orange)").contains(
          "k9") == false)
    }
  }

  /// The first kiosk has applied the first attempt, the second has not answered it.
  @Test(
    arguments: [
      (orange, "orange_juice"), ("name.ko=%EB%B0%B0&amount.kiwi=1", "juice_1"),
      ("juice=kiwi&name.en=Kiwi+juice&amount.kiwi=2&price=4.00&was.price=&currency=EUR", ""),
    ])
  func itIsSavedAgainUntilEachKioskHasIt(body: String, id: String) async throws {
    try await Scene.run(answerTimeout: .zero) { scene in
      try await scene.authenticate("minji")
      try await scene.kiosk("status", Array("online".utf8), of: "k2")
      try await scene.kiosk("menu", Self.file.payload, of: "k2")
      let start = "id=s1&replaces=&do=save&kiosk.k2=1"
      let first = try await Self.post(scene, "\(start)&\(body)")
      #expect(first.contains("name=\"name.id\" value=\"\(id)\"") == !id.isEmpty)
      let kiosk = try #require(scene.dashboard.link.fleet["k1"])
      let edit = try MenuForm.edit(Form(body), at: kiosk)
      try await Self.publish(scene, "s1", kiosk.change(by: edit))
      let again = try await Self.post(scene, "\(start)&name.id=\(id)&\(body)")
      #expect(again.contains("Saved</strong> (k1)") && again.contains("<li>k2: no answer yet"))
      #expect(again.contains("name=\"id\" value=\"s1\""))
      #expect(again.contains("name=\"was.price\" value=\"\""))
    }
  }

  /// It would lose its name, recipe and allergens.
  @Test func noJuiceOfAnotherKioskIsReplaced() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await scene.kiosk("status", Array("online".utf8), of: "k2")
      var change = SettingsChange()
      change.fruits = [Fruit(id: "fruit_1", name: LocalizedName(fallback: "Apple"))]
      change.juices = [
        Juice(
          id: "juice_1", name: LocalizedName(fallback: "Apple"), recipe: try Recipe(["fruit_1": 2]))
      ]
      try await Self.publish(scene, "s0", change, of: "k2")
      let fleet = scene.dashboard.link.fleet
      let edit = try MenuForm.edit(
        Form("name.ko=%EB%B0%B0&amount.kiwi=1&fruit.ko=%EB%B0%B0"),
        at: try #require(fleet["k1"]), and: [try #require(fleet["k2"])])
      #expect(edit.juices.map(\.id) == ["juice_2"] && edit.fruits.map(\.id) == ["fruit_2"])
      for (field, text) in [("name", "Juice"), ("fruit", "New fruit")] {
        let page = try await Self.post(
          scene,
          "id=s1&replaces=&do=save&kiosk.k2=1&amount.kiwi=1&name.en=A&fruit.en=B&\(field).id="
            + (field == "name" ? "juice_1" : "fruit_1"))
        #expect(page.contains("\(text), id: these kiosks have another one"))
        #expect(page.contains("_1”: k2."))
      }
    }
  }

  /// The kiosk refuses it too; see `nothingIsAddedToTheMenuOfTheChain`.
  @Test func aKioskWithAMenuOfTheChainIsNotChangedHere() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await scene.kiosk(
        "info", KioskInfo(version: "1", startedAt: scene.now, menuVersion: 7).payload)
      let page = try await scene.get("/kiosks/k1/menu").text
      #expect(page.contains("The chain assigns the menu") && !page.contains("name=\"name.en\""))
      let answer = try await Self.post(scene, "id=s1&replaces=&do=save&\(Self.orange)")
      #expect(answer.contains("class=\"notice bad\" role=\"alert\">The chain assigns the menu"))
    }
  }

  @Test func aJuiceThatNoMachineMakesIsNotSent() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let bar = MachineReport(
        state: .idle, queue: 0, juices: ["kiwi"], jobs: [], ready: [])
      try await scene.kiosk("machine/bar", bar.payload)
      let answer = try await Self.post(scene, "id=s1&replaces=&do=save&\(Self.orange)")
      #expect(answer.contains("Orange juice: no machine of this kiosk makes it."))
    }
  }

  /// The kiosk's answer to it would have no id.
  @Test func aChangeThatIsTooLongIsNotSent() async throws {
    try await Scene.run(answerTimeout: .zero) { scene in
      try await scene.authenticate("minji")
      var change = SettingsChange()
      let note = LocalizedName(fallback: String(repeating: "가", count: 200))
      for id in ["a", "b", "c"] as [Juice.ID] {
        change.juices.append(
          Juice(
            id: id, name: LocalizedName(fallback: "A"), recipe: try Recipe(["kiwi": 1]), note: note)
        )
      }
      try await Self.publish(scene, "s1", change)
      let answer = try await Self.post(scene, "id=s2&replaces=s1&do=save&\(Self.orange)")
      #expect(answer.contains("the change is too long"))
      try await scene.kiosk("status", Array("online".utf8), of: "k2")
      let longer = LocalizedName(fallback: String(repeating: "가", count: 190))
      change.juices.append(
        Juice(
          id: "d", name: LocalizedName(fallback: "A"), recipe: try Recipe(["kiwi": 1]),
          note: longer))
      try await Self.publish(scene, "s1", change, of: "k2")
      let limit = try await scene.post(
        "/kiosks/k1/settings",
        "csrf_token=\(scene.csrfToken)&id=s3&replaces=s1&do=save&low.kiwi=9&was.low.kiwi=5&kiosk.k2=1"
      )
      #expect(limit.text.contains("<li>k2: nothing was changed: with this, the change is too long"))
    }
  }

  @Test func anOutdatedFormIsKept() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      var change = SettingsChange()
      change.lowMarks = ["kiwi": 7]
      try await Self.publish(scene, "s0", change)
      let page = try await Self.post(scene, "id=s1&replaces=&do=save&\(Self.orange)")
      #expect(page.contains("Nothing was changed: minji has changed"))
      #expect(
        page.contains("name=\"replaces\" value=\"s0\"") && page.contains("value=\"Orange juice\""))
    }
  }

  @Test func aFormOutlivesItsSession() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let form = try await scene.get("/kiosks/k1/menu?juice=kiwi").text
      #expect(!form.contains("Your numbers are still here."))
      #expect(form.contains("name=\"was.amount.kiwi\" value=\"3\""))
      scene.dashboard.sessions.end(scene.session)
      let answer = try await scene.post(
        "/kiosks/k1/menu",
        "csrf_token=x&id=s1&replaces=&do=save&juice=kiwi&name.ko=&was.name.ko=A&amount.kiwi=2"
          + "&was.amount.kiwi=3")
      try await scene.authenticate("minji")
      let target = answer.headers[.location]?.dropFirst("/login?to=".count).removingPercentEncoding
      let page = try await scene.get(try #require(target)).text
      #expect(page.contains("Your numbers are still here."))
      #expect(page.contains("name=\"name.ko\" value=\"\""))
      #expect(page.contains("name=\"amount.kiwi\" value=\"2\""))
    }
  }

  @Test func viewersDoNotSeeIt() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      #expect(try await scene.get("/kiosks/k1/menu").status == .forbidden)
      #expect(!(try await scene.get("/kiosks/k1").text.contains("/menu")))
    }
  }
}
