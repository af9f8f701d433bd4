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
