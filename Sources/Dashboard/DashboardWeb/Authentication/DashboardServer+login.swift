import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol
import Logging

extension DashboardServer {
  /// Adds the pages for login and logout, and the choice of the language.
  func addLogin(to router: Router<PageContext>) {
    router.get("login") { _, context in
      LoginPage.page(context, to: Self.redirectTarget(context.filled["to"])).response(context)
    }
    router.post("login") { request, context in
      let form = try context.form(sessions)
      let target = Self.redirectTarget(form["to"])
      // Not a failed login: fail2ban would ban the administrators.
      guard context.loginProblem == nil else {
        return LoginPage.page(context, to: target, status: .serviceUnavailable).response(context)
      }
      let user: User?
      do {
        user = try await authenticator.user(
          name: form["name"] ?? "", password: form["password"] ?? "",
          from: AddressBlock(context.address), at: now(),
          deviceCookie: { request.cookies[$0]?.value })
      } catch RequestError.tooManyLogins(let wait) {
        await activity.recordFailedLogin(form["name"] ?? "", from: context.address)
        throw RequestError.tooManyLogins(wait)
      }
      guard let user else {
        await activity.recordFailedLogin(form["name"] ?? "", from: context.address)
        return LoginPage.page(
          context, to: target,
          problem: context.language(
            "The name or the password is wrong.", "이름이나 비밀번호가 틀렸어요."),
          status: .unauthorized
        ).response(context)
      }
      await activity.record(
        ActivityLog.Action(user.name.text, .loggedIn, detail: context.address))
      return await logIn(user, request, context, to: target)
    }
    router.post("logout") { request, context in
      _ = try context.form(sessions)
      // A visitor who is not logged in makes the dashboard write nothing.
      if sessions.end(context.sessionToken) { await sessions.save() }
      var response = Response.redirect(to: "/login", type: .normal)
      response.setCookie(context.cookie(SessionMiddleware.sessionCookie, HMACSigner.makeToken()))
      return response
    }
    router.get("language/:language") { _, context in
      guard
        let language = context.coreContext.parameters.get("language")
          .flatMap(Language.init(rawValue:))
      else { throw RequestError.notFound }
      var response = Response.redirect(
        to: Self.redirectTarget(context.filled["to"]), type: .normal)
      response.setCookie(
        context.cookie(SessionMiddleware.languageCookie, language.rawValue, life: 365 * 86_400))
      return response
    }
  }

  /// Ends the browser's current session, starts one of the user, and redirects to `target`. Sets
  /// the session's cookie and a new `DeviceCookie`.
  func logIn(
    _ user: User, _ request: Request, _ context: PageContext, to target: String
  ) async -> Response {
    sessions.end(context.sessionToken)
    let origin = Sessions.Origin(
      at: link.time, address: context.address,
      // Safari on an iPhone names itself after 123 characters.
      browser: (request.headers[.userAgent] ?? "").visible(upTo: 160))
    let token = sessions.begin(for: user, at: now(), from: origin)
    await sessions.save()
    var response = Response.redirect(to: target, type: .normal)
    response.setCookie(
      context.cookie(
        SessionMiddleware.sessionCookie, token,
        life: Int(Sessions.lifetime.components.seconds)))
    response.setCookie(
      context.cookie(
        DeviceCookie.name(for: user.name), DeviceCookie.make(for: user),
        life: DeviceCookie.lifetime))
    return response
  }

  /// Returns the text if it is a path on this server, otherwise `/`.
  static func redirectTarget(_ text: String?) -> String {
    let target = text ?? ""
    let isOurs =
      target.hasPrefix("/") && !target.hasPrefix("//")
      && target.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
    return isOurs ? target : "/"
  }
}
