import Fleet
import JuiceDomain
import KioskProtocol
import MessageBroker

/// The page of all kiosks, the most urgent first.
struct FleetPage {
  let fleet: KioskFleet
  let connectionError: BrokerError?
  let now: Timestamp
  let language: Language
  /// The lines by which kiosk.yaml names the dashboard's broker.
  var brokerLines: [String] = []
  /// Whether the user sees only the kiosks of some regions.
  var isLimited = false
  /// The text to search for.
  var filter = ""
  /// The requested page number; `ListSlice` limits it to the existing pages.
  var number = 1

  /// Returns the path with the filter and the page number as its query.
  static func address(_ path: String, filter: String, number: Int) -> String {
    "\(path)?q=\(filter.percentEncoded)&page=\(number)"
  }

  func page() -> Page {
    let find = language("Find", "찾기")
    let survey = fleet.survey(at: now)
    return Page(
      title: language("Kiosks", "키오스크"),
      body: """
        <div class="overview">
        <h1>\(language("Kiosks", "키오스크"))</h1>
        \(count(survey.count).html)
        <form class="filter" role="search">
        <input type="search" name="q" value="\(filter)" aria-label="\(find)" \
        placeholder="\(language("Name, place", "이름, 위치"))" \
        title="\(language("Name, place, fruit, machine, low, out, offline, closed", "이름, 위치, 과일, 기계, 부족, 품절, 오프라인, 종료"))">
        <button>\(find)</button>
        </form>
        </div>
        \(broker.html)
        \(list(survey).html)
        """, live: Self.address("/live", filter: filter, number: number), isFull: true)
  }

  var liveParts: [LivePart] {
    let survey = fleet.survey(at: now)
    return [broker, count(survey.count), list(survey)]
  }

  private var broker: LivePart { CommonNotices.broker(connectionError, language) }

  /// The number of glasses that were made today, each kiosk in its time zone, and the number of kiosks that
  /// have not reported theirs.
  private var madeToday: (glasses: Int, unknown: Int) {
    var days: [String?: CivilDate] = [:]
    var (glasses, unknown) = (0, 0)
    fleet.forEachKiosk { kiosk in
      let day = days[kiosk.timeZone] ?? LocalTime(kiosk.timeZone, now: now, language).today
      days[kiosk.timeZone] = day
      if let sold = kiosk.sold(on: day) { glasses += sold } else { unknown += 1 }
    }
    return (glasses, unknown)
  }

  private func count(_ count: FleetSurvey.Count) -> LivePart {
    // A tile with a filter links to the list of the kiosks that match the filter; the one without, to
    // the sales.
    let made = madeToday
    let tiles: [(name: String, number: Int, style: HTML, filter: String?)] = [
      (language.kiosks(count.kiosks), count.kiosks, "", ""),
      (language("Offline", "오프라인"), count.offline, "bad", language("offline", "오프라인")),
      (
        language("Needs attention", "확인 필요"), count.needingAttention, "bad",
        language("problem", "확인 필요")
      ),
      (language("Not for sale", "판매 불가"), count.out, "bad", language("out", "품절")),
      (language("Closed", "영업 종료"), count.closed, "warn", language("closed", "영업 종료")),
      (language("Low", "부족"), count.low, "warn", language("low", "부족")),
      (
        made.unknown == 0
          ? language.madeToday
          : language.madeToday
            + language(" (+ \(made.unknown) unknown)", " (+ \(made.unknown)곳 모름)"),
        made.glasses, "", nil
      ),
    ]
    let shown = tiles.filter { tile in
      switch tile.filter {
      case "problem", "확인 필요": count.withMachines + count.needingAttention > 0
      case "closed", "영업 종료": count.closed > 0
      default: true
      }
    }
    let today = LocalTime(fleet.timeZone, now: now, language).today
    let html: [HTML] = shown.map { name, number, style, word in
      .tile(
        name, number, style,
        href: word.map { Self.address("/", filter: $0, number: 1) }
          ?? "/sales?from=\(today)&to=\(today)")
    }
    return LivePart(
      "count", tag: "dl", class: "tiles",
      "\(html)<div hidden data-problems=\"\(count.urgent)\"></div>")
  }

  private func list(_ survey: FleetSurvey) -> LivePart {
    let kiosks = survey.byUrgency(matching: filter, in: language)
    let slice = ListSlice(page: number, of: kiosks.count)
    let shown = kiosks.dropFirst(slice.start).prefix(ListSlice.length).compactMap { fleet[$0] }
    if shown.isEmpty {
      if filter.isEmpty, !isLimited {
        let steps = FirstSteps(
          connectionError: connectionError, brokerLines: brokerLines, language: language)
        return LivePart("kiosks", steps.html)
      }
      let text =
        filter.isEmpty
        ? language("No kiosk of your regions is known.", "내 지역의 키오스크가 아직 없어요.")
        : language("No kiosk matches.", "찾는 키오스크가 없어요.")
      return LivePart("kiosks", "<p class=\"empty\">\(text)</p>")
    }
    let columns = KioskRow.columns(of: shown)
    let ids = columns.map(\.id)
    let rows: [HTML] = shown.map { kiosk in
      KioskRow(kiosk: kiosk, problems: survey[kiosk.id], now: now, language: language, columns: ids)
        .html
    }
    return LivePart(
      "kiosks",
      """
      \(heads(columns))
      <ul class="kiosks">
      \(rows)</ul>\(slice.links(language) { Self.address("/", filter: filter, number: $0) })
      """)
  }

  /// Returns the column headers, hidden from screen readers, because each row names its values
  /// itself.
  private func heads(_ columns: [Fruit]) -> HTML {
    let fruits: [HTML] = columns.map { "<span>\($0.name[language])</span>" }
    return """
      <div class="heads" aria-hidden="true"><span>\(language("Kiosk", "키오스크"))</span>
      <span>\(language("State", "상태"))</span><span class="levels">\(fruits)</span>
      <span>\(language("Next stockout", "다음 품절"))</span><span>\(language.madeToday)</span></div>
      """
  }
}
