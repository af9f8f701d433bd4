import Fleet
import JuiceDomain
import KioskProtocol

/// The page that changes a route, even after its start: its name, its driver, the order of its
/// stops, and a further kiosk.
struct RouteEditPage {
  /// The users who may drive the route.
  let drivers: [RouteForm.Driver]
  let route: Route
  /// The kiosks with a menu that are not on the route.
  let others: [KioskState]
  let context: PageContext
  /// The form that was sent, or the values of the page's query.
  var filled: Form
  var problem: HTML?

  private var language: Language { context.language }

  func page() -> Page {
    let title = language("Change the route", "방문 경로 바꾸기")
    let name = filled.field("name", route.name ?? "")
    let driver = filled.field("driver", route.driver ?? "")
    let rows: [HTML] = route.stops.enumerated().map { index, stop in
      let order = filled.field("order.\(stop.kiosk)", "\(index + 1)")
      return """
        <li><label class="choice">\(order.was)<input class="order" type="number" inputmode="numeric" min="1" max="999" \
        name="order.\(stop.kiosk)" value="\(order.value ?? "")">
        <span><b>\(stop.title(language))</b> <span class="muted">\(stop.place ?? "")</span></span></label>
        <span class="chips">\(stop.chip(language))</span></li>

        """
    }
    let choices: [HTML] = others.map { kiosk in
      """
      <option value="\(kiosk.id)"\(filled["add"] == kiosk.id.text ? " selected" : .empty)>\(kiosk.title(language))\
      \(kiosk.place.map { " · \($0)" as HTML })</option>

      """
    }
    let addition: HTML? =
      others.isEmpty || route.stops.count >= Route.maximumKiosks
      ? nil
      : """
      <label>\(language("Add a kiosk", "키오스크 추가"))
      <select name="add"><option value="">–</option>\(choices)</select></label>
      """
    return Page(
      title: title,
      body: """
        <p class="path"><a href="/routes/\(route.id)">← \(language("Route", "방문 경로"))</a></p>
        <h1>\(title)</h1>
        <form method="post" action="/routes/\(route.id)/edit" class="card">\(context.fields())
        \(problem)
        \(name.was)\(driver.was)
        <div class="fields">\(RouteForm.texts(name.value, driver.value, of: drivers, language))
        \(addition)</div>
        <h2>\(language("Order of the stops", "방문 순서"))</h2>
        <ul class="choices">\(rows)</ul>
        <div class="actions"><button class="primary">\(language("Save", "저장"))</button>
        <a class="button" href="/routes/\(route.id)">\(language("Back", "뒤로"))</a></div></form>
        """)
  }
}

/// The warning that the kiosks of a route have several currencies or regions. The user must confirm
/// such a route.
struct MixedKiosks {
  /// The currencies and regions with the titles of their kiosks, such as `EUR: City hall, Harbour`.
  let kinds: [String]

  /// Groups kiosks by currency and by region. Returns `nil` if the known currencies are equal and
  /// the known regions are, too.
  ///
  /// - Parameter regions: The region of each kiosk whose region is known.
  init?(_ kiosks: [KioskState], regions: [KioskID: String], _ language: Language) {
    var kinds: [String: [String]] = [:]
    for groups in [
      Dictionary(grouping: kiosks) { $0.currency?.code ?? "" },
      Dictionary(grouping: kiosks) { regions[$0.id] ?? "" },
    ] {
      let known = groups.filter { !$0.key.isEmpty }
      guard known.count > 1 else { continue }
      for (kind, members) in known { kinds[kind] = members.map { $0.title(language) }.sorted() }
    }
    guard !kinds.isEmpty else { return nil }
    self.kinds = kinds.sorted { $0.key < $1.key }.map { kind, titles in
      let more = titles.count > 5 ? " +\(titles.count - 5)" : ""
      return "\(kind): \(titles.prefix(5).joined(separator: ", "))\(more)"
    }
  }

  /// Returns the warning, with the check box by which the user confirms the route.
  func notice(_ language: Language) -> HTML {
    .notice(
      .bad,
      html: """
        <strong>\(language(
          "These kiosks have different currencies or regions:", "통화나 지역이 서로 다른 키오스크예요:"))</strong>
        <ul>\(kinds.map { "<li>\($0)</li>" as HTML })</ul>
        <label class="choice"><input type="checkbox" name="mixed" value="1"> \(language(
          "One van visits all of them.", "차 한 대로 모두 방문해요."))</label>
        """, tag: "div")
  }
}

extension HTML {
  /// Returns a link to a map of a place: KakaoMap in Korea, where Google Maps does not navigate,
  /// otherwise Google Maps. Returns `nil` for a place without a digit, such as `Lobby`, which is no
  /// address.
  static func map(_ place: String?, timeZone: String?, _ language: Language) -> HTML? {
    guard let place, place.contains(where: \.isNumber) else { return nil }
    let query = place.percentEncoded
    let address: HTML =
      timeZone == "Asia/Seoul"
      ? "https://map.kakao.com/link/search/\(query.replacing("/", with: "%2F"))"
      : "https://www.google.com/maps/search/?api=1&amp;query=\(query)"
    return """
       <a class="map" href="\(address)" target="_blank" rel="noopener noreferrer">\(language("Map", "지도"))</a>
      """
  }
}
