import Fleet
import Foundation
import HTTPTypes
import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import DashboardWeb

/// The settings of a kiosk, which the test simulates.
@Suite struct SettingsPageTests {
  private static let fruits: FruitAmounts = FruitAmounts(
    Menu.standard.fruits.map { (fruit: $0.id, amount: 100) })

  /// Posts the form and answers in the kiosk's name.
  ///
  /// - Parameter earlier: The change that the kiosk has applied at an earlier attempt.
  private static func save(
    _ scene: Scene, _ body: String, _ status: CommandResult.Status,
    _ reason: RejectionReason? = nil, publishing: Bool = false, earlier: SettingsChange? = nil
  ) async throws -> (page: String, command: SettingsCommand) {
    async let page = scene.post("/kiosks/k1/settings", "csrf_token=\(scene.csrfToken)&\(body)")
    let request = try await scene.nextRequest(.settings)
    guard case .settings(let command) = request.command, let id = request.id else {
      throw RequestError.badForm
    }
    if publishing { try await publish(scene, id, earlier ?? command.change) }
    var result = CommandResult(status: status)
    (result.reason, result.isDuplicate) = (reason, earlier != nil)
    try await scene.answer(result, to: request)
    return (try await page.text, command)
  }

  private static func publish(
    _ scene: Scene, _ id: CommandID, _ change: SettingsChange
  ) async throws {
    let file = MenuReport(
      menu: .standard, capacities: fruits,
      lowMarks: FruitAmounts(fruits.map { (fruit: $0.fruit, amount: 5) }))
    let stored = StoredSettings(id: id, by: "minji", at: scene.now, change: change)
    try await scene.kiosk(
      "settings", SettingsReport(stored: stored, file: file, fileHours: nil).payload)
  }

  @Test func whatIsChangedIsSentAndShown() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let form = try await scene.get("/kiosks/k1/settings").text
      #expect(form.contains("All values are those of the kiosk&#39;s file."))
      let body =
        "id=s1&replaces=&do=save&currency=EUR&price.kiwi=3,50&capacity.kiwi=100"
        + "&was.capacity.kiwi=100&low.kiwi=9&disabled.mango=1&hours=own&from.mon=07:00&to.mon=22:00"
        + "&from.tue=18:00&to.tue=00:00&from.wed=00:00&to.wed=00:00"
      let (page, command) = try await Self.save(scene, body, .applied, publishing: true)
      #expect(command.replaced == nil)
      #expect(command.change.prices == ["kiwi": Money(units: 350, .euro)])
      #expect(command.change.capacities == [:] && command.change.lowMarks == ["kiwi": 9])
      #expect(command.change.disabled == ["mango"])
      #expect(command.change.hours?.text == "mon 07:00-22:00, tue 18:00-24:00, wed 00:00-24:00")
      #expect(page.contains("Kiwi juice €3.50, Mango juice not sold, Kiwi: low at 5 → 9"))
      #expect(page.contains("Mon 07:00–22:00, Tue 18:00–24:00, Wed 00:00–24:00"))
      #expect(page.contains("Differs from the file") && page.contains("minji, <time"))
      #expect(page.contains("name=\"replaces\" value=\"s1\""))
      #expect(try await scene.get("/kiosks/k1").text.contains("Mon 07:00–22:00"))
      // The page of a command that was applied already sends nothing.
      let again = try await scene.post(
        "/kiosks/k1/settings", "csrf_token=\(scene.csrfToken)&\(body)")
      #expect(again.text.contains("<strong>Saved</strong> (k1): "))
      // Dropped.
      let asked = try await scene.post(
        "/kiosks/k1/settings", "csrf_token=\(scene.csrfToken)&id=s2&replaces=s1&do=drop")
      #expect(asked.text.contains("Nothing was changed yet."))
      #expect(asked.text.contains("Mango juice sold, Kiwi: low at "))
      #expect(asked.text.contains("→ always open"))
      let (_, drop) = try await Self.save(scene, "id=s2&replaces=s1&do=drop&sure=1", .applied)
      #expect(drop.replaced == "s1" && drop.change.isEmpty)
    }
  }

  @Test func aRejectedOrOutdatedFormIsKept() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let body = "id=s1&replaces=&do=save&hours=file&low.kiwi=9&disabled.mango=1"
      let (rejected, _) = try await Self.save(scene, body, .rejected, .notRecorded)
      #expect(
        rejected.contains("nothing was changed")
          && rejected.contains("name=\"low.kiwi\" value=\"9\""))
      #expect(!rejected.contains("name=\"id\" value=\"s1\""))
      var change = SettingsChange()
      change.lowMarks = ["kiwi": 7]
      try await Self.publish(scene, "s0", change)
      let outdated = try await scene.post(
        "/kiosks/k1/settings", "csrf_token=\(scene.csrfToken)&\(body)")
      #expect(outdated.text.contains("Nothing was changed: minji has changed"))
      #expect(outdated.text.contains("name=\"replaces\" value=\"s0\""))
    }
  }

  @Test func aFormIsSentUntilEachKioskHasIt() async throws {
    try await Scene.run(answerTimeout: .zero) { scene in
      try await scene.authenticate("minji")
      let menu = MenuReport(menu: .standard, capacities: Self.fruits, lowMarks: ["kiwi": 5])
      try await scene.kiosk("status", Array("online".utf8), of: "k2")
      try await scene.kiosk("menu", menu.payload, of: "k2")
      // k1 has applied the form already.
      var change = SettingsChange()
      change.lowMarks = ["kiwi": 9]
      try await Self.publish(scene, "s1", change)
      let page = try await scene.post(
        "/kiosks/k1/settings",
        "csrf_token=\(scene.csrfToken)&id=s1&replaces=&do=save&low.kiwi=9&was.low.kiwi=5&kiosk.k2=1"
      ).text
      try #require(page.contains("<li>k2: no answer yet"))
      #expect(page.contains("<strong>Saved</strong> (k1): "))
      // Saving again sends the same command.
      #expect(page.contains("name=\"id\" value=\"s1\""))
      #expect(page.contains("name=\"low.kiwi\" value=\"9\""))
      #expect(page.contains("name=\"was.low.kiwi\" value=\"5\""))
      #expect(page.contains("name=\"kiosk.k2\" value=\"1\" checked"))
      #expect(try await scene.nextCommand().topic == "kiosk/k2/settings/minji")
      // The kiosk without an answer may have applied it.
      let records = await scene.dashboard.activity.records(since: scene.now) { $0.kiosk == "k2" }
      let actions = records.records.compactMap { record -> ActivityLog.Action? in
        if case .action(let action) = record.event { action } else { nil }
      }
      #expect(actions.map(\.detail) == ["Kiwi: low at 5 → 9 (no answer when it was saved)"])
      #expect(actions.first?.undo != nil)
    }
  }

  /// A kiosk that publishes a price without a sense must not end the dashboard.
  @Test func anImpossiblePriceIsNone() async throws {
    try await Scene.run(answerTimeout: .zero) { scene in
      try await scene.authenticate("minji")
      let won = try #require(Currency("KRW"))
      try await scene.kiosk("menu", Self.menu(kiwi: .max, won).payload)
      #expect(scene.dashboard.link.fleet["k1"]?.menu?.menu.juice("kiwi")?.price == nil)
      let page = try await scene.post(
        "/kiosks/k1/settings",
        "csrf_token=\(scene.csrfToken)&id=s1&replaces=&do=save&price.kiwi=3000&was.price.kiwi="
      )
      #expect(page.status == .ok)
    }
  }

  @Test func timesForEachDayStayUntilTheyAreSaved() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await scene.kiosk("menu", Self.menu(kiwi: 1_500, .euro).payload)
      let page = try await scene.post(
        "/kiosks/k1/settings",
        "csrf_token=\(scene.csrfToken)&id=s1&replaces=&do=save&price.kiwi=150&was.price.kiwi=15.00"
          + "&hours=own&was.hours=file&from.each=08:00&to.each=22:00"
      ).text
      #expect(page.contains("Nothing was changed yet"))
      #expect(page.contains("name=\"from.each\" value=\"08:00\""))
      #expect(page.contains("name=\"to.each\" value=\"22:00\""))
    }
  }

  private static func menu(kiwi units: Int, _ currency: Currency) throws -> MenuReport {
    let juices = Menu.standard.juices.map { juice in
      Juice(
        id: juice.id, name: juice.name, recipe: juice.recipe,
        price: Money(units: juice.id == "kiwi" ? units : 500, currency))
    }
    return MenuReport(
      menu: try Menu(fruits: Menu.standard.fruits, juices: juices), capacities: fruits,
      lowMarks: ["kiwi": 5])
  }

  /// Ten times the price is a mistake more often than not.
  @Test(arguments: [("30.01", true), ("30.00", false), ("7.50", false), ("7.49", true)])
  func aPriceThatChangesMuchIsAsked(price: String, isAsked: Bool) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await scene.kiosk("menu", Self.menu(kiwi: 1_500, .euro).payload)
      let body = "id=s1&replaces=&do=save&price.kiwi=\(price)&was.price.kiwi=15.00"
      if isAsked {
        let page = try await scene.post(
          "/kiosks/k1/settings", "csrf_token=\(scene.csrfToken)&\(body)")
        #expect(
          page.text.contains("Nothing was changed yet") && page.text.contains("name=\"sure\""))
        #expect(page.text.contains("Kiwi juice €15.00 → €\(price)"))
        #expect(page.text.contains("value=\"\(price)\""))
      }
      let (page, command) = try await Self.save(
        scene, body + (isAsked ? "&sure=1" : ""), .applied)
      #expect(command.change.prices["kiwi"] == Money(price, .euro) && page.contains("Saved"))
    }
  }

  /// One tick is about all of them.
  @Test func allNumbersThatChangeMuchAreNamed() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await scene.kiosk("menu", Self.menu(kiwi: 1_500, .euro).payload)
      let page = try await scene.post(
        "/kiosks/k1/settings",
        "csrf_token=\(scene.csrfToken)&id=s1&replaces=&do=save&price.kiwi=150&was.price.kiwi=15.00"
          + "&price.mango=50&was.price.mango=5.00&capacity.banana=2000&was.capacity.banana=100"
      ).text
      #expect(
        page.contains(
          "More than double or less than half: Banana: capacity 100 → 2000, "
            + "Kiwi juice €15.00 → €150.00, Mango juice €5.00 → €50.00. If"))
    }
  }

  @Test func veryManyNumbersThatChangeMuchAreCounted() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let kiosk = try #require(scene.dashboard.link.fleet["k1"])
      var edit = SettingsEdit()
      for fruit in Self.fruits.map(\.fruit) {
        edit.capacities[fruit] = 1_000
        edit.lowMarks[fruit] = 100
      }
      let recipe = try Recipe(["kiwi": 30])
      edit.juices = [Juice(id: "kiwi", name: LocalizedName(fallback: "kiwi"), recipe: recipe)]
      let english = try #require(SettingsPage.question(about: edit, at: [kiosk], .english)).text
      #expect(english.contains(", and 1 more. If") && english.count { $0 == "→" } == 10)
      let korean = try #require(SettingsPage.question(about: edit, at: [kiosk], .korean)).text
      #expect(korean.contains(" 외 1개. 맞다면"))
    }
  }

  @Test(arguments: [
    ("capacity", 100, 201, true), ("capacity", 100, 200, false), ("capacity", 100, 50, false),
    ("capacity", 100, 49, true), ("low", 5, 11, true), ("low", 5, 10, false),
  ])
  func anAmountThatChangesMuchIsAsked(kind: String, old: Int, new: Int, isAsked: Bool) async throws
  {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let body = "id=s1&replaces=&do=save&\(kind).kiwi=\(new)&was.\(kind).kiwi=\(old)"
      if isAsked {
        let page = try await scene.post(
          "/kiosks/k1/settings", "csrf_token=\(scene.csrfToken)&\(body)")
        #expect(
          page.text.contains("Nothing was changed yet") && page.text.contains("name=\"sure\""))
        let name = kind == "low" ? "low at" : kind
        #expect(page.text.contains("Kiwi: \(name) \(old) → \(new)"))
      }
      let (page, command) = try await Self.save(
        scene, body + (isAsked ? "&sure=1" : ""), .applied)
      let amounts = kind == "low" ? command.change.lowMarks : command.change.capacities
      #expect(amounts["kiwi"] == new && page.contains("Saved"))
    }
  }

  /// No other kiosk gets a currency, also if this one gets its first or gives all its prices.
  @Test(arguments: [false, true])
  func aKioskWithoutACurrencyGetsNoPriceOfAnother(hasPrices: Bool) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      if hasPrices {
        try await scene.kiosk("menu", Self.menu(kiwi: 1_500, .euro).payload)
      }
      let menu = MenuReport(menu: .standard, capacities: Self.fruits, lowMarks: ["kiwi": 5])
      try await scene.kiosk("status", Array("online".utf8), of: "k2")
      try await scene.kiosk("menu", menu.payload, of: "k2")
      let body =
        "id=s1&replaces=&do=save&price.kiwi=16&currency=EUR&all=1"
        + (hasPrices ? "&was.price.kiwi=15.00&all_prices=1" : "&was.price.kiwi=")
      let (page, command) = try await Self.save(scene, body, .applied)
      #expect(command.change.prices["kiwi"] == Money(units: 1_600, .euro))
      #expect(page.contains("<strong>Saved</strong> (k1): "))
      #expect(page.contains("<li>k2: nothing was changed: it has none of these"))
    }
  }

  /// All kiosks with the same currency get the price, the others are not sent anything.
  @Test func oneTickChangesAllKiosksWithTheCurrency() async throws {
    try await Scene.run(answerTimeout: .zero) { scene in
      try await scene.authenticate("minji")
      let won = try #require(Currency("KRW"))
      try await scene.kiosk("menu", Self.menu(kiwi: 1_500, .euro).payload)
      for (kiosk, currency): (KioskID, Currency) in [("k2", .euro), ("k3", won), ("k4", .euro)] {
        try await scene.kiosk("status", Array("online".utf8), of: kiosk)
        try await scene.kiosk("menu", Self.menu(kiwi: 1_500, currency).payload, of: kiosk)
      }
      let form = try await scene.get("/kiosks/k1/settings").text
      #expect(form.contains("All 3 others</b>") && form.contains("All 2 with prices in EUR"))
      #expect(!form.contains("same_region"))
      let page = try await scene.post(
        "/kiosks/k1/settings",
        "csrf_token=\(scene.csrfToken)&id=s1&replaces=&do=save&price.kiwi=16&was.price.kiwi=15.00"
          + "&same_currency=1"
      ).text
      for kiosk in ["k1", "k2", "k4"] { #expect(page.contains("<li>\(kiosk): no answer yet")) }
      #expect(
        !page.contains("<li>k3:") && page.contains("name=\"same_currency\" value=\"1\" checked"))
      // With all of them, the other currency is named.
      let all = try await scene.post(
        "/kiosks/k1/settings",
        "csrf_token=\(scene.csrfToken)&id=s2&replaces=&do=save&price.kiwi=16&was.price.kiwi=15.00"
          + "&all=1"
      ).text
      #expect(all.contains("<li>k3: nothing was changed: it has none of these"))
    }
  }

  @Test func oneTickChangesTheKiosksOfTheRegion() async throws {
    try await Scene.run(answerTimeout: .zero) { scene in
      try await scene.authenticate("minji")
      for (kiosk, region) in [("k1", "North"), ("k2", "North"), ("k3", "South"), ("k4", nil)]
        as [(KioskID, String?)]
      {
        let info = KioskInfo(version: "1", startedAt: scene.now, region: region)
        try await scene.kiosk("status", Array("online".utf8), of: kiosk)
        try await scene.kiosk("info", info.payload, of: kiosk)
        try await scene.kiosk("menu", Self.menu(kiwi: 1_500, .euro).payload, of: kiosk)
      }
      #expect(try await scene.get("/kiosks/k1/settings").text.contains("The one in North"))
      let page = try await scene.post(
        "/kiosks/k1/settings",
        "csrf_token=\(scene.csrfToken)&id=s1&replaces=&do=save&price.kiwi=16&was.price.kiwi=15.00"
          + "&same_region=1"
      ).text
      for (kiosk, isChosen) in [("k1", true), ("k2", true), ("k3", false), ("k4", false)] {
        #expect(page.contains("<li>\(kiosk): no answer yet") == isChosen, "\(kiosk)")
      }
    }
  }

  /// Typed times count although the choice is still *As in the file*.
  @Test(
    arguments: [
      ("from.mon=07:00&to.mon=22:00", "07:00-22:00", 1),
      ("from.each=08:00&to.each=00:00", "08:00-24:00", 7),
      ("from.mon=08:00&to.mon=18:00&from.each=07:00&to.each=22:00", "08:00-18:00", 7),
      // The page showed the times of Monday, or the user has cleared them.
      (
        "from.mon=08:00&was.from.mon=08:00&to.mon=18:00&was.to.mon=18:00"
          + "&from.each=07:00&to.each=22:00", "07:00-22:00", 7
      ),
      (
        "from.mon=&was.from.mon=08:00&to.mon=&was.to.mon=18:00&from.each=07:00&to.each=22:00",
        nil, 6
      ),
    ] as [(String, String?, Int)])
  func typedTimesCount(times: String, hours: String?, days: Int) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let (_, command) = try await Self.save(
        scene, "id=s1&replaces=&do=save&hours=file&was.hours=file&\(times)", .applied)
      let intervals = try #require(command.change.hours?.intervals)
      #expect(intervals.count == days && intervals[.mon]?.text == hours)
    }
  }

  @Test(arguments: [("each", "Each", "매일"), ("tue", "Tue", "화요일")])
  func aTimeThatIsMissingIsNamedByItsRow(row: String, english: String, korean: String) async throws
  {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let kiosk = try #require(scene.dashboard.link.fleet["k1"])
      let form = Form("hours=own&was.hours=file&from.\(row)=08:00&to.\(row)=")
      do throws(SettingsEdit.Problem) {
        _ = try SettingsEdit(form, at: kiosk)
        Issue.record("the edit has hours without an end")
      } catch {
        #expect(error.text(.english).hasPrefix("\(english): write both times"))
        #expect(error.text(.korean).hasPrefix("\(korean): 서로 다른"))
      }
    }
  }

  @Test func theAdviceFitsTheCurrency() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let won = try #require(Currency("KRW"))
      try await scene.kiosk("menu", Self.menu(kiwi: 3_000, won).payload)
      let page = try await scene.post(
        "/kiosks/k1/settings",
        "csrf_token=\(scene.csrfToken)&id=s1&replaces=&do=save&price.kiwi=5200.50&was.price.kiwi=3000"
      )
      #expect(page.text.contains("the price is not an amount such as 3500."))
    }
  }

  /// The other kiosk has no kiwi, so nothing is sent to it.
  @Test func aKioskThatLacksAFruitIsNamed() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let banana = try Menu(
        fruits: Menu.standard.fruits.filter { $0.id == "banana" },
        juices: Menu.standard.juices.filter { $0.id == "banana" })
      let menu = MenuReport(menu: banana, capacities: ["banana": 100], lowMarks: ["banana": 5])
      try await scene.kiosk("status", Array("online".utf8), of: "k2")
      try await scene.kiosk("menu", menu.payload, of: "k2")
      let (page, _) = try await Self.save(
        scene, "id=s1&replaces=&do=save&low.kiwi=9&was.low.kiwi=5&kiosk.k2=1", .applied,
        publishing: true)
      #expect(page.contains("<li>k2: nothing was changed: it has none of these"))
      #expect(page.contains("<strong>Saved</strong> (k1): "))
      // Only what was changed is in the record of who did what.
      let records = await scene.dashboard.activity.records(since: scene.now) { $0.kind == .actions }
      let actions = records.records.compactMap { record -> ActivityLog.Action? in
        if case .action(let action) = record.event, !action.isLogin { action } else { nil }
      }
      var action = ActivityLog.Action(
        "minji", .changedSettings, kiosk: "k1", detail: "Kiwi: low at 5 → 9")
      action.koreanDetail = "키위: 부족 기준 5 → 9"
      action.set(undo: SettingsCommand(replacing: "s1", with: SettingsChange()))
      #expect(actions == [action])
      #expect(!page.contains("<li>k1:"))
    }
  }

  @Test func aChangeIsUndoneUntilTheNext() async throws {
    try await Scene.run { scene in
      let ada = try User.test("ada", .admin)
      try scene.dashboard.users.update { $0[ada.name] = ada }
      try await scene.authenticate("minji")
      let (_, first) = try await Self.save(
        scene, "id=s1&replaces=&do=save&currency=EUR&price.kiwi=3.50&low.kiwi=9&was.low.kiwi=5",
        .applied, publishing: true)
      _ = try await Self.save(
        scene, "id=s2&replaces=s1&do=save&price.kiwi=4.20&was.price.kiwi=3.50&disabled.mango=1",
        .applied, publishing: true)
      try await scene.authenticate("ada")
      let audit = try await scene.get("/users/audit").text
      let who = "<td>minji</td><td>changed the settings <span class=\"muted\">Kiwi juice €"
      #expect(audit.components(separatedBy: who).count == 3 && audit.contains("€4.20"))
      #expect(audit.contains("name=\"replaces\" value=\"s2\""))
      #expect(!audit.contains("name=\"replaces\" value=\"s1\""))
      try await scene.authenticate("minji")
      let token = "csrf_token=\(scene.csrfToken)"
      // Another change has followed; and a change that is not recorded.
      let late = try await scene.post("/kiosks/k1/settings", "\(token)&id=u0&do=undo&replaces=s1")
      #expect(late.text.contains("minji has changed the settings meanwhile"))
      try await Self.publish(scene, "x", first.change)
      let unknown = try await scene.post("/kiosks/k1/settings", "\(token)&id=u0&do=undo&replaces=x")
      #expect(unknown.text.contains("the earlier values are not recorded"))
      try await Self.publish(
        scene, "s2",
        SettingsChange(first.change, price: Money(units: 420, .euro), disabled: "mango"))
      let (page, command) = try await Self.save(
        scene, "id=u1&do=undo&replaces=s2", .applied, publishing: true)
      #expect(command.replaced == "s2" && command.change == first.change)
      #expect(
        page.contains("<strong>Saved</strong> (k1): Kiwi juice €4.20 → €3.50, Mango juice sold"))
      // The undo can be undone.
      let (_, again) = try await Self.save(scene, "id=u2&do=undo&replaces=u1", .applied)
      #expect(again.change.prices == ["kiwi": Money(units: 420, .euro)])
      #expect(again.change.disabled == ["mango"])
    }
  }

  /// The price that another kiosk is to get is the one that this kiosk has already.
  @Test func anotherKioskGetsThePricesOfThisOne() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      var change = SettingsChange()
      change.prices = ["kiwi": Money(units: 420, .euro)]
      try await Self.publish(scene, "s0", change)
      try await scene.kiosk("status", Array("online".utf8), of: "k2")
      try await scene.kiosk("menu", Self.menu(kiwi: 350, .euro).payload, of: "k2")
      let body = "replaces=s0&do=save&price.kiwi=4.20&was.price.kiwi=4.20&kiosk.k2=1"
      let nothing = try await scene.post(
        "/kiosks/k1/settings", "csrf_token=\(scene.csrfToken)&id=s1&\(body)")
      #expect(nothing.text.contains("tick “They get all prices of this kiosk”"))
      #expect(nothing.text.contains("name=\"kiosk.k2\" value=\"1\" checked"))
      let alone = try await scene.post(
        "/kiosks/k1/settings",
        "csrf_token=\(scene.csrfToken)&id=s1&replaces=s0&do=save&all_prices=1")
      #expect(alone.text.contains("There is nothing to change."))
      async let page = scene.post(
        "/kiosks/k1/settings", "csrf_token=\(scene.csrfToken)&id=s2&\(body)&all_prices=1")
      let request = try await scene.nextRequest(.settings, of: "k2")
      guard case .settings(let command) = request.command else { throw RequestError.badForm }
      #expect(command.change == change)
      try await scene.answer(CommandResult(status: .applied), to: request, of: "k2")
      #expect(try await page.text.contains("<strong>Saved</strong> (k2): "))
    }
  }

  /// The kiosk's answer to the first attempt was lost.
  @Test func aRepeatedFormWithAnotherValueIsNotSaved() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      var earlier = SettingsChange()
      earlier.lowMarks = ["kiwi": 9]
      let (page, _) = try await Self.save(
        scene, "id=s1&replaces=&do=save&low.kiwi=8&was.low.kiwi=5", .applied, publishing: true,
        earlier: earlier)
      #expect(page.contains("nothing was changed: the settings have changed meanwhile"))
      #expect(page.contains("name=\"low.kiwi\" value=\"8\""))
      #expect(!page.contains("name=\"id\" value=\"s1\""))
      #expect(page.contains("name=\"replaces\" value=\"s1\""))
    }
  }

  /// The kiosk's file has changed since the form was opened.
  @Test func onlyWhatTheUserHasChangedIsSent() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let form = try await scene.get("/kiosks/k1/settings").text
      var body = "id=s1&replaces=&do=save"
      for (name, value) in [
        ("capacity.kiwi", "100"), ("low.kiwi", "5"), ("hours", "file"), ("from.mon", ""),
      ] {
        #expect(form.contains("name=\"was.\(name)\" value=\"\(value)\""))
        body += "&was.\(name)=\(value)&\(name)=\(name == "low.kiwi" ? "9" : value)"
      }
      var capacities = Self.fruits
      capacities["kiwi"] = 50
      let menu = MenuReport(menu: .standard, capacities: capacities, lowMarks: ["kiwi": 5])
      try await scene.kiosk("menu", menu.payload)
      let (page, command) = try await Self.save(scene, body, .rejected, .notRecorded)
      var change = SettingsChange()
      change.lowMarks = ["kiwi": 9]
      #expect(command.change == change)
      #expect(page.contains("name=\"low.kiwi\" value=\"9\""))
      #expect(page.contains("name=\"was.low.kiwi\" value=\"5\""))
      #expect(page.contains("name=\"capacity.kiwi\" value=\"50\""))
      #expect(page.contains("name=\"was.capacity.kiwi\" value=\"50\""))
    }
  }

  @Test func aFormOutlivesItsSession() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      scene.dashboard.sessions.end(scene.session)
      let answer = try await scene.post(
        "/kiosks/k1/settings",
        "csrf_token=x&id=s1&replaces=&do=save&hours=own&from.mon=07:00&to.mon=09:00&low.kiwi=0&disabled.mango=1"
          + "&capacity.kiwi=100&was.capacity.kiwi=100&was.disabled.banana=1"
      )
      try await scene.authenticate("minji")
      let target = answer.headers[.location]?.dropFirst("/login?to=".count).removingPercentEncoding
      #expect(target?.contains("capacity") == false)
      let page = try await scene.get(try #require(target)).text
      #expect(page.contains("Your numbers are still here."))
      #expect(page.contains("name=\"from.mon\" value=\"07:00\""))
      #expect(page.contains("name=\"disabled.mango\" value=\"1\" checked"))
      #expect(page.contains("name=\"low.kiwi\" value=\"0\""))
      #expect(page.contains("name=\"was.disabled.banana\" value=\"1\""))
      #expect(try await scene.get("/kiosks/k2/settings").status == .notFound)
    }
  }

  @Test func viewersDoNotSeeIt() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      let refused = try await scene.get("/kiosks/k1/settings")
      #expect(refused.status == .forbidden)
      #expect(refused.text.contains("Your account does not see this page."))
      #expect(!(try await scene.get("/kiosks/k1").text.contains("/settings")))
    }
  }

  @Test func hoursAreShownAsRanges() throws {
    let all = try #require(OpeningHours.Interval("07:00-22:00"))
    let late = try #require(OpeningHours.Interval("18:00-02:00"))
    let hours = try #require(
      OpeningHours([.mon: all, .tue: all, .wed: all, .fri: all, .sat: late]))
    #expect(Language.english.text(hours) == "Mon–Wed 07:00–22:00, Fri 07:00–22:00, Sat 18:00–02:00")
    #expect(Language.korean.text(hours) == "월–수 07:00–22:00, 금 07:00–22:00, 토 18:00–02:00")
  }

  /// An edit at another kiosk changes only what that kiosk has.
  @Test func anEditFitsEachKiosk() throws {
    var fleet = KioskFleet(root: "kiosk")
    func receive(_ topic: String, _ payload: [UInt8]) {
      fleet.receive(
        topic: "kiosk/k1/\(topic)", payload: payload, isRetained: true,
        at: Timestamp(milliseconds: 0))
    }
    let juices = Menu.standard.juices.map { juice in
      Juice(
        id: juice.id, name: juice.name, recipe: juice.recipe,
        price: juice.id == "kiwi" ? Money(units: 300, .euro) : nil)
    }
    let menu = try Menu(fruits: Menu.standard.fruits, juices: juices)
    let report = MenuReport(menu: menu, capacities: Self.fruits, lowMarks: ["kiwi": 5])
    receive("menu", report.payload)
    var old = SettingsChange()
    old.lowMarks = ["kiwi": 8, "fig": 1]
    old.disabled = ["mango", "tea"]
    receive(
      "settings",
      SettingsReport(
        stored: StoredSettings(id: "s1", by: "a", at: Timestamp(milliseconds: 0), change: old),
        file: report, fileHours: nil
      ).payload)
    let kiosk = try #require(fleet["k1"])
    var edit = SettingsEdit()
    edit.prices = [
      "kiwi": Money(units: 350, .euro), "banana": Money(units: 1, try #require(Currency("KRW"))),
      "tea": Money(units: 1, .euro),
    ]
    edit.capacities = ["kiwi": 100, "mango": 90, "fig": 4]
    edit.sold = ["mango": true, "banana": false]
    let change = kiosk.change(by: edit)
    #expect(change.prices == ["kiwi": Money(units: 350, .euro)])
    // Equal to the file, or of a fruit that it does not have.
    #expect(change.capacities == ["mango": 90])
    #expect(change.lowMarks == ["kiwi": 8])
    #expect(change.disabled == ["banana"])
    edit.prices = ["kiwi": Money(units: 300, .euro)]
    #expect(kiosk.change(by: edit).prices.isEmpty)
    receive("settings", [])
    #expect(fleet["k1"]?.settings == nil)
  }
}

extension SettingsChange {
  fileprivate init(_ other: Self, price: Money, disabled juice: Juice.ID) {
    self = other
    prices["kiwi"] = price
    disabled = [juice]
  }
}
