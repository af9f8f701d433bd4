import HTTPTypes
import Hummingbird
import NIOCore

extension DashboardServer {
  /// Sends the changed parts of a page as Server-Sent Events while the page is open and its user is
  /// logged in.
  ///
  /// - Parameter pause: Minimum time between two events, which limits the load on browsers.
  /// - Throws: `RequestError.tooManyPages` if `LiveUpdates` accepts no further page.
  func live(
    _ request: Request, _ context: PageContext, interest: LiveUpdates.Interest,
    pause: Duration = .milliseconds(200),
    parts: @escaping @Sendable () async throws -> [LivePart]
  ) throws -> Response {
    guard
      let signals = link.updates.subscribe(
        to: interest, session: context.sessionToken, user: context.user?.name)
    else { throw RequestError.tooManyPages }
    let sessionMiddleware = sessionMiddleware
    let body = ResponseBody { writer in
      try await request.body.consumeWithCancellationOnInboundClose { _ in
        var shown: Set<LivePart> = []
        for await _ in signals {
          guard sessionMiddleware.user(of: context.sessionToken) == context.user else { break }
          var parts = try await parts()
          if context.isOperator {
            parts.append(CommonNotices.users(users.current.problem, context.language))
          }
          if context.user?.regions.isEmpty == false {
            parts.append(CommonNotices.lackingKiosks(context.lacksKiosks, context.language))
          }
          let changed = parts.filter { !shown.contains($0) }
          shown = Set(parts)
          try await writer.write(ByteBuffer(string: Self.event(changed, context.basePath)))
          try await Task.sleep(for: pause)
        }
      }
      try await writer.finish(nil)
    }
    return Response(
      status: .ok,
      // Disables nginx's buffering of the response.
      headers: [.contentType: "text/event-stream", .accelBuffering: "no"], body: body)
  }

  /// Returns an event with the parts, or a comment of Server-Sent Events if there are no parts.
  private static func event(_ parts: [LivePart], _ basePath: BasePath) -> String {
    guard !parts.isEmpty else { return ":\n\n" }
    let lines = parts.flatMap {
      $0.html.links(below: basePath).text.utf8
        .split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
    }
    return lines.map { "data: \(Substring($0))\n" }.joined() + "\n"
  }
}

extension HTTPField.Name {
  fileprivate static let accelBuffering = Self.named("X-Accel-Buffering")
}
