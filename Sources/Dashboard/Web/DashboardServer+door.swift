import Hummingbird
import JuiceDomain
import Logging

extension DashboardServer {
  /// Logging in and out, and the language.
  func addDoor(to router: Router<PageContext>) {
    router.get("login") { request, visit in
      LoginPage.page(visit, to: Self.place(Form(request.uri.query ?? "")["to"])).response(visit)
    }
    router.post("login") { request, visit in
      let form = try await request.form(from: visit, sessions)
      let place = Self.place(form["to"])
      let user = try await door.user(
        name: form["name"] ?? "", password: form["password"] ?? "",
        from: AddressBlock(visit.address), at: now(), deviceCookie: { request.cookies[$0]?.value })
      guard let user else {
        visit.logger.notice("a wrong name or password, from \(visit.address)")
        return LoginPage.page(
          visit, to: place,
          problem: visit.language("The name or the password is wrong.", "이름이나 비밀번호가 틀렸어요."),
          status: .unauthorized
        ).response(visit)
      }
      sessions.end(visit.token)
      var response = Response.redirect(to: place, type: .normal)
      response.setCookie(
        settings.cookie(
          Doorkeeper.sessionCookie, sessions.begin(for: user, at: now()),
          life: Int(Sessions.life.components.seconds)))
      response.setCookie(
        settings.cookie(
          DeviceCookie.name(for: user.name), DeviceCookie.make(for: user),
          life: DeviceCookie.life))
      return response
    }
    router.post("logout") { request, visit in
      _ = try await request.form(from: visit, sessions)
      sessions.end(visit.token)
      var response = Response.redirect(to: "/login", type: .normal)
      response.setCookie(settings.cookie(Doorkeeper.sessionCookie, Seal.makeToken()))
      return response
    }
    router.get("language/:language") { request, visit in
      guard
        let language = visit.coreContext.parameters.get("language")
          .flatMap(Language.init(rawValue:))
      else { throw Refusal.notFound }
      var response = Response.redirect(
        to: Self.place(Form(request.uri.query ?? "")["to"]), type: .normal)
      response.setCookie(
        settings.cookie(Doorkeeper.languageCookie, language.rawValue, life: 365 * 86_400))
      return response
    }
  }

  /// The page to go on to: one of ours, whatever a link says.
  static func place(_ text: String?) -> String {
    let place = text ?? ""
    let isOurs =
      place.hasPrefix("/") && !place.hasPrefix("//")
      && place.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
    return isOurs ? place : "/"
  }
}
