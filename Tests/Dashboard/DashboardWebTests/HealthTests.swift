import CommandLineSupport
import Fleet
import Foundation
import HTTPTypes
import Testing

@testable import DashboardWeb

@Suite struct HealthTests {
  @Test func aBalancerSeesWhetherTheBrokerIsConnected() async throws {
    try await Scene.run { scene in
      let health = try await scene.get("/health")
      #expect(health.status == .ok && health.text == #"{"broker":true,"files":true}"#)
      #expect(health.cookies.isEmpty)
      try await scene.stopBroker()
      let other = try await scene.get("/health")
      #expect(other.status == .serviceUnavailable)
      #expect(other.text == #"{"broker":false,"files":true}"#)
    }
  }

  /// The folder leads to nowhere, because root may write every other one.
  @Test(arguments: ["history", "routes"])
  func aMonitorSeesThatTheFilesCannotBeWritten(name: String) async throws {
    try await Scene.run { scene in
      let folder = StateFolder(path: scene.dashboard.settings.stateFolder)
      await scene.dashboard.activity.record(ActivityLog.Action("ada", .setPassword))
      let path = folder.path(of: name)
      try? FileManager.default.removeItem(atPath: path)
      try FileManager.default.createSymbolicLink(
        atPath: path, withDestinationPath: "\(path)-elsewhere")
      #expect(try await scene.get("/health").text == #"{"broker":true,"files":false}"#)
      let found = StateFiles(users: scene.dashboard.users, folder: folder).examine()
      #expect(found.contains { $0.problem?.description.hasPrefix(path) == true })
    }
  }

  /// The records can still be appended, but the state cannot be replaced.
  @Test func anAppendDoesNotHideThatTheStateIsNotStored() async throws {
    try await Scene.run { scene in
      let folder = StateFolder(path: scene.dashboard.settings.stateFolder)
      let activity = scene.dashboard.activity
      try FileManager.default.createDirectory(
        atPath: folder.path(of: "history-state.json.good.new/x"), withIntermediateDirectories: true)
      await activity.record(ActivityLog.Action("ada", .setPassword))
      await activity.record(ActivityLog.Action("ada", .setPassword))
      #expect(await !activity.isStored)
    }
  }

  @Test(arguments: ["/login", "/health", "/assets/style.css", "/missing"])
  func headIsGetWithoutABody(path: String) async throws {
    try await Scene.run { scene in
      let get = try await scene.get(path)
      let head = try await scene.head(path)
      #expect(head.status == get.status && head.text.isEmpty)
      #expect(head.headers[.contentLength] == "\(get.text.utf8.count)")
    }
  }

  @Test func optionsNamesTheMethods() async throws {
    try await Scene.run { scene in
      let answer = try await scene.options("/")
      #expect(answer.status == .noContent)
      #expect(answer.headers[.allow] == "GET, HEAD, POST, OPTIONS")
    }
  }
}
