import Fleet
import JuiceDomain
import KioskProtocol
import MessageBroker

/// The page of one kiosk: its stock, orders, sales and history, and the forms that restock, open
/// and close it.
struct KioskPage {
  let kiosk: KioskState
  let salesReport: SalesReport?
  let connectionError: BrokerError?
  let now: Timestamp
  let context: PageContext
  /// The fruits to restock, if the visitor has followed a link for them. The field of the first
  /// fruit gets the focus.
  var preselected: [Fruit.ID] = []

  /// The tokens of the links to the kiosk's screens; none for a viewer, and for live updates.
  var screenTokens: [Screen: String] = [:]

  var language: Language { context.language }
  var localTime: LocalTime { LocalTime(kiosk.timeZone, now: now, language) }

  /// Returns the page with a notice: the result of a command, or the question about a refund.
  func page(notice: HTML? = nil) -> Page {
    Page(
      title: kiosk.title(language),
      body: """
        <p class="path"><a href="/">← \(language("Kiosks", "키오스크"))</a></p>
        \(notice.map(HTML.result))
        \(CommonNotices.broker(connectionError, language).html)
        <div class="title">
        <h1>\(kiosk.title(language))</h1>
        \(state.html)
        \(location)
        </div>
        \(context.commandForms(of: kiosk.id))\(cards.decisions.html)\(payment.decisions.html)
        \(sensorDecisions.part.html)\(freshness.expired.html)
        <div class="columns">
        <div class="column">
        \(stock.html)\(context.isOperator ? freshness.removal : .empty)
        <section class="card last">
        <details class="fold" open><summary><h2>\(language("History", "재고 이력"))</h2></summary>
        \(history.html)</details>
        </section>
        </div>
        <div class="column">
        \(cards.machines.html)
        \(payment.payments.html)
        \(sensors.sensors.html)
        <section class="card first">
        <h2>\(language("Live orders", "실시간 주문"))</h2>
        \(orders.html)
        </section>
        \(sales.html)
        <section class="card last">
        <h2>\(language("More", "더 보기"))</h2>
        <div class="actions">
        \(context.isOperator ? panelLink : .empty)
        <a class="button" href="/kiosks/\(kiosk.id)/display">\(language("Display", "화면"))</a>
        <a class="button" href="/kiosks/\(kiosk.id)/history">\(language("90 days of history", "90일 이력"))</a>
        <a class="button" href="/kiosks/\(kiosk.id)/sales">\(language("Compare sales", "판매 비교"))</a>
        \(context.isOperator ? settingsLink : .empty)
        \(context.isOperator ? service.html : .empty)
        </div>
        \(kiosk.settings?.hours.map { hours in
          "<p class=\"muted\">\(language("Opening hours:", "영업시간:")) \(language.text(hours))</p>" as HTML
        })
        \(payment.refundForm)\(context.isOperator ? screens : .empty)
        </section>
        </div>
        </div>
        """, live: "/kiosks/\(kiosk.id)/live",
      timeZone: kiosk.timeZone)
  }

  var liveParts: [LivePart] {
    [
      CommonNotices.broker(connectionError, language), state, cards.decisions, payment.decisions,
      cards.machines, payment.payments, orders, history, stock.age,
      sales, service, sensorDecisions.part, sensors.sensors, freshness.expired,
    ]
      + stock.liveParts
  }

  private var stock: StockForm {
    StockForm(kiosk: kiosk, now: now, context: context, preselected: preselected)
  }

  private var cards: MachineCards {
    MachineCards(kiosk: kiosk, localTime: localTime, context: context)
  }

  private var freshness: FreshnessCards { FreshnessCards(kiosk: kiosk, context: context) }

  private var sensors: SensorCards {
    SensorCards(kiosk: kiosk, localTime: localTime, context: context)
  }

  private var sensorDecisions: SensorDecisionCard {
    SensorDecisionCard(kiosk: kiosk, localTime: localTime, context: context)
  }

  var payment: PaymentCards {
    PaymentCards(kiosk: kiosk, localTime: localTime, context: context)
  }

  private var state: LivePart {
    // The style sheet greys all numbers of the page while the kiosk is offline.
    let away: HTML? = kiosk.isOnline ? nil : "<span hidden data-away></span>"
    let problems = kiosk.reports.problems(at: now)
    let online = kiosk.isOnline && !problems.isEmpty ? kiosk.chips(for: [], language, now: now) : []
    let chips = online + kiosk.chips(for: problems, language, now: now)
    return LivePart("state", class: "chips", "\(chips)\(away)\(closing)\(unsold)")
  }

  /// The sentence that tells until when the opening hours close the kiosk, and whether a person has
  /// closed it, too; `nil` while it is open or within its hours.
  private var closing: HTML? {
    kiosk.nextOpening(at: now, language).map { opening in
      let text =
        kiosk.isClosedByPerson
        ? language(
          "Closed by a person, and outside the opening hours until \(opening).",
          "직원이 영업을 종료했고, \(opening)까지 영업시간이 아니에요.")
        : language(
          "Closed until \(opening), by the opening hours.", "영업시간이 아니에요. \(opening)에 열어요.")
      return "<p class=\"unsold\">\(text)</p>"
    }
  }

  /// The juices that cannot be sold, with their reasons.
  private var unsold: HTML? {
    kiosk.problemText(language, now: now).lostJuices.map { juices in
      "<p class=\"unsold\">\(language("Not for sale:", "판매 불가:")) \(juices)</p>"
    }
  }

  /// The id, if the title differs from it, and the place.
  private var location: HTML? {
    let facts: [HTML] = [kiosk.name.map { _ in "\(kiosk.id)" }, kiosk.place.map { "\($0)" }]
      .compactMap(\.self)
    guard let last = facts.last else { return nil }
    return "<p class=\"place\">\(facts.dropLast().map { "\($0) · " as HTML })\(last)</p>"
  }

  private var screens: HTML {
    ScreenLinkForms(kiosk: kiosk.id, tokens: screenTokens, context: context).html
  }

  private var panelLink: HTML {
    """
    <a class="button" href="/kiosks/\(kiosk.id)/panel">\(language("Virtual panel", "가상 버튼"))</a>
    """
  }

  private var settingsLink: HTML {
    """
    <a class="button" href="/kiosks/\(kiosk.id)/settings">\(language("Settings", "설정"))</a>
    <a class="button" href="/kiosks/\(kiosk.id)/menu">\(language("Menu", "메뉴"))</a>
    """
  }

  private func undo(_ entry: LedgerEntry) -> HTML? {
    guard context.isOperator, kiosk.undo(of: entry, at: now) != nil else { return nil }
    return context.button(
      .undo, "\(entry.seq)", language("Undo", "되돌리기"),
      label: language("Undo entry \(entry.seq)", "\(entry.seq)번 기록 되돌리기"),
      id: "undo-\(entry.seq)", style: "plain")
  }

  /// The button to open or close the kiosk. It is updated live, because another user may open or
  /// close the kiosk meanwhile.
  private var service: LivePart {
    let isOutside = kiosk.nextOpening(at: now, language) != nil
    // Outside its hours, only a kiosk that a person has closed can be opened: for the next hours.
    let isOpen = kiosk.service != .closed || isOutside && !kiosk.isClosedByPerson
    let next = isOpen ? ServiceState.closed : .open
    let name =
      !isOutside
      ? next.name(language)
      : isOpen
        ? language("Keep the kiosk closed", "영업시간에도 닫아 두기")
        : language("Open at the next opening hours", "다음 영업시간에 열기")
    return LivePart("service", tag: "span", context.button(.service, next.rawValue, name))
  }

  private var orders: LivePart {
    guard !kiosk.orders.isEmpty else {
      let text = language(
        "Orders appear here as they are made.", "주문이 들어오면 바로 여기에 나타나요.")
      return LivePart("orders", "<p class=\"empty\">\(text)</p>")
    }
    return LivePart("orders", "<ol class=\"feed\">\(kiosk.orders.prefix(12).map(row))</ol>")
  }

  private var history: LivePart {
    guard !kiosk.services.isEmpty else {
      let text = language("Nothing in the last 30 days.", "최근 30일 동안 변경이 없어요.")
      return LivePart("history", "<p class=\"empty\">\(text)</p>")
    }
    return LivePart("history", "<ol class=\"feed\">\(kiosk.services.map(row))</ol>")
  }

  /// Returns how a device's end of day compares with the ledger, or an empty text if equal.
  private func result(_ difference: Int?, _ currency: Currency) -> String {
    guard let difference else { return " · \(language("not compared", "비교 안 함"))" }
    guard difference != 0 else { return "" }
    return " · \(language("difference", "차이")) \(Money.text(difference, currency, language))"
  }

  private func row(_ entry: LedgerEntry) -> HTML {
    let (style, mark, text) = parts(of: entry)
    let cost: HTML? = entry.amount.map { " <span class=\"muted\">\($0.text(language))</span>" }
    return """
      <li class="\(style)">\(mark)<span class="what">\(text)\(cost) \(undo(entry))</span>
      <span class="who">\(entry.sender(language))</span>\(localTime.html(entry.at))</li>
      """
  }

  /// Returns the style of an entry, its ticket, and its text.
  func parts(of entry: LedgerEntry) -> (style: HTML, mark: HTML, text: HTML) {
    switch entry.outcome {
    case .ready(let order, _, let ticket):
      ("good", "<b class=\"ticket\">\(ticket.number)</b>", juice(order))
    case .accepted(let order, _, let ticket, _, _):
      (
        "", "<b class=\"ticket\">\(ticket.number)</b>",
        "\(juice(order)) · \(language("being made", "만드는 중"))"
      )
    case .awaitingPayment(let order, _, let ticket, _, _):
      (
        "", "<b class=\"ticket\">\(ticket.number)</b>",
        "\(juice(order)) · \(language("to be paid", "결제 대기"))"
      )
    case .payment(let step):
      (
        "", "",
        "\(language("Charge", "결제")) #\(step.charge): \(step.kind.text(language))\(step.reason.map { " · \(language.chargeReason($0))" as HTML })"
      )
    case .total(let total, let device, let difference):
      (
        (difference ?? 0) == 0 ? "" : "bad", "",
        "\(device.text): \(language("end of day", "일일 마감")) \(total.total), \(total.captured.text(language))\(result(difference, total.captured.currency))"
      )
    case .sensor(let step): (step.kind == .ok ? "" : "bad", "", step.text(of: kiosk, language))
    case .made(let end):
      ("good", "<b class=\"ticket\">\(end.ticket.number)</b>", juice(end.order))
    case .failed(let end, let reason, _), .returned(let end, let reason, _):
      (
        "bad", "<b class=\"ticket\">\(end.ticket.number)</b>",
        "\(juice(end.order)) · \(language("not made", "만들지 못함")): \(language.failure(reason))"
      )
    case .decided(let choice, let job, _):
      ("", "", "\(language("Job \(job)", "작업 \(job)")): \(choice.text(language))")
    case .program(let step):
      (
        step.kind == .failed ? "bad" : step.kind == .done ? "good" : "", "",
        "\(step.id.machine): \(step.text(language))"
      )
    case .outOfStock(let order, let missing):
      ("warn", "<b class=\"ticket\">–</b>", outOfStock(order, missing, entry))
    case .rejected(let reason, let order):
      (
        "bad", "<b class=\"ticket\">–</b>",
        "\(order.map(juice)) · \(reason.text(language))"
      )
    case .opened(let changes), .restocked(let changes):
      (
        "", "",
        "\(amounts(changes, entry.batches))\(entry.undone.map { " · \(language("undoes", "되돌림:")) #\($0)" as HTML })"
      )
    case .expired(let changes):
      ("bad", "", "\(amounts(changes)) · \(language("expired", "유통기한 지남"))")
    case .removed(let removal):
      (
        "", "",
        "\(amounts(removal.amounts.times(-1))) · \(language("taken out", "꺼냄")): \(removal.reason.text(language))"
      )
    case .service(let state):
      (
        "", "",
        "\(state == .open ? language("Opened", "영업 시작") : language("Closed", "영업 종료"))"
      )
    }
  }

  /// Returns a text that links to the form that restocks the missing fruits, if the menu has them.
  private func outOfStock(_ order: Order, _ missing: FruitAmounts, _ entry: LedgerEntry) -> HTML {
    let text: HTML = "\(juice(order)) · \(language("out of stock", "재료 부족"))"
    let fruits = kiosk.known(missing)
    if fruits.isEmpty { return text }
    let names = fruits.map { kiosk.name(of: $0, language) }.joined(separator: ", ")
    return """
      <a id="short-\(entry.seq)" href="\(kiosk.restockAddress(fruits))">\(text): \(names)</a>
      """
  }

  private func juice(_ order: Order) -> HTML {
    let times: HTML = order.quantity == 1 ? "" : " × \(order.quantity)"
    return "\(kiosk.name(of: order.juice, language))\(times)"
  }

  /// Returns the changes as text, such as `Kiwi +3, Mango -1`.
  ///
  /// - Parameter batches: The batches that the changes add, with their dates.
  private func amounts(_ changes: FruitAmounts, _ batches: [BatchChange] = []) -> String {
    changes.map { fruit, amount in
      let change = "\(kiosk.name(of: fruit, language)) \(amount > 0 ? "+" : "")\(amount)"
      guard let expires = batches.first(where: { $0.id.fruit == fruit })?.expires else {
        return change
      }
      return "\(change) (\(language("best before", "유통기한")) \(localTime.bestBefore(expires)))"
    }.joined(separator: ", ")
  }

  private var sales: LivePart {
    LivePart(
      "sales", tag: "section", class: "card", SalesCharts(kiosk, salesReport, localTime).html)
  }
}

extension LedgerEntry {
  /// Returns the name of the user or the device that sent the command; empty for the kiosk's own entries.
  func sender(_ language: Language) -> String {
    // The name that `juice-kiosk` uses by default.
    source?.name == "terminal" ? language("command line", "명령줄") : source?.name ?? ""
  }
}
