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
    for screen in Screen.allCases {
      let group = router.group("\(screen.rawValue)/:token")
      group.get { request, context in
        try await page(of: opened(screen, request, context)).response(context)
      }
      group.get("live") { request, context in
        let screenLink = try await opened(screen, request, context)
        return try live(request, context, interest: .kiosk(screenLink.kiosk.id)) {
          try await parts(of: opened(screen, request, context, screenLink.token))
        }
      }
    }
    router.group("\(Screen.tablet.rawValue)/:token").post { request, context in
      let ordered = try await opened(.tablet, request, context)
      let result = try await order(context.sent.get(), of: ordered.kiosk.id, as: Source.tablet)
      // The kiosk's state may have changed meanwhile.
      let changed = try await opened(.tablet, request, context, ordered.token)
      let answer = tabletPage(of: changed.kiosk, changed.language).answer
      return page(of: changed, answer: result.map { answer.html($0) } ?? answer.notSent).response(
        context)
    }
  }

  private func page(of opened: OpenedScreen, answer: HTML? = nil) -> ScreenPage {
    switch opened.screen {
    case .wall:
      wallPage(of: opened.kiosk, opened.language).page(path: opened.path, live: opened.livePath)
    case .tablet:
      tabletPage(of: opened.kiosk, opened.language)
        .page(path: opened.path, live: opened.livePath, answer: answer)
    }
  }

  private func parts(of opened: OpenedScreen) -> [LivePart] {
    switch opened.screen {
    case .wall: wallPage(of: opened.kiosk, opened.language).liveParts
    case .tablet: tabletPage(of: opened.kiosk, opened.language).liveParts
    }
  }

  /// Adds the path that creates, replaces and revokes the links to the screens of a kiosk.
  ///
  /// - Parameter router: The group of a kiosk's path.
  func addScreenForm(to router: RouterGroup<PageContext>) {
    router.post("screens") { request, context in
      let form = try context.form(sessions)
      let kiosk = try kiosk(context).id
      guard let screen = form["screen"].flatMap(Screen.init(rawValue:)) else {
        throw RequestError.badForm
      }
      let page = "/kiosks/\(kiosk)#screens"
      let hasLink = await screens.tokens(of: kiosk)[screen] != nil
      let verb: ActivityLog.Action.Verb
      switch form["do"] {
      case "create" where hasLink:
        // A form that is sent twice keeps the first link, which a screen may show already.
        return Response.redirect(to: page, type: .normal)
      case "create", "replace":
        try await screens.replace(HMACSigner.makeToken(), for: kiosk, screen)
        verb = screen == .wall ? .madeWallLink : .madeTabletLink
      case "revoke":
        try await screens.replace(nil, for: kiosk, screen)
        verb = screen == .wall ? .revokedWallLink : .revokedTabletLink
      default: throw RequestError.badForm
      }
      await activity.record(
        ActivityLog.Action(context.user?.name.text ?? "", verb, kiosk: kiosk))
      return Response.redirect(to: page, type: .normal)
    }
  }

  /// Returns the screen of a link. Its language is that of the address, otherwise the kiosk's.
  ///
  /// - Parameter token: The token of the link, or `nil` to take it from the path.
  /// - Throws: `RequestError.notFound` if the link is not valid (any more).
  private func opened(
    _ screen: Screen, _ request: Request, _ context: PageContext, _ token: String? = nil
  ) async throws -> OpenedScreen {
    let token = token ?? context.coreContext.parameters.get("token") ?? ""
    guard let id = await screens.kiosk(for: token, screen) else { throw RequestError.notFound }
    let kiosk = (link.fleet[id] ?? KioskState(id: id)).named()
    let chosen = Form(request.uri.query ?? "")["language"].flatMap(Language.init(rawValue:))
    return OpenedScreen(
      screen: screen, token: token, kiosk: kiosk,
      language: chosen ?? kiosk.language ?? context.language,
      query: chosen.map { "?language=\($0.rawValue)" } ?? "")
  }

  func wallPage(of kiosk: KioskState, _ language: Language) -> WallPage {
    WallPage(
      kiosk: kiosk, isOut: link.isOutOfService(kiosk), now: link.time, language: language,
      pictures: pictures)
  }

  private func tabletPage(of kiosk: KioskState, _ language: Language) -> TabletPage {
    TabletPage(
      kiosk: kiosk,
      isOut: link.connectionError != nil || !kiosk.isOnline || kiosk.stock == nil, now: link.time,
      language: language, pictures: pictures)
  }
}

/// A screen that a valid link shows.
private struct OpenedScreen {
  let screen: Screen
  let token: String
  let kiosk: KioskState
  let language: Language
  /// The language of the page's address as a query, or empty if the address has none.
  let query: String

  var path: String { "/\(screen.rawValue)/\(token)\(query)" }
  /// The path of the live updates.
  var livePath: String { "/\(screen.rawValue)/\(token)/live\(query)" }
}
