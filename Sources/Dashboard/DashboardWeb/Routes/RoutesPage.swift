import CommandLineSupport
import Fleet
import JuiceDomain
import KioskProtocol

/// The page of all routes, with the differences between their counts and the ledgers.
struct RoutesPage {
  /// The routes, the latest first.
  let routes: [Route]
  /// The errors of the folder of routes and of unreadable route files.
  let problems: [StateError]
  /// The reasons for which drivers cannot report stops.
  let driverProblems: [Route.ID: String]
  let now: Timestamp
  let context: PageContext

  private var language: Language { context.language }

  func page() -> Page {
    let title = language("Routes", "방문 경로")
    let new: HTML = """
      <p><a class="button primary" href="/routes/new">\(language("Plan a route", "방문 경로 계획하기"))</a></p>
      """
    let leftOut = language(
      "This route file cannot be read and is not shown:", "읽을 수 없어서 표시하지 않는 방문 경로 파일이에요:")
    return Page(
      title: title,
      body: """
        <h1>\(title)</h1>
        \(saved)\(problems.map { HTML.notice(.bad, "\(leftOut)\n\($0)") })\(context.isOperator ? new : .empty)
        \(SavedReports(context: context).html)
        \(routes.isEmpty ? nothing : list)
        \(differences)
        """, scripts: [.routesScript])
  }

  /// The links that plan the named routes again.
  private var saved: HTML? {
    let named = Route.saved(routes)
    guard context.isOperator, !named.isEmpty else { return nil }
    let links: [HTML] = named.map { route in
      "<a class=\"button\" href=\"/routes/new?from=\(route.id)\">\(route.name ?? "")</a>\n"
    }
    return """
      <section class="card"><h2>\(language("Saved routes: plan one again", "저장한 경로 다시 계획하기"))</h2>
      <div class="actions">\(links)</div></section>
      """
  }

  private var nothing: HTML {
    let text =
      context.isOperator
      ? language(
        "There is no route yet. Plan one for the kiosks that run out of a fruit soon.",
        "아직 방문 경로가 없어요. 곧 품절될 키오스크부터 계획해 보세요.")
      : language("There is no route yet.", "아직 방문 경로가 없어요.")
    return "<p class=\"empty\">\(text)</p>"
  }

  private var list: HTML {
    let rows: [HTML] = routes.map { route in
      let localTime = LocalTime(route.timeZone, now: now, language)
      let done = route.stops.count { $0.report?.isDone == true || $0.isSkipped }
      let style: HTML = done == route.stops.count ? "good" : ""
      let problem: HTML? = driverProblems[route.id].map {
        " <span class=\"chip warn\" title=\"\($0)\">\(language("cannot report stops", "방문 기록 불가"))</span>"
      }
      return """
        <tr><th scope="row"><a href="/routes/\(route.id)">\(route.name.map { "\($0), " } ?? "")\(localTime.text(route.plan.arrival))</a></th>
        <td><span class="chip \(style)">\(done) / \(route.stops.count)</span></td>
        <td>\(route.load.reduce(0) { $0 + $1.sum })</td>
        <td>\(route.driver ?? "–")\(problem)</td><td>\(route.createdBy)</td></tr>

        """
    }
    let heads = [
      language("Route", "방문 경로"), language("Kiosks done", "완료한 키오스크"), language("Fruit", "과일"),
      language("Driver", "운전자"), language("Planned by", "계획한 사람"),
    ]
    return """
      <section class="card"><div class="wide">\(HTML.table(heads, rows))</div></section>
      """
  }

  private var differences: HTML {
    let differences = RouteDifferences(of: routes.reversed())
    guard !differences.kiosks.isEmpty else { return "" }
    func name(_ fruit: Fruit.ID) -> String { differences.names[fruit]?[language] ?? fruit.text }
    let fruits = differences.fruits.keys.sorted { (name($0), $0) < (name($1), $1) }
    func cell(_ difference: RouteDifferences.Difference?) -> HTML {
      guard let difference, difference.counts > 0 else { return "<td class=\"muted\">–</td>" }
      let style: HTML = difference.missing > 0 ? " class=\"short\"" : ""
      return "<td\(style)>\(signed(-difference.missing))</td>"
    }
    func brought(_ difference: RouteDifferences.Difference?) -> HTML {
      "<td>\(difference?.brought ?? 0) / \(difference?.planned ?? 0)</td>"
    }
    let rows: [HTML] = differences.kiosks.keys.sorted().map { kiosk in
      let title = differences.titles[kiosk]?[language] ?? kiosk.text
      return """
        <tr><th scope="row">\(title)</th>\(fruits.map { cell(differences.kiosks[kiosk]?[$0]) })</tr>

        """
    }
    let heads = [language("Kiosk", "키오스크")] + fruits.map(name)
    let foot: HTML = """
      <tr><th scope="row">\(language("All", "모두"))</th>\(fruits.map { cell(differences.fruits[$0]) })</tr>
      <tr><th scope="row">\(language("Brought / planned", "채운 수량 / 계획"))</th>\
      \(fruits.map { brought(differences.fruits[$0]) })</tr>
      """
    return """
      <section class="card"><h2>\(language("Counted stock compared with the ledger", "장부와 실제 수량의 차이"))</h2>
      <p class="muted">\(language(
        "How much more (+) or less (−) was counted than the ledger has, over all stored routes.",
        "보관된 모든 방문 경로에서 장부보다 많거나(+) 적었던(−) 수량이에요."))</p>
      <div class="wide">\(HTML.table(heads, rows, id: "missing", foot: foot))</div></section>
      """
  }
}

/// Returns the number with its sign: `+3`, `−2`, `0`.
func signed(_ number: Int) -> String {
  number > 0 ? "+\(number)" : number < 0 ? "−\(number.magnitude)" : "0"
}

/// The card of the stop reports that the browser stores. The script `routes.js` fills the card.
struct SavedReports {
  let context: PageContext

  var html: HTML {
    let language = context.language
    return """
      <section class="card saved" id="saved" aria-live="polite" hidden data-user="\(context.user?.name.text ?? "")"\(context.isOperator ? " data-restocks=\"1\"" : .empty)
      data-draft="\(language("started, not confirmed", "작성 중"))"
      data-waiting="\(language("waits for a network", "네트워크 연결 대기 중"))"
      data-unknown="\(language("no answer from the kiosk yet; it is sent again", "키오스크 응답 대기 중, 곧 다시 보내요"))"
      data-login="\(language("log in to send it", "로그인하면 보내요"))"
      data-other="\(language("is sent when its user logs in:", "다음 사용자가 로그인하면 보내요:"))"
      data-refused="\(language("the server rejected it; open it", "서버가 거절했어요. 열어서 확인해 주세요"))"
      data-gone="\(context.isOperator
        ? language("its route was deleted or is not yours any more; open it to restock the kiosk with these numbers", "방문 경로가 삭제됐거나 더 이상 내 경로가 아니에요. 열면 이 수량으로 키오스크를 채울 수 있어요")
        : language("its route was deleted or is not yours any more; tell an operator these numbers", "방문 경로가 삭제됐거나 더 이상 내 경로가 아니에요. 운영자에게 이 수량을 알려 주세요"))"
      data-again="\(language("not sent: check it, and confirm it again", "보내지 않았어요. 수량을 보고 다시 확인해 주세요"))"
      data-others="\(language("was sent before with other numbers or dates; open it to compare", "다른 수량이나 날짜로 이미 보냈어요. 열어서 비교해 주세요"))"
      data-rejected="\(language("nothing was changed; open it", "바뀐 것이 없어요. 열어서 확인해 주세요"))"
      data-counted="\(language("counted", "셈"))"
      data-sure="\(language("Discard these numbers?", "이 수량을 지울까요?"))"
      data-discard="\(language("Discard", "지우기"))"
      data-offline-ready="\(language("This route opens without a network, too.", "이 방문 경로는 네트워크가 없어도 열 수 있어요."))">
      <h2>\(language("In this browser", "이 브라우저에 보관 중"))</h2><ul></ul></section>
      <p id="offline-ready" class="muted" role="status"></p>
      """
  }
}
