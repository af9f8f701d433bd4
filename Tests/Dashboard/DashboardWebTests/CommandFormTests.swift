import Fleet
import HTTPTypes
import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import DashboardWeb

/// The forms of a kiosk's page: what they send again, and which values they keep.
@Suite struct CommandFormTests {
  /// The kiosk explains a rejection in English, with the ids of its fruits.
  @Test(arguments: [
    (
      "best_before of mango is in the past", "Mango: the date is in the past.",
      "망고: 이미 지난 날짜예요."
    ),
    (
      "the capacity for mango is 100, and its stock is 95",
      "Mango: the capacity is 100, and the stock is 95.", "망고: 최대 100개이고 지금 95개 있어요."
    ),
    ("there are only 3 of mango", "Only 3: Mango.", "3개밖에 없어요: 망고."),
    ("something new", "something new", nil),
  ])
  func anExplanationIsInTheUsersLanguage(text: String, english: String, korean: String?)
    async throws
  {
    try await Scene.run { scene in
      let kiosk = scene.dashboard.link.fleet["k1"]
      #expect(Language.english.detail(text, at: kiosk) == english)
      #expect(Language.korean.detail(text, at: kiosk) == korean)
    }
  }

  /// A kiosk that its opening hours have closed says until when, and has no button that does nothing.
  @Test func aKioskOutsideItsHoursSaysWhenItOpens() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      // The scene is on a Saturday at 09:00 in UTC.
      let interval = try #require(OpeningHours.Interval("08:00-20:00"))
      let hours = try #require(OpeningHours([.mon: interval]))
      let file = MenuReport(menu: .standard, capacities: [:], lowMarks: [:])
      try await scene.kiosk(
        "settings", SettingsReport(stored: nil, file: file, fileHours: hours).payload)
      try await scene.kiosk("service", Array("closed".utf8))
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("Closed until Mon 08:00, by the opening hours."))
      #expect(!page.contains("Open the kiosk") && page.contains("Keep the kiosk closed"))
      let entry = LedgerEntry(
        seq: 9, epoch: 1, at: scene.now, source: Source(kind: .service, name: "minji"), id: nil,
        outcome: .service(.closed))
      try await scene.kiosk("events", entry.payload, retain: false)
      let closed = try await scene.get("/kiosks/k1").text
      #expect(closed.contains("Closed by a person, and outside the opening hours until Mon 08:00."))
      #expect(closed.contains("Open at the next opening hours"))
    }
  }

  /// A value of each form, with its fields.
  private static let forms: [(CommandForm.Kind, String)] = [
    (.job, "decision=poured.142"), (.program, "program=clean.bar"),
    (.charge, "decision=refund.1795251600"),
    (.sensor, "decision=release.fridge&word.fridge=a+%26+b"),
    (.service, "service=closed"), (.remove, "reason=damaged&remove.mango=2"),
    (.remove, "expired=kiwi.spoiled&amount.kiwi=7"), (.undo, "undo=4"),
  ]

  @Test func everyFormIsTested() {
    #expect(Set(Self.forms.map(\.0)) == Set(CommandForm.Kind.allCases))
  }

  /// Returns the path and the fields of the form that sends a command again.
  private static func again(_ page: String) throws -> (path: String, fields: String) {
    let form = try #require(
      page.firstMatch(of: /(?s)<form class="actions" method="post" action="([^"]*)">(.*?)<\/form>/)?
        .output)
    let fields = form.2.matches(of: /name="([^"]*)" value="([^"]*)"/).map { match in
      let value = String(match.output.2).replacing("&amp;", with: "&")
      return "\(String(match.output.1).percentEncoded)=\(value.percentEncoded)"
    }
    return (String(form.1), fields.joined(separator: "&"))
  }

  @Test(arguments: forms)
  func aCommandWithoutAnAnswerIsSentAgainWithItsIDAndValues(
    kind: CommandForm.Kind, fields: String
  ) async throws {
    try await Scene.run(answerTimeout: .zero) { scene in
      try await scene.authenticate("minji")
      let entry = LedgerEntry(
        seq: 4, epoch: 7, at: scene.now, source: Source(kind: .restock, name: "minji"), id: nil,
        outcome: .restocked(changes: ["kiwi": 5]))
      try await scene.kiosk("events", entry.payload, retain: false)
      let path = "/kiosks/k1/\(kind.rawValue)"
      let page = try await scene.post(path, "csrf_token=\(scene.csrfToken)&id=d1&\(fields)").text
      let first = try await scene.nextCommand()
      #expect(page.contains("No answer yet."))
      let again = try Self.again(page)
      #expect(again.path == path)
      let second = try await scene.post(again.path, again.fields).text
      #expect(try await scene.nextCommand() == first)
      #expect(second.contains("No answer yet."))
    }
  }

  @Test func anOrderOfTheVirtualPanelIsSentAgainWithItsID() async throws {
    try await Scene.run(answerTimeout: .zero) { scene in
      try await scene.authenticate("minji")
      let page = try await scene.post(
        "/kiosks/k1/panel", "csrf_token=\(scene.csrfToken)&id=p1&juice=kiwi")
      let first = try await scene.nextCommand()
      let again = try Self.again(page.text)
      _ = try await scene.post(again.path, again.fields)
      #expect(try await scene.nextCommand() == first)
    }
  }

  /// A copy that exceeds the rate limit may follow one that the kiosk has executed.
  @Test(arguments: [
    ("remove", "restock", "id=d1&reason=damaged&remove.mango=2"),
    ("restock", "restock", "id=d1&add.kiwi=5"),
  ])
  func aCommandThatWasTooFrequentKeepsItsID(
    path: String, topic: String, fields: String
  ) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      async let answer = scene.post("/kiosks/k1/\(path)", "csrf_token=\(scene.csrfToken)&\(fields)")
      _ = try await scene.nextCommand()
      try await scene.kiosk(
        "\(topic)/minji/result", CommandResult(Rejection(.rateLimited, "", id: "d1")).payload,
        retain: false)
      let page = try await answer.text
      #expect(page.contains("No answer yet.") && page.contains("name=\"id\" value=\"d1\""))
    }
  }

  @Test func aRejectedRemovalKeepsItsNumbers() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      async let answer = scene.post(
        "/kiosks/k1/remove", "csrf_token=\(scene.csrfToken)&id=d1&reason=damaged&remove.mango=2")
      _ = try await scene.nextCommand()
      try await scene.kiosk(
        "restock/minji/result", CommandResult(Rejection(.belowZero, "only 1", id: "d1")).payload,
        retain: false)
      let page = try await answer.text
      #expect(page.contains("Nothing was changed:") && page.contains("only 1"))
      #expect(page.contains("name=\"remove.mango\" value=\"2\""))
      #expect(page.contains("value=\"damaged\" selected") && page.contains("<details open>"))
    }
  }

  /// The form of a session that has ended keeps its values for the time after the login.
  @Test(arguments: [
    ("sensor", "decision=release.fridge&word.fridge=cold", "word.fridge=cold"),
    ("remove", "reason=damaged&remove.mango=2", "reason=damaged&remove.mango=2"),
  ])
  func typedValuesOutlastTheSession(path: String, fields: String, kept: String) async throws {
    try await Scene.run { scene in
      let answer = try await scene.post("/kiosks/k1/\(path)", "csrf_token=x&id=d1&\(fields)")
      #expect(
        answer.headers[.location] == "/login?to=\("/kiosks/k1?\(kept)".percentEncoded)")
      try await scene.authenticate("minji")
      let report = SensorReport(
        state: .blocked, value: 9500, unit: .celsius, maximum: 7000, isSilent: false,
        fruits: ["kiwi"])
      try await scene.kiosk("sensor/fridge", report.payload)
      let page = try await scene.get("/kiosks/k1?\(kept)").text
      #expect(
        page.contains(path == "sensor" ? "value=\"cold\"" : "name=\"remove.mango\" value=\"2\""))
    }
  }
}
