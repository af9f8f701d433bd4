import Fleet
import Hummingbird
import JuiceDomain
import KioskMessages

extension DashboardServer {
  /// - Parameter router: below the path of a kiosk.
  func addPanel(to router: RouterGroup<PageContext>) {
    router.get("panel") { _, visit in try panelPage(visit).page().response(visit) }
    router.get("panel/live") { request, visit in
      try live(request, visit, interest: .kiosk(visit.kioskID())) {
        try panelPage(visit).liveParts
      }
    }
    router.post("panel") { request, visit in
      let form = try await request.form(from: visit, sessions)
      guard let id = form.commandID,
        let juice = form["juice"].flatMap({ Juice.ID($0) })
      else { throw Refusal.badForm }
      let result = await link.send(
        .order(Order(juice: juice)), to: try kiosk(visit).id, as: KioskLink.virtualPanel, id: id)
      let page = try panelPage(visit)
      return page.page(answer: page.answer(result)).response(visit)
    }
    router.get("display") { _, visit in
      DisplayPage(kiosk: try kiosk(visit), language: visit.language).page().response(visit)
    }
    router.get("display/live") { request, visit in
      try live(request, visit, interest: .kiosk(visit.kioskID())) {
        DisplayPage(kiosk: try kiosk(visit), language: visit.language).liveParts
      }
    }
  }

  private func panelPage(_ visit: PageContext) throws -> PanelPage {
    PanelPage(kiosk: try kiosk(visit), trouble: link.trouble, now: link.time, visit: visit)
  }
}
