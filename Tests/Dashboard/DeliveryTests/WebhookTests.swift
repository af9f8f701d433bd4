import Foundation
import TestSupport
import Testing

@testable import Delivery

@Suite struct WebhookTests {
  /// Some servers answer an unknown path with the path.
  @Test func aServerThatRepeatsTheRequestRepeatsNoSecret() async throws {
    let (path, token) = ("services/T0ABCDEF1/x8gF2hV5kQ1mN4pR7sT0", "tk_AgQdq7mVBoFD37zQ")
    // The limit of the text would cut the second copy into a part that is not found.
    let text = "Cannot POST /\(path) \(token) " + String(repeating: "-", count: 130) + path
    let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)"
    let server = try ScriptedServer([Array(answer.utf8)])
    let hook = Webhook(url: "http://127.0.0.1:\(server.port)/\(path)", token: token)
    await #expect {
      try await hook.send([], type: "text/plain", id: "a")
    } throws: { error in
      let problem = "\(error)"
      return problem.contains("Cannot POST /services/…/… … ---")
        && !["T0ABCD", "x8gF2h", "tk_Ag"].contains { problem.contains($0) }
    }
  }
}
