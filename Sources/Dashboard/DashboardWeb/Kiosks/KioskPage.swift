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
        <details class="fold" open><summary><h2>\(language("History", "이력"))</h2></summary>
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

  private var entryText: EntryText { EntryText(kiosk: kiosk, now: now, context: context) }

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

  private func row(_ entry: LedgerEntry) -> HTML {
    let (style, mark, text) = entryText.parts(of: entry)
    let cost: HTML? = entry.amount.map { " <span class=\"muted\">\($0.text(language))</span>" }
    return """
      <li class="\(style)">\(mark)<span class="what">\(text)\(cost) \(undo(entry))</span>
      <span class="who">\(entry.sender(language))</span>\(localTime.html(entry.at))</li>
      """
  }

  private var sales: LivePart {
    LivePart(
      "sales", tag: "section", class: "card", SalesCharts(kiosk, salesReport, localTime).html)
  }
}
