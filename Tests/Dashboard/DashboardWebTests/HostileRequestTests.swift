import HTTPTypes
import Hummingbird
import JuiceDomain
import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import DashboardWeb

/// Requests that must not end the process or lead to another host.
@Suite struct HostileRequestTests {
  /// A user is removed while the handler works: it has read the form, and then there is no user.
  @Test func theBodyOfARequestIsReadOnce() async throws {
    try await Scene.run { scene in
      let request = Request(
        head: HTTPRequest(
          method: .post, scheme: "http", authority: "localhost", path: "/kiosks/k1/restock"),
        body: RequestBody(asyncSequence: OneReading(of: "add.kiwi=5")))
      let source = ApplicationRequestContextSource(
        channel: NIOAsyncTestingChannel(),
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      let answer = try await scene.dashboard.sessionMiddleware.handle(
        request, context: PageContext(source: source)
      ) { request, context in
        _ = try await request.body.collect(upTo: Form.maximumSize)
        _ = try await request.body.collect(upTo: Form.maximumSize)
        throw RequestError.loggedOut
      }
      // The values that were entered return after the login.
      #expect(answer.headers[.location] == "/login?to=/kiosks/k1%3Fadd.kiwi%3D5")
    }
  }

  @Test(arguments: ["//evil.example", "//evil.example/a?b", "/%5Cevil.example", "/\\evil.example"])
  func aPageLeadsToNoOtherHost(path: String) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      let page = try await scene.get(path)
      #expect(page.status == .notFound)
      #expect(page.text.contains("id=\"ended\"") && page.text.contains("Log in again"))
      for start in ["//", "/\\", "http"] { #expect(!page.text.contains("href=\"\(start)")) }
    }
  }

  @Test func aNewUsersNameIsNoOption() {
    #expect(User.newName("-x") == nil && User.newName("--help") == nil)
    #expect(User.newName("x-") == "x-")
  }
}
