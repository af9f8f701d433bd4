import HTTPTypes
import Hummingbird

/// The path below which a proxy serves the pages, such as `/juice`; empty if it serves them at the
/// root.
///
/// All other code uses paths without the base path: `BasePathResponder` removes it from requests
/// and adds it to redirects, `HTML.links(below:)` adds it to pages, and `PageContext.cookie` to
/// cookies. The scripts derive it from their own address.
package struct BasePath: Sendable, Equatable {
  package static let none = Self(text: "")
  static let maximumLength = 200

  let text: String

  private init(text: String) { self.text = text }

  /// Reads a path of one or several names, each after a `/`. Returns `nil` if the text is longer
  /// than `maximumLength` bytes, or if a name is empty, consists only of dots, or contains a
  /// character that a link cannot contain unchanged.
  package init?(_ text: String) {
    let names = text.split(separator: "/", omittingEmptySubsequences: false)
    guard text.utf8.count <= Self.maximumLength, names.count > 1, names[0].isEmpty,
      names.dropFirst().allSatisfy({ name in
        !name.isEmpty && name.contains { $0 != "." }
          && name.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
              UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
              UInt8(ascii: "."), UInt8(ascii: "~"):
              true
            default: false
            }
          }
      })
    else { return nil }
    self.text = text
  }

  /// Returns a path and query without the base path, which the proxy may have removed already.
  func removed(from target: String) -> String {
    guard !text.isEmpty, target.hasPrefix(text) else { return target }
    let rest = target.dropFirst(text.count)
    if rest.isEmpty || rest.hasPrefix("?") { return "/\(rest)" }
    return rest.hasPrefix("/") ? String(rest) : target
  }
}

/// Serves the pages below the base path of the settings. HEAD is a GET without a body. Behind a proxy, and without TLS of its
/// own, the header `X-Ingress-Path` of Home Assistant's ingress replaces this path.
struct BasePathResponder<Inner: HTTPResponder>: HTTPResponder
where Inner.Context == PageContext {
  let settings: DashboardSettings
  let inner: Inner

  func respond(to request: Request, context: PageContext) async throws -> Response {
    guard request.method != .options else {
      return Response(status: .noContent, headers: [.allow: "GET, HEAD, POST, OPTIONS"])
    }
    var (request, context) = (request, context)
    let isHead = request.method == .head
    if isHead {
      var head = request.head
      head.method = .get
      request = Request(head: head, body: request.body)
    }
    context.basePath = settings.basePath
    context.isSecure = settings.isSecure
    if settings.isBehindProxy, settings.tls == nil {
      // A forged header changes only the links of the forger's own page.
      if let path = request.headers[.ingressPath].flatMap({ BasePath($0) }) {
        (context.basePath, context.isIngress) = (path, true)
      }
      context.isSecure = request.headers[.forwardedProto]?.lowercased() != "http"
    }
    let path = context.basePath.removed(from: request.uri.string)
    if path != request.uri.string {
      var head = request.head
      head.path = path
      request = Request(head: head, body: request.body)
    }
    var response = try await inner.respond(to: request, context: context)
    if let location = response.headers[.location], location.hasPrefix("/") {
      response.headers[.location] = context.basePath.text + location
    }
    return isHead ? response.createHeadResponse() : response
  }
}

extension HTML {
  /// Returns the markup with the base path in front of each path in `href`, `action`, `src`, `data-live`
  /// and `data-reload`. Interpolated texts contain no such attribute: their quotation marks are escaped.
  func links(below basePath: BasePath) -> HTML {
    guard !basePath.text.isEmpty else { return self }
    return ["href", "action", "src", "data-live", "data-reload"].reduce(self) { html, name in
      html.replacing(" \(name)=\"/", with: " \(name)=\"\(basePath.text)/")
    }
  }
}

extension HTTPField.Name {
  fileprivate static let ingressPath = Self.named("X-Ingress-Path")
  fileprivate static let forwardedProto = Self.named("X-Forwarded-Proto")
}
