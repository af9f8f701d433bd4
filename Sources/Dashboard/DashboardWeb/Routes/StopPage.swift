import Fleet
import JuiceDomain
import KioskProtocol
import MessageBroker

/// The page of one stop, for the operator's phone at the kiosk.
struct StopPage {
  /// The reason why the report of a confirmed stop was not sent.
  enum NotSentReason {
    case outdated
    /// The report contains neither fruit nor a count, also if none of the entered fruit fits.
    case nothingToSend(Route.StopReport)
    /// An earlier report or correction of the stop was sent, with other numbers or dates than this one.
    case others(Route.StopReport)
  }

  let route: Route
  let stop: Route.Stop
  /// The current state of the kiosk, or `nil` if the fleet does not contain it.
  let kiosk: KioskState?
  let connectionError: BrokerError?
  let now: Timestamp
  let context: PageContext
  /// The stock in the kiosk's answer, which is newer than the published stock.
  var answeredStock: FruitAmounts = [:]
  /// The notice with the kiosk's answer to a removal, or `nil` if none was sent.
  var removal: HTML?

  private var language: Language { context.language }
  private var path: String { "/routes/\(route.id)/kiosks/\(stop.kiosk)" }
  private var forms: StopForms {
    StopForms(
      stop: stop, path: path, kiosk: kiosk, answeredStock: answeredStock, context: context)
  }

  /// Returns the page.
  ///
  /// - Parameter filled: The values of the fields. If `nil`, the page shows the values of the
  ///   query, or else of the latest report, or else of the plan.
  func page(_ notice: NotSentReason? = nil, filled: Route.StopReport? = nil) -> Page {
    let title = stop.title(language)
    let notice = notice ?? forms.addressed.map { .others($0) }
    return Page(
      title: title,
      body: """
        <p class="path"><a href="/routes/\(route.id)">← \(language("Route", "방문 경로"))</a></p>
        \(removal.map(HTML.result))\(CommonNotices.broker(connectionError, language).html)
        <section class="drive-on" id="drive-on" role="alert" tabindex="-1" hidden>
        <h2>\(language("Saved on this phone", "이 휴대폰에 저장했어요"))</h2>
        <p>\(language(
          "Drive on: it is sent by itself as soon as there is a network and a page of the routes is open.",
          "다음 장소로 가세요. 네트워크가 연결되고 방문 경로 페이지가 열려 있으면 저절로 보내요."))</p>
        <a class="button" href="/routes/\(route.id)">\(language("To the other kiosks", "다른 키오스크로"))</a></section>
        <section class="card narrow" data-outcome="\(outcome(notice))">
        <h1>\(title)</h1>
        <p class="muted">\(stop.kiosk)\(stop.place.map { " · \($0)" } ?? "")\(HTML.map(stop.place, timeZone: route.timeZone, language))</p>
        \(notice.map(words))\(state)\(isOffline ? CommonNotices.offline(language) : nil)
        \(expired)\(blocked.html)\(content(filled ?? stop.report))
        \(context.canReport && stop.report == nil ? skipForm : .empty)
        </section>
        \(SavedReports(context: context).html)
        """, live: stop.report?.isDone == true ? nil : "\(path)/live", scripts: [.routesScript])
  }

  /// The expired fruit to take out, with the buttons that record it.
  private var expired: HTML? {
    guard let kiosk, !kiosk.expired.isEmpty else { return nil }
    let form: HTML = """
      <form id="send-remove" method="post" action="\(path)/remove">\(context.fields(id: .random))</form>
      """
    let card = FreshnessCards(kiosk: kiosk, context: context).expired.html
    return "\(card)\(context.canReport ? form : .empty)"
  }

  /// The sensors that block fruit of the plan, which would be filled in and not be sold; of a kiosk
  /// that is offline, those of its last reports.
  private var blocked: LivePart {
    let brought = Set(stop.lines.filter { $0.bring > 0 }.map(\.fruit.id))
    let isDone = stop.report?.isDone == true
    let sensors = isDone ? [] : kiosk?.sensorReports ?? []
    let notices: [HTML] = sensors.compactMap { id, sensor in
      guard let kiosk, sensor.state == .blocked, !brought.isDisjoint(with: sensor.fruits)
      else { return nil }
      let state = kiosk.problemText(language, now: now).sentence(about: .sensor(id))
      let text =
        kiosk.isOnline
        ? state.capitalizedFirst : language("Last known: \(state)", "마지막 상태: \(state)")
      return language.notice(
        .warn, "\(text). This fruit is not for sale: ask before you fill it in.",
        "\(text). 판매할 수 없는 과일이니 채우기 전에 물어보세요.")
    }
    return LivePart("blocked", "\(notices)")
  }

  var liveParts: [LivePart] {
    [CommonNotices.broker(connectionError, language), blocked, asOf] + stop.lines.map(forms.ledger)
  }

  /// The time of the numbers on the page, which stays while the phone or the kiosk is offline; with the
  /// server's time, with which the script compares the phone's clock.
  private var asOf: LivePart {
    guard let time = kiosk?.isOnline == true ? now : kiosk?.stock?.at else {
      return LivePart("as-of", .empty)
    }
    let text = LocalTime(route.timeZone, now: now, language).html(time)
    return LivePart(
      "as-of", tag: "p", class: "muted",
      """
      <span data-at="\(Int(clamping: time.milliseconds))" data-now="\(Int(clamping: now.milliseconds))">\(language("Ledger as of", "장부 기준 시각:")) \(text)</span>
      """)
  }

  /// Returns an identifier of the outcome, by which the script keeps or deletes the browser's copy
  /// of the stop.
  private func outcome(_ notice: NotSentReason?) -> String {
    switch notice {
    case .nothingToSend, .outdated: "again"
    case .others: stop.report?.outcome == .unknown ? "unknown" : "others"
    case nil: stop.status
    }
  }

  private var isOffline: Bool { kiosk?.isOnline != true && stop.report?.isDone != true }

  private func words(_ notice: NotSentReason) -> HTML {
    switch notice {
    case .outdated:
      language.notice(
        .warn,
        "This form was filled in on an old page. Nothing was sent: check your numbers, and confirm them again.",
        "오래된 페이지에서 작성한 양식이에요. 보내지 않았으니 수량을 보고 다시 확인해 주세요.")
    case .nothingToSend(let report):
      notRecorded(of: report)
        ?? language.notice(
          .warn, "There is nothing to send: enter what you have brought or counted.",
          "보낼 것이 없어요. 채우거나 센 수량을 적어 주세요.")
    case .others(let report):
      (stop.correction?.outcome == .unknown ? stop.correction : stop.report).map {
        ReportComparison(stop: stop, sent: $0, own: report, context: context).html
      }
        ?? .empty
    }
  }

  private var state: HTML? {
    guard let report = stop.report else {
      return stop.isSkipped
        ? language.notice(.hint, "This kiosk is skipped on this route.", "이번 경로에서는 건너뛰는 키오스크예요.")
        : nil
    }
    switch (stop.correction ?? report).outcome {
    case .applied:
      let time = LocalTime(route.timeZone, now: now, language).html(report.at)
      let done = HTML.notice(
        .good,
        html: """
          \(report.isCorrection ? language("Done, corrected.", "완료했고, 수량을 고쳤어요.") : language("Done.", "완료했어요."))
          \(report.user), \(time)
          """)
      return "\(done)\(notRecorded(of: report))"
    case .unknown: return CommonNotices.noAnswer(language)
    case .rejected(.conflict, _, let stock):
      return CommonNotices.conflict(
        expected: report.ledger, stock: stock,
        advice: language(
          "Count these again, or confirm your numbers anyway.",
          "다시 세어 보거나, 그래도 이 수량이 맞으면 확인해 주세요."), language, name: name)
    case .rejected(let reason, let detail, _):
      let advice =
        reason == .expired && stop.correction == nil
        ? language(
          "Fruit that has expired since the visit is not recorded: enter 0 for it.",
          "방문 뒤에 유통기한이 지난 과일은 기록하지 않으니 0으로 적어 주세요.") : nil
      let words = [language.detail(detail, at: kiosk), advice].compactMap(\.self)
      return CommonNotices.rejected(
        reason.text(language), words.joined(separator: " "), language)
    }
  }

  /// Returns the notice about fruit of which more was entered than recorded, or `nil` if there is none.
  private func notRecorded(of report: Route.StopReport) -> HTML? {
    let fruits: [HTML] = stop.lines.compactMap { line in
      let name = line.fruit.name[language]
      let entered = report.entered[line.fruit.id] ?? 0
      let recorded = report.brought[line.fruit.id] ?? 0
      guard recorded < entered else { return nil }
      let text = language(
        "\(name): \(entered) entered, \(recorded) recorded: more does not fit.",
        "\(name): \(entered)개를 적었지만 \(recorded)개만 들어가서 \(recorded)개로 기록했어요.")
      return "<li>\(text)</li>"
    }
    return fruits.isEmpty ? nil : HTML.notice(.warn, html: "<ul>\(fruits)</ul>", tag: "div")
  }

  private func content(_ filled: Route.StopReport?) -> HTML {
    switch stop.report?.outcome {
    case .applied where context.canReport && stop.correction?.outcome == .unknown:
      return "\(summary)\(forms.correction)\(back)"
    case .applied
    where context.canReport && (context.filled["correct"] != nil || stop.correction != nil):
      return "\(forms.correction)\(back)"
    case .applied: return "\(summary)\(context.canReport ? correct : .empty)\(back)"
    case .unknown: return "\(summary)\(context.canReport ? forms.again : .empty)\(back)"
    default: return context.canReport ? forms.report(filled, asOf: asOf.html) : "\(summary)\(back)"
    }
  }

  private var skipForm: HTML {
    """
    <form method="post" action="\(path)/skip">\(context.fields())
    <div class="actions"><button name="skip" value="\(stop.isSkipped ? "0" : "1")">\(stop.isSkipped
      ? language("Visit it after all", "다시 방문하기") : language("Skip this kiosk", "이 키오스크 건너뛰기"))</button></div></form>
    """
  }

  private var correct: HTML {
    """
    <p class="actions"><a class="button" href="?correct=1">\(language("Correct these numbers", "수량 고치기"))</a></p>
    """
  }

  private var back: HTML {
    """
    \(route.nextStop(after: stop.kiosk, language).html)
    <p class="actions"><a href="/routes/\(route.id)">\(language("To the other kiosks", "다른 키오스크로"))</a></p>
    """
  }

  private var summary: HTML {
    let done = stop.report
    let missing = done?.missing ?? [:]
    let rows: [HTML] = stop.lines.map { line in
      let fruit = line.fruit.id
      func cell(_ number: Int?) -> HTML { number.map { "<td>\($0)</td>" } ?? "<td>–</td>" }
      let difference: HTML = missing[fruit].map { "<td>\(signed(-$0))</td>" } ?? "<td>–</td>"
      return """
        <tr><th scope="row">\(line.fruit.name[language])</th>\(cell(line.bring))\
        \(cell(done.map { $0.brought[fruit] ?? 0 }))\(cell(done?.ledger[fruit]))\
        \(cell(done?.counted[fruit]))\(difference)</tr>

        """
    }
    let heads = [
      language("Fruit", "과일"), language("Planned", "계획"), language("Brought", "채운 수량"),
      language("Ledger", "장부"), language("Counted", "센 수량"), language("Difference", "차이"),
    ]
    return "<div class=\"wide\">\(HTML.table(heads, rows, id: "summary"))</div>"
  }

  private func name(_ fruit: Fruit.ID) -> String {
    stop.line(of: fruit)?.fruit.name[language] ?? fruit.text
  }
}
