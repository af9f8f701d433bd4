import Fleet
import HTTPTypes
import JuiceDomain
import Testing

@testable import DashboardWeb

@Suite struct FailedLoginTests {
  @Test func eachFailureIsLoggedWithItsAddressUpToARate() {
    var report = FailedLoginReport()
    let start = ContinuousClock.Instant.start
    let lines = (1...FailedLoginReport.maximumLines + 7).compactMap { _ in
      report.fail("minji", from: "192.0.2.1", at: start).line
    }
    #expect(lines.count == FailedLoginReport.maximumLines)
    #expect(lines[0] == "failed login from 192.0.2.1, name: minji")
    #expect(
      report.fail("minji", from: "192.0.2.2", at: start + .seconds(60)).line
        == "failed login from 192.0.2.2 (7 further ones were not logged), name: minji")
  }

  @Test func aNameCannotImitateAnAddress() {
    var report = FailedLoginReport()
    let line = report.fail(
      "x\nfailed login from 9.9.9.9", from: "192.0.2.1", at: .start
    ).line
    #expect(line?.hasPrefix("failed login from 192.0.2.1, name: x") == true)
    #expect(line?.contains("\n") == false)
  }

  @Test func theFirstFailureIsRecordedAndThenASum() {
    var report = FailedLoginReport()
    let start = ContinuousClock.Instant.start
    #expect(
      report.fail("minji", from: "192.0.2.1", at: start).action
        == ActivityLog.Action("minji", .failedLogin, detail: "192.0.2.1"))
    for _ in 1...12 { #expect(report.fail("x", from: "192.0.2.1", at: start).action == nil) }
    #expect(report.sum(at: start + .seconds(599)) == nil)
    let end = start + FailedLoginReport.period
    #expect(report.sum(at: end) == ActivityLog.Action("", .failedLogin, detail: "+12"))
    #expect(report.sum(at: end + FailedLoginReport.period) == nil)
    #expect(report.fail("x", from: "192.0.2.1", at: end + FailedLoginReport.period).action != nil)
  }

  @Test func aWrongPasswordIsInTheRecordOfActions() async throws {
    try await Scene.run { scene in
      scene.session = try await scene.get("/login").session ?? ""
      for _ in 1...13 { _ = try await scene.logIn("minji", "wrong") }
      let (records, _) = await scene.dashboard.activity.records(since: scene.now) { _ in true }
      let actions = records.compactMap { record in
        if case .action(let action) = record.event { action } else { nil }
      }
      #expect(actions.map(\.verb) == [.failedLogin] && actions.map(\.user) == ["minji"])
    }
  }

  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1"), (" 192.0.2.1:5000", "192.0.2.1"),
    ("[2001:db8::1]:443", "2001:db8::1"), ("[2001:db8::1]", "2001:db8::1"),
    ("2001:db8::1", "2001:db8::1"), ("\"[2001:db8::1]:443\"", "2001:db8::1"),
    ("fe80::1%eth0", "fe80::1"), ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
  ])
  func thePortOfAForwardedAddressIsIgnored(text: String, address: String) {
    #expect(forwardedAddress(text) == address)
  }

  @Test(arguments: ["", "unknown", "_hidden", "[", "[]:80", "1.2.3", ":", "1.2.3.4:5:6", "x:80"])
  func aTextWithoutAnAddressIsNone(text: String) { #expect(forwardedAddress(text) == nil) }

  @Test func portsDoNotEvadeTheThrottle() async throws {
    try await Scene.run(DashboardSettings(port: 0, isBehindProxy: true)) { scene in
      scene.session = try await scene.get("/login").session ?? ""
      var statuses: [Int] = []
      for port in 1...40 {
        statuses.append(
          try await scene.logIn("minji", "wrong", from: "192.0.2.1:\(5000 + port)").status.code)
      }
      #expect(statuses.contains(429))
    }
  }

  @Test func loginsDoNotFillTheRecordOfChanges() throws {
    var log = ActivityLog()
    let now = Scene.time
    func add(_ user: String, _ verb: ActivityLog.Action.Verb) {
      log.add(ActivityLog.Record(at: now, .action(ActivityLog.Action(user, verb))))
    }
    for number in 1...10_050 { add("vera\(number % 20)", .loggedIn) }
    #expect(log.records.count == 2_000 && log.isCut)
    for _ in 1...2_100 {
      log.add(
        ActivityLog.Record(
          at: now, .action(ActivityLog.Action("ada", .changedRole, subject: "vera"))))
    }
    #expect(log.records.count == 2_000 + 2_100)
    for _ in 1...300 { add("minji", .setPassword) }
    #expect(log.records.count == 2_000 + 2_100 + 200, "the own password has a room of its own")
  }
}
