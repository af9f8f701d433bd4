import CommandLineSupport
import Fleet
import Foundation
import HTTPTypes
import JuiceDomain
import KioskProtocol
import Logging
import TestSupport
import Testing

@testable import DashboardWeb

/// Each state file of the dashboard with each kind of damage.
@Suite struct DamagedStateTests {
  enum File: String, CaseIterable {
    case users
    case passwordLinks = "users.state/password-links.json"
    case screens = "users.state/screens.json"
    case sessions = "users.state/sessions.json"
    case messages = "users.state/messages.json"
    case sent = "users.state/sent-messages.json"
    case alerts = "users.state/alerts.json"
    case historyState = "users.state/history-state.json"
    case history = "users.state/history/2026-11-21.jsonl"
    case route = "users.state/routes/a.json"
  }

  /// Creates all files, and returns the path of the display of k1 and of the link for a password.
  private func prepare(_ scene: Scene) async throws -> (wall: String, password: String) {
    let dashboard = scene.dashboard
    let folder = StateFolder(path: dashboard.settings.stateFolder)
    try dashboard.users.update { users in
      users["ada"] = users["minji"].map {
        User(name: "ada", role: .admin, password: $0.password)
      }
    }
    let admin = try #require(dashboard.users.current.users["ada"])
    let token = try await dashboard.administration.link(
      for: "vera", by: admin, at: scene.now)
    try await dashboard.screens.replace("wall-token", for: "k1", .wall)
    await dashboard.sessions.save()
    _ = try await dashboard.messages.set(
      MessageChoice(address: "x@y", kinds: [.stock], language: .korean), of: "vera")
    await dashboard.sent.record(
      SentMessage(
        at: scene.now, receiver: "mail", user: nil, subject: "s", text: "t", problem: nil))
    let plan = try #require(
      RoutePlan(
        arrival: scene.now, end: Timestamp(milliseconds: scene.now.milliseconds + 1), margin: 0,
        fill: .capacity))
    try await dashboard.routes.add(
      Route(
        id: "a", createdAt: scene.now, createdBy: "minji", plan: plan, timeZone: nil, stops: []))
    await dashboard.activity.record(ActivityLog.Action("ada", .setPassword))
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    _ = Notifier(
      link: dashboard.link, formatter: NotificationFormatter(.english, baseURL: "http://x"),
      receivers: [],
      rules: AlertEvaluator.Rules(offlineDelay: .seconds(60), quietPeriod: .seconds(60)),
      folder: folder, sent: dashboard.sent, state: nil, logger: logger)
    return ("/wall/wall-token", "/password/\(token)")
  }

  private func path(of file: File, in scene: Scene) -> String {
    scene.dashboard.users.path.replacing("/users", with: "/\(file.rawValue)")
  }

  @Test(arguments: File.allCases, Damage.allCases)
  func thePagesStayUpAndSayTheWayBack(file: File, damage: Damage) async throws {
    try await Scene.run { first in
      let (wall, password) = try await prepare(first)
      let path = path(of: file, in: first)
      try damage.apply(to: path)
      let scene = first.restarted()
      // The link of the screen and that of the password come from their copies.
      #expect(try await scene.get(wall).status == .ok)
      #expect(
        try await scene.get(password).status == (file == .users ? .gone : .ok))
      let login = try await scene.get("/login")
      #expect(login.status == .ok)
      #expect(login.text.contains("No user can log in") == (file == .users))
      #expect(login.text.contains("juice-dashboard doctor") == (file == .users))
      // A truncated line of a record counts as not written.
      let isTruncated = file == .history && [.empty, .zeros, .half, .missing].contains(damage)
      let folder = StateFolder(path: scene.dashboard.settings.stateFolder)
      let found = StateFiles(users: scene.dashboard.users, folder: folder).examine()
        .compactMap { $0.problem?.description }
      #expect(found.count == (isTruncated ? 0 : 1), "\(found)")
      if !isTruncated {
        #expect(found.first?.contains(path) == true)
        #expect(found.first?.contains("cp -p") == (file != .history))
      }
      guard file != .users else {
        scene.session = try #require(login.session)
        let refused = try await scene.logIn("minji")
        #expect(refused.status == .serviceUnavailable)
        #expect(refused.text.contains("juice-dashboard doctor"))
        // A ban of the address would lock out the administrator who restores the file.
        #expect(
          await scene.dashboard.activity.records(since: Timestamp(milliseconds: 0)) {
            if case .action(let action) = $0.event { action.verb == .failedLogin } else { false }
          }.records.isEmpty)
        return
      }
      try await scene.authenticate("ada")
      for page in ["/", "/routes", "/routes/a", "/history", "/users", "/users/audit", "/account"] {
        #expect(try await scene.get(page).status == .ok, "\(page)")
      }
      // What is recorded from now on is stored.
      await scene.dashboard.activity.record(ActivityLog.Action("ada", .removedUser, subject: "x"))
      #expect(await scene.dashboard.activity.isStored)
      #expect(
        await scene.restarted().dashboard.activity.records(
          since: Timestamp(milliseconds: 0)
        ) { $0.kind == .actions }.records.contains {
          if case .action(let action) = $0.event { action.verb == .removedUser } else { false }
        })
    }
  }

  /// The file is removed while the dashboard runs.
  @Test(arguments: [Damage.missing, .nowhere])
  func noChangeReplacesMissingUsersOrTheirCopy(damage: Damage) async throws {
    try await Scene.run { scene in
      let (_, password) = try await prepare(scene)
      try await scene.authenticate("ada")
      let users = scene.dashboard.users.path
      let copy = try Data(contentsOf: URL(filePath: "\(users).good"))
      #expect(String(decoding: copy, as: UTF8.self).contains("ada admin"))
      try damage.apply(to: users)
      for (path, fields) in [
        ("/users", "do=add&user=eve&role=admin"), ("/users", "do=role&user=vera&role=operator"),
        ("/users", "do=reset&user=vera"), ("/users", "do=remove&user=vera"),
        ("/account/password", "password=strawberries&new=blueberries&again=blueberries"),
        (password, "new=blueberries&again=blueberries"),
      ] {
        let answer = try await scene.post(path, "csrf_token=\(scene.csrfToken)&\(fields)")
        #expect(answer.status == .serviceUnavailable, "\(path) \(fields)")
        #expect(answer.text.contains("cp -p \(users).good \(users)"), "\(path) \(fields)")
      }
      #expect(throws: StateError.self) {
        try scene.dashboard.users.change("eve", password: .dummy(cost: .small), addingNew: true)
      }
      #expect(try Data(contentsOf: URL(filePath: "\(users).good")) == copy)
      #expect(!FileManager.default.fileExists(atPath: users))
      #expect(try await scene.get("/health").text == #"{"broker":true,"files":false}"#)
    }
  }

  @Test func missingUsersWithoutACopyAreNotReplaced() async throws {
    try await Scene.run { scene in
      let users = scene.dashboard.users
      #expect(users.current.users.count == 2)
      for name in [users.path, "\(users.path).good"] {
        try FileManager.default.removeItem(atPath: name)
      }
      #expect(throws: StateError.self) { try users.update { $0["vera"] = nil } }
      #expect(!FileManager.default.fileExists(atPath: "\(users.path).good"))
    }
  }

  @Test func aRemovedRouteDoesNotComeBack() async throws {
    try await Scene.run { scene in
      _ = try await prepare(scene)
      #expect(try await scene.dashboard.routes.remove("a"))
      #expect(await scene.restarted().dashboard.routes.all.isEmpty)
    }
  }

  @Test(arguments: [Damage.folder, .link, .nowhere, .unreadable])
  func aFileOfRecordsThatIsKeptIsNamed(damage: Damage) async throws {
    try await Scene.run { first in
      _ = try await prepare(first)
      let path = path(of: .history, in: first)
      try damage.apply(to: path)
      let scene = first.restarted()
      await scene.dashboard.activity.record(ActivityLog.Action("ada", .setPassword))
      let files = StateFiles(
        users: scene.dashboard.users,
        folder: StateFolder(path: scene.dashboard.settings.stateFolder))
      let kept = try #require(files.kept().first)
      #expect(files.kept().count == 1 && kept.hasPrefix("\(path).damaged-1 is not used"))
      #expect(kept.contains("cat \(path).damaged-1 >> \(path)"))
      // Also after another start, the history is not whole.
      let activity = scene.restarted().dashboard.activity
      #expect(await activity.records(since: Timestamp(milliseconds: 0)) { _ in true }.isCut)
    }
  }

  @Test func withoutUsersTheLoginSaysSo() async throws {
    try await Scene.run { first in
      try first.dashboard.users.update { $0 = [:] }
      let scene = first.restarted()
      #expect(try await scene.get("/login").text.contains("No user can log in: there is no user."))
    }
  }

  /// A person changes the file with an editor.
  @Test func theCopyOfTheUsersFollowsAPerson() async throws {
    try await Scene.run { scene in
      let users = scene.dashboard.users
      let text = try String(contentsOfFile: users.path, encoding: .utf8)
      let rest =
        text.split(separator: "\n").filter { !$0.hasPrefix("vera") }
        .joined(separator: "\n") + "\n"
      try "# minji only\n\(rest)".write(toFile: users.path, atomically: false, encoding: .utf8)
      #expect(users.current.users.count == 1)
      #expect(try String(contentsOfFile: "\(users.path).good", encoding: .utf8) == rest)
    }
  }
}
