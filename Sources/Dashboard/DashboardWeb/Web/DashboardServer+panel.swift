import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol

extension DashboardServer {
  /// Adds the virtual panel and the display of a kiosk.
  ///
  /// - Parameter router: The group of a kiosk's path.
  func addPanel(to router: RouterGroup<PageContext>) {
    router.get("panel") { _, context in try panelPage(context).page().response(context) }
    router.get("panel/live") { request, context in
      try live(request, context, interest: .kiosk(context.kioskID())) {
        try panelPage(context).liveParts
      }
    }
    router.post("panel") { request, context in
      let form = try await request.form(from: context, sessions)
      guard let id = form.commandID,
        let juice = form["juice"].flatMap({ Juice.ID($0) })
      else { throw RequestError.badForm }
      let kiosk = try kiosk(context).id
      let answer: CommandResult??
      do throws(KioskLink.NotSent) {
        answer = try await link.send(
          .order(Order(juice: juice)), to: kiosk, as: KioskLink.virtualPanel, id: id)
      } catch {
        answer = .none
      }
      let page = try panelPage(context)
      return page.page(answer: answer.map(page.answer) ?? page.notSent).response(context)
    }
    router.get("display") { _, context in
      let kiosk = try kiosk(context)
      return display(of: kiosk, context.language).page(live: "/kiosks/\(kiosk.id)/display/live")
        .response(context)
    }
    router.get("display/live") { request, context in
      try live(request, context, interest: .kiosk(context.kioskID())) {
        display(of: try kiosk(context), context.language).liveParts
      }
    }
  }

  private func panelPage(_ context: PageContext) throws -> PanelPage {
    PanelPage(
      kiosk: try kiosk(context), connectionError: link.connectionError, now: link.time,
      context: context)
  }
}
