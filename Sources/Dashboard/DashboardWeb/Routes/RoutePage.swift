import Fleet
import JuiceDomain
import KioskProtocol

/// The page of a route, on the screen and printed: the load, and a stop for each kiosk.
struct RoutePage {
  let route: Route
  let now: Timestamp
  let context: PageContext
  /// The reason for which the driver cannot report the stops.
  var driverProblem: String?

  private var language: Language { context.language }
  private var localTime: LocalTime { LocalTime(route.timeZone, now: now, language) }
  private var path: String { "/routes/\(route.id)" }

  func page(notice: HTML? = nil) -> Page {
    let arrival = localTime.text(route.plan.arrival)
    let title = route.name ?? language("Route of \(arrival)", "\(arrival) 방문 경로")
    let driver = route.driver.map { language("Driver: \($0)", "운전자: \($0)") + " · " }
    let named = route.name.map { _ in "\(arrival) · " }
    let change: HTML = """
      <a class="button" href="\(path)/edit">\(language("Change", "바꾸기"))</a>
      <a class="button" href="/routes/new?from=\(route.id)">\(language("Plan it again", "다시 계획하기"))</a>
      """
    let delete: HTML = """
      <form method="post" action="\(path)/delete">\(context.fields())
      <button>\(language("Delete the route", "방문 경로 삭제"))</button></form>
      """
    let print: HTML = """
      <button type="button" data-print hidden>\(language("Print", "인쇄"))</button>
      """
    return Page(
      title: title,
      body: """
        <p class="path"><a href="/routes">← \(language("Routes", "방문 경로"))</a></p>
        \((notice ?? existed).map(HTML.result))
        <h1>\(title)</h1>
        \(driverProblem.map { HTML.notice(.warn, $0) })
        <p class="muted">\(named ?? "")\(driver ?? "")\(language("Must last until", "다음 방문:")) \(localTime.text(route.plan.end)) · \
        \(language("margin", "여유")) \(route.plan.margin)% · \
        \(route.plan.fill == .capacity ? language("filled up", "가득 채움") : language("as needed", "필요한 만큼")) · \
        \(language("planned by", "계획:")) \(route.createdBy), \(localTime.html(route.createdAt))</p>
        <div class="actions screen">\(print)
        \(language.exports("\(path)/stops", of: language("Stops", "방문지")))
        \(language.exports("\(path)/load", of: language("Load", "적재")))
        \(context.isOperator ? change : .empty)
        \(context.isOperator && !route.hasStarted ? delete : .empty)</div>
        \(SavedReports(context: context).html)
        \(route.nextStop(language).html)
        <section class="card"><h2>\(language("Load", "적재"))</h2>\(overload)\(load)</section>
        <div class="stops">\(route.stops.enumerated().map { stop($0.element, number: $0.offset + 1) })</div>
        """, live: "\(path)/live", scripts: [.routesScript], timeZone: route.timeZone ?? "UTC")
  }

  /// The page on which the user confirms the deletion of the route.
  var deletionPage: Page {
    let title = language("Delete the route?", "방문 경로를 삭제할까요?")
    return Page(
      title: title,
      body: """
        <section class="card narrow"><h1>\(title)</h1>
        <p>\(language("Route of", "방문 경로:")) \(localTime.text(route.plan.arrival)) · \
        \(language(language.count(route.stops.count, "kiosk", "kiosks"), "키오스크 \(route.stops.count)곳"))</p>
        <div class="actions"><form method="post" action="\(path)/delete">\(context.fields())
        <button class="primary" name="sure" value="1">\(language("Delete", "삭제"))</button></form>
        <a class="button" href="\(path)">\(language("Back", "뒤로"))</a></div></section>
        """)
  }

  var liveParts: [LivePart] { [route.nextStop(language)] + route.stops.map(state) }

  /// The notice that the form was sent before and created no other route, or `nil` if the address does
  /// not ask for it.
  private var existed: HTML? {
    guard context.filled["existed"] != nil else { return nil }
    let time = localTime.text(route.createdAt)
    return language.notice(
      .warn, "This route exists already: it was planned at \(time).",
      "이미 있는 방문 경로예요. \(time)에 계획했어요.")
  }

  private var overload: HTML? {
    let amount = Route.amount(of: route.load)
    guard let van = route.plan.van, amount > van else { return nil }
    return language.notice(
      .warn,
      "This is more than the van holds: \(amount) of \(van) pieces. Skip stops, or drive twice.",
      "차에 다 실리지 않아요: \(van)개까지인데 \(amount)개예요. 방문지를 건너뛰거나 두 번 나눠 가세요.")
  }

  private var load: HTML {
    let rows: [HTML] = route.load.map { load in
      let crates: HTML? = load.crates.map { "\($0) × \(load.crate ?? 0)" }
      return """
        <tr><th scope="row">\(Self.tick)\(load.fruit.name[language])</th><td>\(load.sum)</td>
        <td>\(crates ?? "–")</td><td><strong>\(load.amount)</strong></td></tr>

        """
    }
    return .table(
      [
        language("Fruit", "과일"), language("To bring", "채울 수량"), language("Crates", "상자"),
        language("Load", "적재"),
      ], rows, id: "load")
  }

  /// A box to tick on paper.
  private static let tick: HTML = "<span class=\"tick\" aria-hidden=\"true\"></span>"

  private func state(_ stop: Route.Stop) -> LivePart {
    LivePart("state-\(stop.kiosk)", tag: "span", class: "chips", "\(stop.chip(language))")
  }

  private func stop(_ stop: Route.Stop, number: Int) -> HTML {
    let rows: [HTML] = stop.lines.map { line in
      let report = stop.report
      return """
        <tr><th scope="row">\(Self.tick)\(line.fruit.name[language])</th><td>\(line.now)</td>
        <td>\(line.expected)\(line.isForecast ? .empty : "?")</td><td><strong>\(line.bring)</strong></td>
        <td class="blank">\(report.map { "\($0.brought[line.fruit.id] ?? 0)" })</td>
        <td class="blank">\(report.map { $0.counted[line.fruit.id].map { "\($0)" } ?? "" })</td></tr>

        """
    }
    let offline = language.notice(
      .hint, "The kiosk was offline when the route was planned: its stock may be out of date.",
      "계획할 때 오프라인이었어요. 재고가 오래된 값일 수 있어요.")
    let heads = [
      language("Fruit", "과일"), language("Now", "지금"), language("On arrival", "도착 시"),
      language("Bring", "가져갈 수량"), language("Brought", "채운 수량"), language("Counted", "센 수량"),
    ]
    let unknown: HTML? =
      stop.lines.allSatisfy(\.isForecast)
      ? nil
      : """
      <p class="muted">? \(language("no forecast: the stock at that time", "예측 없음: 당시 재고"))</p>
      """
    return """
      <section class="card stop\(stop.isSkipped ? " skipped" : .empty)" aria-labelledby="stop-\(stop.kiosk)">
      <div class="title"><h2 id="stop-\(stop.kiosk)">\(Self.tick)\(number). <a data-stop href="\(path)/kiosks/\(stop.kiosk)">\(stop.title(language))</a></h2>
      \(state(stop).html)</div>
      <p class="muted">\(stop.kiosk)\(stop.place.map { " · \($0)" } ?? "")\(HTML.map(stop.place, timeZone: route.timeZone, language))</p>
      \(stop.wasOnline ? nil : offline)
      \(stop.takeOut(language))
      <div class="wide">\(HTML.table(heads, rows))</div>
      \(unknown)
      </section>

      """
  }
}

extension Route {
  /// Returns a link to the next open stop, which is empty if none is open.
  func nextStop(after kiosk: KioskID? = nil, _ language: Language) -> LivePart {
    guard let stop = next(after: kiosk), let index = stops.firstIndex(of: stop) else {
      return LivePart("next-stop", .empty)
    }
    let title = "\(index + 1). \(stop.title(language))"
    return LivePart(
      "next-stop", class: "actions screen",
      """
      <a class="button primary" id="next" href="/routes/\(id)/kiosks/\(stop.kiosk)">\(language("Next stop: \(title)", "다음 방문지: \(title)"))</a>
      """)
  }
}

extension Route.Stop {
  /// The state as an identifier, for scripts and tables.
  var status: String {
    switch report?.outcome {
    case nil where isSkipped: "skipped"
    case nil: "open"
    case .unknown: "unknown"
    case .applied: "applied"
    case .rejected: "rejected"
    }
  }

  /// Returns a notice of the fruit that will have expired at the planned arrival, or `nil` if there
  /// is none.
  func takeOut(_ language: Language) -> HTML? {
    let lines = lines.filter { $0.takeOut > 0 }
    if lines.isEmpty { return nil }
    let amounts = lines.map { language.amount($0.takeOut, of: $0.fruit.name[language]) }
      .joined(separator: ", ")
    return .notice(
      .warn,
      language(
        "Expired on arrival, take out: \(amounts).",
        "도착 시 유통기한이 지나 꺼내야 해요: \(amounts)."))
  }

  func chip(_ language: Language) -> HTML {
    let (style, text): (HTML, String) =
      switch report?.outcome {
      case nil where isSkipped: ("", language("skipped", "건너뜀"))
      case .applied where correction?.outcome == .unknown:
        ("warn", language("correction: no answer yet", "수정: 응답 대기"))
      case .applied where correction != nil: ("bad", language("correction rejected", "수정 거절됨"))
      case .applied where report?.isCorrection == true:
        ("good", language("done, corrected", "완료(수정됨)"))
      case nil: ("", language("planned", "예정"))
      case .unknown: ("warn", language("no answer yet", "응답 대기"))
      case .applied: ("good", language("done", "완료"))
      case .rejected(.conflict, _, _): ("bad", language("stock has changed", "재고 변경됨"))
      case .rejected: ("bad", language("rejected", "거절됨"))
      }
    return "<span class=\"chip \(style)\">\(text)</span>"
  }
}
