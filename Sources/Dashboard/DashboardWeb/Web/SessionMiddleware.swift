import HTTPTypes
import Hummingbird
import JuiceDomain

/// Finds out who asks, and gives each answer the headers that keep a page to itself.
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
    var context = context
    context.requestTarget = request.uri.string
    context.hasChain = hasChain
    if settings.isBehindProxy, let forwarded = request.headers[.forwardedFor] {
      // Our own proxy has added the last address; anybody can make up those before it.
      context.address =
        forwarded.split(separator: ",").last.map { $0.filter { $0 != " " } } ?? context.peer
    }
    let token = request.cookies[Self.sessionCookie]?.value ?? ""
    // A token that somebody else made up is of no session; ours are not longer.
    context.sessionToken = token.isEmpty || token.utf8.count > 64 ? HMACSigner.makeToken() : token
    context.user = user(of: context.sessionToken)
    context.csrfToken = sessions.csrfToken(for: context.sessionToken)
    context.language =
      request.cookies[Self.languageCookie].flatMap { Language(rawValue: $0.value) }
      ?? Language(accepting: request.headers[.acceptLanguage] ?? "")
    var response: Response
    do {
      response = try await next(request, context)
    } catch {
      response = ErrorPage.response(to: error, context, logger: context.logger)
    }
    if context.sessionToken != token, request.method == .get,
      response.headers[values: .setCookie].isEmpty
    {
      // The CSRF token of a form on this page is for this session token.
      response.setCookie(settings.cookie(Self.sessionCookie, context.sessionToken))
    }
    secure(&response)
    return response
  }

  /// The user of a session, unless the file of users has changed for this user since the login.
  func user(of token: String) -> User? {
    guard let user = sessions.user(of: token, at: now()) else { return nil }
    guard let users = try? users.users(), users[user.name] == user else {
      sessions.end(token)
      return nil
    }
    return user
  }

  private func secure(_ response: inout Response) {
    response.headers[.contentSecurityPolicy] =
      "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
      + "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    response.headers[.xContentTypeOptions] = "nosniff"
    response.headers[.referrerPolicy] = "same-origin"
    response.headers[.crossOriginOpenerPolicy] = "same-origin"
    if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
    if settings.isSecure { response.headers[.strictTransportSecurity] = "max-age=31536000" }
  }
}

extension DashboardSettings {
  /// - Parameter life: in seconds; `nil`: until the browser is closed.
  func cookie(_ name: String, _ value: String, life: Int? = nil) -> Cookie {
    Cookie(
      name: name, value: value, maxAge: life, path: "/", secure: isSecure, httpOnly: true,
      sameSite: .lax)
  }
}

extension HTTPField.Name {
  static let referrerPolicy = Self.named("Referrer-Policy")
  static let crossOriginOpenerPolicy = Self.named("Cross-Origin-Opener-Policy")
  static let forwardedFor = Self.named("X-Forwarded-For")

  /// - Parameter name: a valid one (a token, RFC 9110 5.1).
  static func named(_ name: String) -> Self {
    guard let name = Self(name) else { preconditionFailure("\(name) is no field name") }
    return name
  }
}
