import HTTPTypes
import Hummingbird
import JuiceDomain

/// Determines the user of each request, and adds security headers to each response.
struct SessionMiddleware: RouterMiddleware {
  static let sessionCookie = "juice_session"
  static let languageCookie = "juice_language"

  let settings: DashboardSettings
  let sessions: Sessions
  let users: UserFile
  let now: @Sendable () -> ContinuousClock.Instant
  let hasChain: Bool

  func handle(
    _ request: Request, context: PageContext, next: (Request, PageContext) async throws -> Response
  ) async throws -> Response {
    var (request, context) = (request, context)
    context.requestTarget = ReturnTarget.page(of: request)
    if request.method == .post {
      context.sent = await request.takeForm()
      let isOfKiosk = context.requestTarget.hasPrefix("/kiosks/")
      context.reloadPath = isOfKiosk ? context.requestTarget : nil
    }
    if request.method == .get { context.filled = Form(request.uri.query ?? "") }
    context.hasChain = hasChain
    context.origin = Self.origin(of: request, isSecure: context.isSecure)
    if settings.isBehindProxy, let forwarded = request.headers[.forwardedFor] {
      // The trusted proxy has added the last address; a client can forge all others.
      context.address =
        forwarded.split(separator: ",").last.flatMap { forwardedAddress($0) } ?? context.peer
    }
    let token = request.cookies[Self.sessionCookie]?.value ?? ""
    // A forged token belongs to no session. Valid tokens have at most 64 bytes.
    context.sessionToken = token.isEmpty || token.utf8.count > 64 ? HMACSigner.makeToken() : token
    context.user = user(of: context.sessionToken)
    let known = users.current
    if context.isOperator { context.usersProblem = known.problem }
    context.csrfToken = sessions.csrfToken(for: context.sessionToken)
    context.language =
      request.cookies[Self.languageCookie].flatMap { Language(rawValue: $0.value) }
      ?? Language(accepting: request.headers[.acceptLanguage] ?? "")
    context.loginProblem = known.loginProblem(context.language)
    var response: Response
    do {
      response = try await next(request, context)
    } catch {
      let form = error is ChainError ? (try? context.sent.get()) : (error as? RequestError)?.form
      if request.method == .post, case RequestError.loggedOut = error {
        // A form that cannot be read completely counts as a form without fields.
        context.requestTarget = ReturnTarget.page(
          of: request, with: (try? context.sent.get()) ?? Form(""))
      } else if let form {
        context.requestTarget = ReturnTarget.page(of: request, with: form)
      }
      response = ErrorPage.response(to: error, context, logger: context.logger)
    }
    if context.sessionToken != token, request.method == .get,
      response.headers[values: .setCookie].isEmpty
    {
      // The CSRF tokens of the forms on this page belong to this session token.
      response.setCookie(context.cookie(Self.sessionCookie, context.sessionToken))
    }
    secure(&response, context)
    return response
  }

  /// Returns the address of this server from the host that the request names, or an empty text if the
  /// host contains a character that no address contains.
  private static func origin(of request: Request, isSecure: Bool) -> String {
    let host = request.head.authority ?? ""
    let isHost =
      !host.isEmpty && host.utf8.count <= 200
      && host.utf8.allSatisfy {
        switch $0 {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
          UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
          true
        default: false
        }
      }
    return isHost ? "\(isSecure ? "https" : "http")://\(host)" : ""
  }

  /// Returns the user of a session, or `nil` if the session has ended or the user's line in the
  /// file differs from that at the login. A different line does not end the session, because
  /// another program may be writing the file.
  func user(of token: String) -> User? {
    guard let user = sessions.user(of: token, at: now()), users.current.users[user.name] == user
    else { return nil }
    return user
  }

  private func secure(_ response: inout Response, _ context: PageContext) {
    // Home Assistant shows the pages in a frame of the same site.
    let frames = context.isIngress ? "'self'" : "'none'"
    response.headers[.contentSecurityPolicy] =
      "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
      + "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors \(frames)"
    response.headers[.xContentTypeOptions] = "nosniff"
    response.headers[.referrerPolicy] = "same-origin"
    response.headers[.crossOriginOpenerPolicy] = "same-origin"
    if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
    if context.isSecure { response.headers[.strictTransportSecurity] = "max-age=31536000" }
  }
}

extension PageContext {
  /// Returns a cookie for the pages below the base path.
  ///
  /// - Parameter life: Lifetime in seconds, or `nil` for a cookie that ends when the browser is
  ///   closed.
  func cookie(_ name: String, _ value: String, life: Int? = nil) -> Cookie {
    Cookie(
      name: name, value: value, maxAge: life, path: basePath.text.isEmpty ? "/" : basePath.text,
      secure: isSecure, httpOnly: true,
      sameSite: .lax)
  }
}

extension HTTPField.Name {
  static let referrerPolicy = Self.named("Referrer-Policy")
  static let crossOriginOpenerPolicy = Self.named("Cross-Origin-Opener-Policy")
  static let forwardedFor = Self.named("X-Forwarded-For")

  /// Creates a field name from a valid token (RFC 9110 5.1).
  static func named(_ name: String) -> Self {
    guard let name = Self(name) else { preconditionFailure("\(name) is no field name") }
    return name
  }
}
