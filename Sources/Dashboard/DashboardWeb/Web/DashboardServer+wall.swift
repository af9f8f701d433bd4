import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol

extension DashboardServer {
  /// Adds the display that a link with a token shows without a login.
  ///
  /// - Parameter router: The group of the path `wall/:token`.
  func addWall(to router: RouterGroup<PageContext>) {
    router.get { request, context in
      let token = context.coreContext.parameters.get("token") ?? ""
      let language = Form(request.uri.query ?? "")["language"] ?? context.language.rawValue
      return try await wall(request, context, token)
        .page(live: "/wall/\(token)/live?language=\(language.percentEncoded)").response(context)
    }
    router.get("live") { request, context in
      let token = context.coreContext.parameters.get("token") ?? ""
      guard let kiosk = await walls.kiosk(for: token) else { throw RequestError.notFound }
      return try live(request, context, interest: .kiosk(kiosk)) {
        try await wall(request, context, token).liveParts
      }
    }
  }

  /// Adds the path that creates, replaces and revokes the link to the display of a kiosk.
  ///
  /// - Parameter router: The group of a kiosk's path.
  func addWallForm(to router: RouterGroup<PageContext>) {
    router.post("wall") { request, context in
      let form = try await request.form(from: context, sessions)
      let kiosk = try kiosk(context).id
      switch form["do"] {
      case "create":
        try await walls.replace(HMACSigner.makeToken(), for: kiosk)
        await activity.record(
          ActivityLog.Action(context.user?.name.text ?? "", .madeWallLink, kiosk: kiosk))
      case "revoke":
        try await walls.replace(nil, for: kiosk)
        await activity.record(
          ActivityLog.Action(context.user?.name.text ?? "", .revokedWallLink, kiosk: kiosk))
      default: throw RequestError.badForm
      }
      return Response.redirect(to: "/kiosks/\(kiosk)#wall", type: .normal)
    }
  }

  private func wall(
    _ request: Request, _ context: PageContext, _ token: String
  ) async throws -> DisplayPage {
    guard let id = await walls.kiosk(for: token) else { throw RequestError.notFound }
    let language = Form(request.uri.query ?? "")["language"].flatMap(Language.init(rawValue:))
    return display(of: link.fleet[id] ?? KioskState(id: id), language ?? context.language)
  }

  func display(of kiosk: KioskState, _ language: Language) -> DisplayPage {
    DisplayPage(
      kiosk: kiosk, isOut: link.isOutOfService(kiosk), now: link.time, language: language)
  }
}
