import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol

extension DashboardServer {
  /// Adds the screens that a link with a token shows without a login. The token is the only
  /// permission: a page of another site does not know it, so the form needs no CSRF token.
  ///
  /// - Parameter router: The router of all pages.
  func addScreens(to router: Router<PageContext>) {
    let wall = router.group("wall/:token")
    wall.get { request, context in
      let (token, kiosk, language) = try await opened(.wall, request, context)
      return wallPage(of: kiosk, language).page(
        path: Self.path("/wall/\(token)", request),
        live: Self.path("/wall/\(token)/live", request)
      ).response(context)
    }
    wall.get("live") { request, context in
      let (token, kiosk, _) = try await opened(.wall, request, context)
      return try live(request, context, interest: .kiosk(kiosk.id)) {
        let (_, kiosk, language) = try await opened(.wall, request, context, token)
        return wallPage(of: kiosk, language).liveParts
      }
    }
    let tablet = router.group("tablet/:token")
    tablet.get { request, context in
      let (token, kiosk, language) = try await opened(.tablet, request, context)
      return tabletPage(of: kiosk, language).page(
        path: Self.path("/tablet/\(token)", request),
        live: Self.path("/tablet/\(token)/live", request)
      ).response(context)
    }
    tablet.get("live") { request, context in
      let (token, kiosk, _) = try await opened(.tablet, request, context)
      return try live(request, context, interest: .kiosk(kiosk.id)) {
        let (_, kiosk, language) = try await opened(.tablet, request, context, token)
        return tabletPage(of: kiosk, language).liveParts
      }
    }
    tablet.post { request, context in
      let (token, kiosk, _) = try await opened(.tablet, request, context)
      let form = Form(String(buffer: try await request.body.collect(upTo: Form.maximumSize)))
      let result = try await order(form, of: kiosk.id, as: KioskLink.tablet)
      // The kiosk's state may have changed meanwhile.
      let (_, changed, language) = try await opened(.tablet, request, context, token)
      let page = tabletPage(of: changed, language)
      return page.page(
        path: Self.path("/tablet/\(token)", request),
        live: Self.path("/tablet/\(token)/live", request),
        answer: result.map(page.answer.html) ?? page.answer.notSent
      ).response(context)
    }
  }

  /// Adds the path that creates, replaces and revokes the links to the screens of a kiosk.
  ///
  /// - Parameter router: The group of a kiosk's path.
  func addScreenForm(to router: RouterGroup<PageContext>) {
    router.post("screens") { request, context in
      let form = try await request.form(from: context, sessions)
      let kiosk = try kiosk(context).id
      guard let screen = form["screen"].flatMap(Screen.init(rawValue:)) else {
        throw RequestError.badForm
      }
      let verb: ActivityLog.Action.Verb
      switch form["do"] {
      case "create":
        try await screens.replace(HMACSigner.makeToken(), for: kiosk, screen)
        verb = screen == .wall ? .madeWallLink : .madeTabletLink
      case "revoke":
        try await screens.replace(nil, for: kiosk, screen)
        verb = screen == .wall ? .revokedWallLink : .revokedTabletLink
      default: throw RequestError.badForm
      }
      await activity.record(
        ActivityLog.Action(context.user?.name.text ?? "", verb, kiosk: kiosk))
      return Response.redirect(to: "/kiosks/\(kiosk)#screens", type: .normal)
    }
  }

  /// Returns the kiosk of a link, and the language of the page: that of the address, otherwise the
  /// kiosk's.
  ///
  /// - Parameter token: The token of the link, or `nil` to take it from the path.
  /// - Throws: `RequestError.notFound` if the link is not valid (any more).
  private func opened(
    _ screen: Screen, _ request: Request, _ context: PageContext, _ token: String? = nil
  ) async throws -> (token: String, kiosk: KioskState, language: Language) {
    let token = token ?? context.coreContext.parameters.get("token") ?? ""
    guard let id = await screens.kiosk(for: token, screen) else { throw RequestError.notFound }
    let kiosk = link.fleet[id] ?? KioskState(id: id)
    let chosen = Form(request.uri.query ?? "")["language"].flatMap(Language.init(rawValue:))
    return (token, kiosk, chosen ?? kiosk.language ?? context.language)
  }

  /// Returns a path with the language of a page's address.
  private static func path(_ path: String, _ request: Request) -> String {
    let language = Form(request.uri.query ?? "")["language"].flatMap(Language.init(rawValue:))
    return "\(path)\(language.map { "?language=\($0.rawValue)" } ?? "")"
  }

  func wallPage(of kiosk: KioskState, _ language: Language) -> WallPage {
    WallPage(
      kiosk: kiosk, isOut: link.isOutOfService(kiosk), now: link.time, language: language,
      pictures: pictures)
  }

  private func tabletPage(of kiosk: KioskState, _ language: Language) -> TabletPage {
    TabletPage(
      kiosk: kiosk, isOut: link.connectionError != nil || !kiosk.isOnline, now: link.time,
      language: language, pictures: pictures)
  }
}
