import Fleet
import JuiceDomain
import KioskProtocol

/// The form that plans a route: its times and its kiosks. Kiosks that would run out of a fruit are
/// preselected.
struct RouteForm {
  /// Maximum number of listed kiosks, unless more are selected. The filter finds the other kiosks.
  static let maximumShown = 200

  /// A user who may report stops, with the regions that the user who plans the route may know.
  struct Driver {
    let name: String
    let regions: [String]
  }

  /// The users who may drive the route.
  let drivers: [Driver]
  let area: RouteArea
  /// The visits that other routes plan.
  let visits: [KioskID: [RouteVisit]]
  let plan: RoutePlan
  /// The text that filters the kiosks that are not selected, as in the list of kiosks.
  let filter: String
  let now: Timestamp
  let context: PageContext
  var problem: String?
  /// The ids of the selected kiosks, or `nil` for the proposed ones with `added` and without `removed`.
  var chosen: Set<String>?
  /// The ids of the kiosks that the user has selected against the proposal.
  var added: Set<String> = []
  /// The ids of the proposed kiosks that the user has not selected.
  var removed: Set<String> = []
  /// The values of the query, or of a form that was not accepted.
  var filled: Form?
  /// The route to plan again, or `nil` for a new one.
  var source: Route?
  /// The currencies or regions that the chosen kiosks do not share.
  var mixed: MixedKiosks?

  private var language: Language { context.language }
  private var localTime: LocalTime { LocalTime(area.timeZone, now: now, language) }

  func page() -> Page {
    let title = language("Plan a route", "방문 경로 계획하기")
    let fills: [HTML] = RoutePlan.Fill.allCases.map { fill in
      """
      <label class="choice"><input type="radio" name="fill" value="\(fill.rawValue)"\
      \(fill.rawValue == value("fill", plan.fill.rawValue) ? " checked" : .empty)> \(words(fill))</label>

      """
    }
    return Page(
      title: title,
      body: """
        <p class="path"><a href="/routes">← \(language("Routes", "방문 경로"))</a></p>
        <h1>\(title)</h1>
        \(problem.map { HTML.notice(.bad, $0) })
        <form method="post" action="/routes" class="plan">\(context.fields())
        \(source.map { HTML.hidden("from", $0.id.text) })
        <section class="card">
        <div class="fields">
        <label>\(language("Arrival", "도착"))
        <input type="datetime-local" name="arrival" value="\(value("arrival", localTime.field(plan.arrival)))" required></label>
        <label>\(language("Must last until", "다음 방문"))
        <input type="datetime-local" name="until" value="\(value("until", localTime.field(plan.end)))" required></label>
        <label>\(language("Margin in percent", "여유 (%)"))
        <input type="number" inputmode="numeric" name="margin" min="\(RoutePlan.margins.lowerBound)" \
        max="\(RoutePlan.margins.upperBound)" value="\(value("margin", "\(plan.margin)"))" required></label>
        <label>\(language("Stops at most", "방문지 최대"))
        <input type="number" inputmode="numeric" name="stops" min="1" max="\(Route.maximumKiosks)" \
        value="\(value("stops", "\(plan.stops)"))" required></label>
        <label>\(language("The van holds, in fruit (optional)", "차에 실리는 과일 수 (선택)"))
        <input type="number" inputmode="numeric" name="van" min="\(RoutePlan.vans.lowerBound)" \
        max="\(RoutePlan.vans.upperBound)" value="\(value("van", plan.van.map { "\($0)" } ?? ""))"></label>
        \(area.fields(language))<label>\(language("Find kiosks", "키오스크 찾기"))
        <input type="search" name="q" value="\(filter)"></label>
        </div>
        <fieldset><legend>\(language("Bring", "가져갈 수량"))</legend>\(fills)</fieldset>
        <p class="muted">\(language("Time zone:", "시간대:")) \(area.timeZone ?? "UTC").</p>
        <div class="actions"><button name="do" value="propose">\(language("Propose", "다시 제안"))</button></div>
        </section>
        \(kiosks)
        </form>
        """)
  }

  /// Returns the value of a field that the user has sent, or else the usual one.
  private func value(_ name: String, _ usual: String) -> String { filled?[name] ?? usual }

  /// Returns the fields for the name and the driver of a route.
  ///
  /// - Parameter drivers: The users that the field of the driver offers.
  static func texts(
    _ name: String?, _ driver: String?, of drivers: [Driver], _ language: Language
  ) -> HTML {
    // The driver of a route may have been removed.
    let isListed = driver == nil || driver == "" || drivers.contains { $0.name == driver }
    let former = isListed ? [] : [Driver(name: driver ?? "", regions: [])]
    let options: [HTML] = (drivers + former).map { user in
      let title = ([user.name] + user.regions).joined(separator: " · ")
      let selected: HTML = user.name == driver ? " selected" : ""
      return "<option value=\"\(user.name)\"\(selected)>\(title)</option>"
    }
    return """
      <label>\(language("Name, to plan it again (optional)", "이름 (다시 계획할 때, 선택)"))
      <input name="name" maxlength="\(Route.maximumName)" value="\(name ?? "")"></label>
      <label>\(language("Driver (optional)", "운전자 (선택)"))
      <select name="driver"><option value="">\(language("no driver yet", "아직 없음"))</option>\(options)</select></label>

      """
  }

  private func words(_ fill: RoutePlan.Fill) -> String {
    switch fill {
    case .capacity:
      language(
        "up to the capacity; less of fruit with hours for sale",
        "가득 채울 만큼 (판매 가능 시간이 있는 과일은 더 적게)")
    case .need: language("as much as needed", "필요한 만큼")
    }
  }

  /// The list of kiosks. Kiosks that would run out of a fruit come first. Both groups are sorted by
  /// urgency.
  private var kiosks: HTML {
    let numbered = (filled?.names("order.") ?? []).filter { filled?["order.\($0)"] != "" }
    let entered = (chosen ?? repeated ?? []).union(added).union(numbered)
    let (all, matching) = area.kiosks(matching: filter, or: entered, at: now)
    let found = all.map { kiosk in
      (kiosk: kiosk, short: plan.shortFruits(of: kiosk, after: visits[kiosk.id] ?? [], at: now))
    }
    let short = found.count { !$0.short.isEmpty && $0.kiosk.isKnown }
    let proposal = Set(plan.proposal(from: all, visits: visits, at: now).map(\.text))
    let base = repeated ?? proposal
    let selected = chosen ?? base.subtracting(removed).union(added)
    let kept = selected.union(numbered)
    let listed = found.filter { kept.contains($0.kiosk.id.text) || matching.contains($0.kiosk.id) }
    let sorted = listed.filter { !$0.short.isEmpty } + listed.filter(\.short.isEmpty)
    var room = Self.maximumShown - sorted.count { kept.contains($0.kiosk.id.text) }
    let shown = sorted.filter { choice in
      if kept.contains(choice.kiosk.id.text) { return true }
      room -= 1
      return room >= 0
    }
    let names = shown.map(\.kiosk.id.text)
    // What the user has not selected stays so on pages that do not list it.
    let proposed = names.filter(base.contains) + removed.subtracting(names).sorted()
    let hidden = HTML.hidden("proposed", proposed.joined(separator: " "))
    guard !shown.isEmpty else {
      return """
        \(hidden)<p class="empty">\(language("No kiosk matches.", "찾는 키오스크가 없어요."))</p>
        """
    }
    let more = sorted.count - shown.count
    return """
      \(hidden)
      <section class="card"><h2>\(language("Kiosks", "키오스크"))</h2>
      <p class="muted">\(language("Numbers set the order of the stops; kiosks without one follow by name.", "번호대로 방문하고, 번호가 없으면 이름순이에요."))</p>
      <p class="muted">\(language(
        "Kiosks that would run out of a fruit before \(localTime.text(plan.end)), with a margin of \(plan.margin)%: \(short). Proposed\(proposal.count < short ? ", as the limits permit" : ""): \(proposal.count).",
        "여유 \(plan.margin)% 기준, \(localTime.text(plan.end)) 전에 품절될 키오스크는 \(short)곳이에요. 제안\(proposal.count < short ? "(한도 안에서)" : ""): \(proposal.count)곳."))</p>
      <ul class="choices">\(shown.map { row($0, isChosen: selected.contains($0.kiosk.id.text)) })</ul>
      \(more > 0 ? "<p class=\"muted\">+\(more)</p>" : .empty)
      <div class="fields">\(Self.texts(filled?["name"] ?? source?.name, filled?["driver"] ?? source?.driver, of: drivers, language))</div>
      \(mixed.map { $0.notice(language) })
      <div class="actions"><button class="primary">\(language("Create the route", "방문 경로 만들기"))</button></div>
      </section>
      """
  }

  /// The kiosks of the route that is planned again, without the skipped ones; `nil` for a new route.
  private var repeated: Set<String>? {
    source.map { Set($0.stops.filter { !$0.isSkipped }.map(\.kiosk.text)) }
  }

  /// Returns the position of a kiosk in the route that is planned again, or an empty text.
  private func position(of kiosk: KioskID) -> String {
    source?.stops.firstIndex { $0.kiosk == kiosk }.map { "\($0 + 1)" } ?? ""
  }

  private func row(_ choice: (kiosk: KioskState, short: [Fruit.ID]), isChosen: Bool) -> HTML {
    let (kiosk, short) = choice
    let isTicked = isChosen && kiosk.isKnown
    var chips: [HTML] = short.map { fruit in
      "<span class=\"chip warn\">\(kiosk.name(of: fruit, language))</span>"
    }
    chips += (visits[kiosk.id] ?? []).filter { $0.at < plan.end }.map { visit in
      let time = localTime.text(visit.at)
      return "<span class=\"chip\">\(language("on a route: \(time)", "방문 예정: \(time)"))</span>"
    }
    if !kiosk.isOnline {
      chips.append("<span class=\"chip bad\">\(language("Offline", "오프라인"))</span>")
    }
    if !kiosk.isKnown {
      chips.append("<span class=\"chip bad\">\(language("stock unknown", "재고 모름"))</span>")
    } else if !kiosk.isForecast {
      chips.append("<span class=\"chip\">\(language("no forecast", "예측 없음"))</span>")
    }
    return """
      <li><label class="choice"><input type="checkbox" name="kiosk.\(kiosk.id)" value="1"\
      \(isTicked ? " checked" : .empty)\(kiosk.isKnown ? .empty : " disabled")>
      <span><b>\(kiosk.title(language))</b> <span class="muted">\(kiosk.place ?? "")</span></span></label>
      <span class="chips">\(chips)</span>
      <input class="order" type="number" inputmode="numeric" min="1" max="999" \
      name="order.\(kiosk.id)" value="\(filled?["order.\(kiosk.id)"] ?? position(of: kiosk.id))" \
      aria-label="\(language("Position of \(kiosk.title(language))", "\(kiosk.title(language)) 순서"))"></li>

      """
  }
}

extension KioskState {
  /// Whether the kiosk has published its menu and its stock, which a stop requires.
  fileprivate var isKnown: Bool { reports.menu != nil && reports.stock != nil }

  /// Whether there is a forecast for all fruits of the kiosk.
  fileprivate var isForecast: Bool {
    guard let forecast else { return false }
    return reports.menu?.menu.fruits.allSatisfy { forecast.fruits[$0.id]?.use.isEmpty == false }
      ?? false
  }
}

extension KioskFleet {
  /// The most frequent time zone of the kiosks.
  var timeZone: String? {
    var counts: [String: Int] = [:]
    forEachKiosk { if let zone = $0.timeZone { counts[zone, default: 0] += 1 } }
    return counts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
  }
}
