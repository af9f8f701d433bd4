import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol

extension DashboardServer {
  /// Adds the virtual panel and the display of a kiosk, for users.
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
      let form = try context.form(sessions)
      let result = try await order(form, of: kiosk(context).id, as: Source.virtualPanel)
      let page = try panelPage(context)
      let juice = form["juice"].flatMap { Juice.ID($0) }
      let again = context.again(
        form, to: "/kiosks/\(page.kiosk.id)/panel",
        juice.map { page.kiosk.name(of: $0, context.language) } ?? "")
      return page.page(
        answer: result.map { page.answer.html($0, again: again) } ?? page.answer.notSent
      ).response(context)
    }
    router.get("display") { _, context in
      let kiosk = try kiosk(context)
      return wallPage(of: kiosk, context.language).page(
        path: "/kiosks/\(kiosk.id)/display", live: "/kiosks/\(kiosk.id)/display/live"
      ).response(context)
    }
    router.get("display/live") { request, context in
      try live(request, context, interest: .kiosk(context.kioskID())) {
        wallPage(of: try kiosk(context), context.language).liveParts
      }
    }
  }

  private func panelPage(_ context: PageContext) throws -> PanelPage {
    PanelPage(
      kiosk: try kiosk(context), connectionError: link.connectionError, now: link.time,
      context: context, pictures: pictures)
  }

  /// Maximum age of a press that is sent. The scripts of the pages show after ten seconds that there is
  /// no answer: until then, the answer to a press of this age has arrived.
  private static let maximumAge = Duration.seconds(5)

  /// Sends the order of a form. The form of a page with scripts has the time of the press by this
  /// server's clock.
  ///
  /// - Returns: The kiosk's result, an inner `nil` if none arrived in time, or an outer `nil` if the
  ///   order was not sent: because the broker is not connected, or because a stalled network has
  ///   delivered the press late.
  func order(
    _ form: Form, of kiosk: KioskID, as source: Source
  ) async throws(RequestError) -> CommandResult?? {
    guard let id = form.commandID, let juice = form["juice"].flatMap({ Juice.ID($0) }) else {
      throw .badForm
    }
    let now = link.time
    var pressedAt = now
    if let text = form["at"] {
      guard let milliseconds = Int64(text), milliseconds >= 0 else { throw .badForm }
      pressedAt = min(now, Timestamp(milliseconds: milliseconds))
    }
    // guard: a late press is not sent
    guard now.since(pressedAt) <= Self.maximumAge else { return .none }
    do throws(KioskLink.NotSent) {
      return .some(
        try await link.send(
          .order(Order(juice: juice)), to: kiosk, as: source, id: id, sentAt: pressedAt))
    } catch {
      return .none
    }
  }
}
