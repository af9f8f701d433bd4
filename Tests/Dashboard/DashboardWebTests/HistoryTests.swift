import CommandLineSupport
import Dispatch
import Fleet
import Foundation
import HTTPTypes
import JuiceDomain
import KioskProtocol
import Testing

@testable import DashboardWeb

/// The pages of the history, from files as the dashboard writes them.
@Suite struct HistoryTests {
  private static let day = Int64(1_795_251_600_000 / 86_400_000)

  /// Stores one day of history, with these records as JSON.
  private func store(_ records: String, open: String = "", daysAgo: Int64 = 0, in scene: Scene)
    throws
  {
    let (day, folder) = (Self.day - daysAgo, scene.dashboard.settings.stateFolder)
    try FileManager.default.createDirectory(
      atPath: "\(folder)/history", withIntermediateDirectories: true)
    let lines = records.isEmpty ? "" : "\(records)\n"
    try lines.write(toFile: "\(folder)/history/\(name(day))", atomically: true, encoding: .utf8)
    guard !open.isEmpty else { return }
    try "{\"day\":\(day),\"open\":[\(open)],\"known\":[]}".write(
      toFile: "\(folder)/history-state.json", atomically: true, encoding: .utf8)
  }

  private func time(hoursAgo hours: Int64) -> String {
    Timestamp(milliseconds: 1_795_251_600_000 - hours * 3_600_000).description
  }

  private func outage(
    _ kiosk: String, _ hours: Int64, restarted: Bool = false, isKnown: Bool = true
  ) -> String {
    let start = isKnown ? ",\"started\":\"\(time(hoursAgo: 99))\"" : ""
    let restart = restarted ? ",\"restarted\":\"\(time(hoursAgo: hours - 1))\"" : ""
    return """
      {"since":"\(time(hoursAgo: hours))","alert":"offline","kiosk":"\(kiosk)"\(start)\(restart),\
      "until":"\(time(hoursAgo: hours - 1))"}
      """
  }

  private func entry(_ hours: Int64, _ members: String) -> String {
    """
    {"since":"\(time(hoursAgo: hours))","kiosk":"k1","entry":\
    {"seq":\(hours),"epoch":1,"at":"\(time(hoursAgo: hours))",\(members)}}
    """
  }

  private var restock: String {
    entry(3, "\"source\":\"restock/minji\",\"status\":\"restocked\",\"changes\":{\"kiwi\":98}")
  }

  @Test func itSaysWhyAKioskWasOfflineAndWhoRestocked() async throws {
    try await Scene.run { scene in
      let records = [
        outage("k1", 8), outage("k2", 8, isKnown: false), outage("k1", 5, restarted: true), restock,
        entry(2, "\"source\":\"service/minji\",\"status\":\"closed\""),
      ]
      try store(records.joined(separator: "\n"), in: scene)
      try await scene.authenticate("vera")
      let page = try await scene.get("/kiosks/k1/history").text
      #expect(page.contains("network or its broker was away; 1 other kiosk within the same minute"))
      #expect(page.contains("its program started again at"))
      #expect(page.contains("Kiwi +98") && page.contains("minji") && page.contains("Closed"))
      #expect(page.components(separatedBy: "<li class").count - 1 == 4)
      let fleet = try await scene.get("/history").text
      #expect(fleet.components(separatedBy: "<li class").count - 1 == 5)
      #expect(fleet.components(separatedBy: "its program ran on").count - 1 == 1)
      let restocks = try await scene.get("/kiosks/k1/history?kind=restocks&days=1").text
      #expect(restocks.contains("Kiwi +98") && !restocks.contains("Closed"))
      // The link to the history of the kiosk keeps the choice.
      let all = try await scene.get("/history?kind=restocks&days=1").text
      #expect(all.contains("href=\"/kiosks/k1/history?days=1&amp;kind=restocks\""))
      #expect(try await scene.get("/kiosks/k9/history").status == .notFound)
    }
  }

  /// Orders of customers at panels are only in the history of the kiosk.
  @Test func anOrderOfACustomerIsNotWhatAUserDid() async throws {
    try await Scene.run { scene in
      let end = "\"job\":3,\"juice\":\"kiwi\",\"quantity\":1,\"ticket\":5"
      let declined = entry(
        2,
        "\"source\":\"order/panel1\",\"status\":\"returned\",\"reason\":\"declined\",\(end)")
      try store([restock, declined].joined(separator: "\n"), in: scene)
      let ada = try User.test("ada", .admin)
      try scene.dashboard.users.update { $0[ada.name] = ada }
      try await scene.authenticate("ada")
      #expect(try await scene.get("/kiosks/k1/history").text.contains("the payment was declined"))
      // A payment that was declined is no trouble of a machine.
      for (kind, isShown) in [("payments", true), ("machines", false)] {
        let page = try await scene.get("/kiosks/k1/history?kind=\(kind)").text
        #expect(page.contains("the payment was declined") == isShown, "\(kind)")
      }
      let audit = try await scene.get("/users/audit").text
      #expect(audit.contains("Kiwi +98") && !audit.contains("declined"))
      let none = try await scene.get("/users/audit?user=nobody").text
      #expect(none.contains("Nothing in this time.") && !none.contains("id=\"audit\""))
    }
  }

  /// The first kiosk does not decide.
  @Test func theTimesOfManyKiosksAreInTheirMostFrequentTimeZone() async throws {
    try await Scene.run { scene in
      for (kiosk, zone) in [
        ("k1", "Asia/Seoul"), ("k2", "Europe/Berlin"), ("k3", "Europe/Berlin"),
      ] as [(KioskID, String)] {
        let sales = SalesReport(
          at: scene.now, timeZone: zone, today: CivilDate(daysSinceEpoch: Self.day))
        try await scene.kiosk("status", Array("online".utf8), of: kiosk)
        try await scene.kiosk("sales", sales.payload, of: kiosk)
      }
      let ada = try User.test("ada", .admin)
      try scene.dashboard.users.update { $0[ada.name] = ada }
      try await scene.authenticate("ada")
      for path in ["/history", "/users/audit"] {
        let page = try await scene.get(path).text
        #expect(page.contains("Times are in the time zone Europe/Berlin"), "\(path)")
      }
      let page = try await scene.get("/kiosks/k1/history").text
      #expect(page.contains("Times are in the time zone Asia/Seoul"))
    }
  }

  /// Records of another kind hide no outage.
  @Test func aKindIsReadWhole() async throws {
    try await Scene.run { scene in
      let alarm = """
        {"since":"\(time(hoursAgo: 30))","alert":"sensor","kiosk":"k1","sensor":"fridge",\
        "until":"\(time(hoursAgo: 29))"}
        """
      let alarms = Array(repeating: alarm, count: ActivityStore.maximumRecords + 1)
      try store(([outage("k1", 28)] + alarms).joined(separator: "\n"), daysAgo: 1, in: scene)
      try await scene.authenticate("vera")
      let all = try await scene.get("/history?days=7").text
      #expect(all.contains("There is more than this page reads"))
      let outages = try await scene.get("/history?days=7&kind=outages").text
      #expect(!outages.contains("There is more than this page reads"))
      #expect(outages.components(separatedBy: "<li class").count - 1 == 1)
    }
  }

  /// The dashboard has started while these kiosks were offline, so that their outages have no known begin.
  @Test func anUnknownBeginIsNoTime() async throws {
    try await Scene.run { scene in
      let outages = ["k1", "k2"].map { kiosk in
        outage(kiosk, 8).replacing("\"alert\"", with: "\"or_earlier\":true,\"alert\"")
      }
      let short = """
        {"since":"\(time(hoursAgo: 5))","alert":"offline","kiosk":"k1","or_earlier":true,\
        "until":"\(time(hoursAgo: 5))"}
        """
      let fault = """
        {"since":"\(time(hoursAgo: 2))","alert":"machine","kiosk":"k1","machine":"bar","or_earlier":true}
        """
      try store((outages + [short]).joined(separator: "\n"), open: fault, in: scene)
      try await scene.authenticate("vera")
      let page = try await scene.get("/kiosks/k1/history").text
      #expect(page.contains("since <time") && page.contains("</time> or earlier</span>"))
      #expect(page.contains("</time> or earlier – ") && page.contains("1 h or longer"))
      // The end in the minute of the start has no length.
      #expect(!page.contains(">0 min"))
      #expect(!page.contains("within the same minute"))
      let korean = try await scene.get("/kiosks/k1/history", [.acceptLanguage: "ko"]).text
      #expect(korean.contains("</time> 또는 그 전부터") && korean.contains("</time> 또는 그 전 – "))
      let lines = try await scene.get("/kiosks/k1/history.csv").text.split(separator: "\r\n")
      #expect(lines.count == 4 && lines[0].hasSuffix(",from_note"))
      #expect(lines.dropFirst().allSatisfy { $0.hasSuffix(",or earlier") })
    }
  }

  @Test func foodSafetyIsAKindOfItsOwn() async throws {
    try await Scene.run { scene in
      let alarm = """
        {"since":"\(time(hoursAgo: 3))","alert":"sensor","kiosk":"k1","sensor":"fridge",\
        "until":"\(time(hoursAgo: 2))"}
        """
      let records = [
        outage("k1", 8), restock, alarm,
        entry(2, "\"status\":\"expired\",\"changes\":{\"kiwi\":-4}"),
        entry(
          1,
          """
          "source":"machine/bar","status":"program_done","program":"clean","machine":"bar","job":5
          """),
      ]
      try store(records.joined(separator: "\n"), in: scene)
      try await scene.authenticate("vera")
      let page = try await scene.get("/kiosks/k1/history?kind=safety").text
      #expect(page.contains("fridge") && page.contains("Kiwi -4") && page.contains("bar: Clean"))
      #expect(page.components(separatedBy: "<li class").count - 1 == 3)
      for (other, count) in [("machines", 0), ("restocks", 1), ("stockouts", 0)] {
        let page = try await scene.get("/kiosks/k1/history?kind=\(other)").text
        #expect(page.components(separatedBy: "<li class").count - 1 == count)
      }
    }
  }

  @Test func itReadsTheDaysOfThePeriodAndWhatLasts() async throws {
    try await Scene.run { scene in
      let fault = """
        {"since":"\(time(hoursAgo: 200))","alert":"machine","kiosk":"k1","machine":"bar",\
        "detail":"machine bar: out of order (<E3>)"}
        """
      try store("", open: fault, in: scene)
      try store(outage("k1", 49), daysAgo: 2, in: scene)
      try store(outage("k1", 24 * 60), daysAgo: 60, in: scene)
      try await scene.authenticate("minji")
      for (days, outages) in [(1, 0), (7, 1), (30, 1), (90, 2)] {
        let page = try await scene.get("/history?days=\(days)").text
        #expect(page.components(separatedBy: "Offline<").count - 1 == outages)
        #expect(page.contains("Machine bar: out of order (&lt;E3&gt;)"))
      }
    }
  }

  @Test func aFileThatCannotBeReadHidesNoOther() async throws {
    try await Scene.run { scene in
      try store("", in: scene)
      try store("oops", daysAgo: 1, in: scene)
      try store(outage("k1", 49), daysAgo: 2, in: scene)
      try await scene.authenticate("minji")
      #expect(try await scene.get("/history").text.contains("Offline<"))
    }
  }

  private func name(daysAgo: Int64) -> String { name(Self.day - daysAgo) }

  private func name(_ day: Int64) -> String { "\(CivilDate(daysSinceEpoch: day)).jsonl" }

  /// Returns the history as the next process reads it.
  private func restarted(_ scene: Scene) async -> [ActivityLog.Record] {
    let store = ActivityStore(
      link: scene.dashboard.link, folder: StateFolder(path: scene.dashboard.settings.stateFolder),
      logger: scene.dashboard.link.logger)
    await store.update()
    return await store.records(since: Timestamp(milliseconds: 0)) { _ in true }.records
  }

  @Test func filesAreStoredForNinetyDays() async throws {
    try await Scene.run { scene in
      for daysAgo in Int64(1)...91 { try store("", daysAgo: daysAgo, in: scene) }
      await scene.dashboard.activity.update()
      let folder = StateFolder(path: scene.dashboard.settings.stateFolder)
      let kept = (Int64(0)...90).reversed().map { name(daysAgo: $0) }
      #expect(try Disk.names(in: folder.path(of: "history")) == kept)
    }
  }

  @Test func aClockThatIsAheadRemovesNothing() async throws {
    try await Scene.run { scene in
      try store(outage("k1", 24 * 200), daysAgo: 200, in: scene)
      try store("", in: scene)
      await scene.dashboard.activity.update()
      let folder = StateFolder(path: scene.dashboard.settings.stateFolder)
      #expect(
        try Disk.names(in: folder.path(of: "history")) == [name(daysAgo: 200), name(daysAgo: 0)])
    }
  }

  /// The latest file is that of tomorrow: the clock was ahead, or is set back now.
  @Test func aDayThatBeginsAgainKeepsItsRecords() async throws {
    try await Scene.run { scene in
      try store(restock, in: scene)
      try store("", daysAgo: -1, in: scene)
      await scene.dashboard.activity.update()
      #expect(await restarted(scene).count == 1)
      try await scene.authenticate("minji")
      #expect(try await scene.get("/kiosks/k1/history").text.contains("Kiwi +98"))
    }
  }

  /// The file of a day when the clock was ahead stays the latest one.
  @Test func theLogGoesOnFromTheStateThatWasWrittenLast() async throws {
    try await Scene.run { scene in
      let fault = """
        {"since":"\(time(hoursAgo: 49))","alert":"machine","kiosk":"k1","machine":"bar"}
        """
      try store(restock, daysAgo: -30, in: scene)
      try store("", open: fault, daysAgo: 1, in: scene)
      await scene.dashboard.activity.update()
      let folder = StateFolder(path: scene.dashboard.settings.stateFolder)
      let state = try #require(try ActivityStore.state(in: folder).read())
      #expect(state.day == Self.day && state.open.count == 1)
    }
  }

  @Test func aLineThatCannotBeReadHidesNoOther() async throws {
    try await Scene.run { scene in
      try store("\(restock)\noops\n\(outage("k1", 5))\n{\"since\":\"20", in: scene)
      await scene.dashboard.activity.record(ActivityLog.Action("minji", .setPassword))
      #expect(await restarted(scene).count == 3)
    }
  }

  @Test func aDayThatCannotBeReadIsNotHidden() async throws {
    try await Scene.run { scene in
      try store(restock, in: scene)
      let (activity, start) = (scene.dashboard.activity, Timestamp(milliseconds: 0))
      #expect(await !activity.records(since: start, where: { _ in true }).isCut)
      let yesterday = "\(scene.dashboard.settings.stateFolder)/history/\(name(daysAgo: 1))"
      try FileManager.default.createDirectory(
        atPath: yesterday, withIntermediateDirectories: false)
      #expect(await activity.records(since: start, where: { _ in true }).isCut)
    }
  }

  /// A login waits until it is recorded, but not until a page has read past days.
  @Test func aLongHistoryDelaysNoRecord() async throws {
    try await Scene.run { scene in
      try store(outage("k1", 49), daysAgo: 2, in: scene)
      let (activity, since) = (scene.dashboard.activity, time(hoursAgo: 49))
      let (reading, begun) = AsyncStream.makeStream(of: Void.self)
      let isRecorded = DispatchSemaphore(value: 0)
      async let page = activity.records(since: Timestamp(milliseconds: 0)) { record in
        guard record.at.description == since else { return false }
        begun.yield()
        return isRecorded.wait(timeout: .now() + 60) == .success
      }
      for await _ in reading { break }
      await activity.record(ActivityLog.Action("minji", .loggedIn))
      isRecorded.signal()
      #expect(await page.records.count == 1)
    }
  }

  /// A login is one more line; what changes rights is on the disk when the answer is sent.
  @Test func anActionIsOneLine() async throws {
    try await Scene.run { scene in
      let activity = scene.dashboard.activity
      await activity.record(ActivityLog.Action("minji", .setPassword))
      let folder = scene.dashboard.settings.stateFolder
      let today = "\(folder)/history/\(name(daysAgo: 0))"
      let state = try FileManager.default.attributesOfItem(atPath: "\(folder)/history-state.json")
      let file = try FileManager.default.attributesOfItem(atPath: today)
      for _ in 1...3 { await activity.record(ActivityLog.Action("minji", .loggedIn)) }
      let lines = try String(contentsOfFile: today, encoding: .utf8).split(separator: "\n")
      #expect(lines.count == 4 && lines[0].contains("set_password"))
      for (path, before) in [("\(folder)/history-state.json", state), (today, file)] {
        let after = try FileManager.default.attributesOfItem(atPath: path)
        #expect(
          after[.systemFileNumber] as? Int == before[.systemFileNumber] as? Int,
          "\(path) was replaced")
      }
    }
  }
}
