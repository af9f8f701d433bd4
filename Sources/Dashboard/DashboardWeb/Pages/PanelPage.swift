import Fleet
import JuiceDomain
import KioskProtocol

/// The page with a panel of buttons, for tests and as a replacement for a broken button.
struct PanelPage {
  let kiosk: KioskState
  let connectionError: String?
  let now: Timestamp
  let context: PageContext

  private var language: Language { context.language }

  /// Returns the page with the result of the last press, or without a result for `nil`.
  func page(answer: HTML? = nil) -> Page {
    Page(
      title: "\(language("Virtual panel", "가상 버튼")) · \(kiosk.title(language))",
      body: """
        <p class="path"><a href="/kiosks/\(kiosk.id)">← \(kiosk.title(language))</a></p>
        <h1>\(language("What would you like?", "무엇을 드릴까요?"))</h1>
        \(outage.html)
        <div class="message" role="status" aria-live="polite">\(answer)</div>
        <form method="post" action="/kiosks/\(kiosk.id)/panel" data-inline>
        \(context.fields(id: .random))
        \(buttons.html)
        </form>
        """, live: "/kiosks/\(kiosk.id)/panel/live")
  }

  /// The parts that are updated live. The script ignores the orders whose answers are not on the
  /// page.
  var liveParts: [LivePart] {
    [outage, buttons] + kiosk.progress.map(part)
  }

  /// The notice that orders do not reach the kiosk, without the reason, which a customer does not
  /// need.
  private var outage: LivePart {
    let isOut = connectionError != nil || !kiosk.isOnline
    return LivePart(
      "broker",
      "\(isOut ? language.notice(.bad, "Out of service at the moment.", "지금은 이용할 수 없어요.") : .empty)"
    )
  }

  /// The notice that the order was not sent.
  var notSent: HTML {
    language.notice(
      .warn, "Your order was not sent. Please try again in a moment.",
      "주문을 보내지 못했어요. 잠시 뒤에 다시 눌러 주세요.")
  }

  private func part(_ progress: OrderProgress) -> LivePart {
    let juice = progress.order.juice
    let name = kiosk.menu?.menu.juice(juice)?.name ?? LocalizedName(fallback: juice.text)
    return progress.part(name, language)
  }

  private var buttons: LivePart {
    guard let juices = kiosk.menu?.menu.juices, kiosk.stock != nil else {
      return LivePart(
        "buttons",
        "<p class=\"empty\">\(language("The kiosk has not sent its menu yet.", "아직 메뉴를 받지 못했어요."))</p>"
      )
    }
    let buttons: [HTML] = juices.map { juice in
      let servings = kiosk.servings(of: juice)
      let obstacle = kiosk.obstacle(to: juice)
      let left = obstacle?.text(language) ?? language("\(servings) left", "\(servings)잔 가능")
      return """
        <button id="juice-\(juice.id)" class="juice\(obstacle != nil ? " gone" : .empty)" name="juice" value="\(juice.id)">
        <span class="name">\(juice.name[language])</span>
        <span class="muted">\(juice.price.map { "\($0.text(language)) · " as HTML })\(left)</span></button>

        """
    }
    return LivePart("buttons", class: "juices", "\(buttons)")
  }

  /// Returns the kiosk's answer as text for the customer.
  func answer(_ result: CommandResult?) -> HTML {
    guard let result else {
      return language.notice(
        .hint,
        "No answer yet. The kiosk may still make it: look at the live orders before you press again.",
        "아직 응답이 없어요. 다시 누르기 전에 실시간 주문을 확인해 주세요.")
    }
    if result.status == .awaitingPayment, let job = result.seq, let juice = result.juice,
      let ticket = result.ticket, let amount = result.amount
    {
      let unpaid = OrderProgress(
        job: job, order: Order(juice: juice, quantity: result.quantity ?? 1), ticket: ticket,
        stage: .unpaid(amount))
      return part(kiosk.progress.first { $0.job == job } ?? unpaid).html
    }
    if result.status == .accepted, let job = result.seq, let juice = result.juice,
      let ticket = result.ticket
    {
      // The machine may have started before the answer arrived.
      let accepted = OrderProgress(
        job: job, order: Order(juice: juice, quantity: result.quantity ?? 1), ticket: ticket,
        stage: .queued(before: max(1, result.place ?? 1) - 1))
      return part(kiosk.progress.first { $0.job == job } ?? accepted).html
    }
    let ticket: HTML? = result.ticket.map { ticket in
      "<span class=\"ticket\">\(language("Ticket", "번호")) <b>\(ticket)</b></span> · "
    }
    let words = words(of: result)
    let short = kiosk.known(result.missing ?? [:])
    let text: HTML =
      short.isEmpty ? "\(words)" : "<a href=\"\(kiosk.restockAddress(short))\">\(words)</a>"
    return "<p class=\"notice \(result.status == .ready ? "good" : "warn")\">\(ticket)\(text)</p>"
  }

  /// Returns the text for the customer in the language of the page; for other results the kiosk's
  /// message, or else the text of the reason.
  private func words(of result: CommandResult) -> String {
    switch (result.status, result.reason, result.juice) {
    case (.ready, _, let juice?):
      CustomerMessage.ready(kiosk.name(of: juice, language), in: language)
    case (.outOfStock, _, _): CustomerMessage.outOfStock(in: language)
    case (_, .closed, _): CustomerMessage.closed(in: language)
    case (_, .machineDown, _): CustomerMessage.machineDown(in: language)
    case (_, .cleaningDue, _): CustomerMessage.cleaning(in: language)
    case (_, .blocked, _): CustomerMessage.blocked(in: language)
    default: result.message ?? result.reason?.text(language) ?? ""
    }
  }
}
