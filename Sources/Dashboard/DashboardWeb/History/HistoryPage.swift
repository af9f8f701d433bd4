import CommandLineSupport
import Fleet
import Foundation
import JuiceDomain
import KioskProtocol
import TimeZones

/// The part of a history that a page shows, read from the query of the page's address.
struct HistoryChoice {
  /// The lengths of a history, in days. The history of a whole chain has only the first two,
  /// because the archive takes too long for the others.
  static let lengths = [1, 7, 30, ActivityStore.retention]

  private let lengths: [Int]
  let days: Int
  /// The kind of records to show, or `nil` for all kinds of `past`.
  let kind: ActivityLog.Kind?
  /// The requested page number; `ListSlice` limits it to the existing pages.
  let page: Int

  init(_ query: Form, ofWholeChain isOfWholeChain: Bool = false) {
    lengths = isOfWholeChain ? Array(Self.lengths.prefix(2)) : Self.lengths
    let usual = Self.lengths[isOfWholeChain ? 0 : 1]
    let days = query["days"].flatMap { Int($0) } ?? usual
    self.days = lengths.contains(days) ? days : usual
    kind = query["kind"].flatMap(ActivityLog.Kind.init(rawValue:)).flatMap {
      $0 == .actions ? nil : $0
    }
    page = query["page"].flatMap { Int($0) } ?? 1
  }

  /// Returns the start of the period that ends at `now`.
  func start(before now: Timestamp) -> Timestamp {
    Timestamp(milliseconds: now.milliseconds - Int64(days) * 86_400_000)
  }

  func address(_ path: String, days: Int? = nil, kind: ActivityLog.Kind?, page: Int = 1) -> String {
    let kind = kind.map { "&kind=\($0.rawValue)" } ?? ""
    return "\(path)?days=\(days ?? self.days)\(kind)\(page > 1 ? "&page=\(page)" : "")"
  }

  /// Returns the links that choose the kind and the length.
  func links(_ path: String, _ language: Language) -> HTML {
    let kinds: [HTML] = ([nil] + ActivityLog.Kind.past.map { $0 }).map { kind in
      Self.link(
        kind?.name(language) ?? language("All", "전체"), address(path, kind: kind),
        isCurrent: kind == self.kind)
    }
    return """
      <nav class="pages tabs" aria-label="\(language("Kind", "종류"))">\(kinds)</nav>
      \(periods(path, language))
      """
  }

  /// Returns the links that choose the length.
  ///
  /// - Parameter query: The rest of the query, with an ampersand before each field.
  func periods(_ path: String, _ language: Language, query: String = "") -> HTML {
    let lengths: [HTML] = self.lengths.map { days in
      let name = days == 1 ? language("24 hours", "24시간") : language("\(days) days", "\(days)일")
      return Self.link(
        name, address(path, days: days, kind: kind) + query, isCurrent: days == self.days)
    }
    return """
      <nav class="pages tabs" aria-label="\(language("Period", "기간"))">\(lengths)</nav>
      """
  }

  private static func link(_ name: String, _ address: String, isCurrent: Bool) -> HTML {
    "<a href=\"\(address)\"\(isCurrent ? " aria-current=\"page\"" : .empty)>\(name)</a>\n"
  }
}

extension ActivityLog.Kind {
  /// The kinds that the history shows.
  static let past = allCases.filter { $0 != .actions }

  func name(_ language: Language) -> String {
    switch self {
    case .outages: language("Outages", "오프라인")
    case .machines: language("Machines", "기계")
    case .payments: language("Payments", "결제")
    case .stockouts: language("Stockouts", "품절")
    case .safety: language("Food safety", "식품 안전")
    case .service: language("Opening and closing", "영업")
    case .restocks: language("Restocks", "재고 채움")
    case .actions: language("Users", "사용자")
    }
  }
}

/// The page of past outages, faults, stockouts, closings and restocks, the latest first.
struct HistoryPage {
  /// The kiosk, or `nil` for all kiosks.
  let kiosk: KioskID?
  let menus: MenuNames
  /// The names of kiosks that the archive lists.
  var names: [KioskID: String] = [:]
  /// The frame of the pages of the chain, or `nil` if the records are not from the archive.
  var layout: ChainLayout?
  let choice: HistoryChoice
  /// The records that the user may see, the latest first. A page of one kiosk has its records, and the
  /// outages of others.
  let records: [ActivityLog.Record]
  /// Whether `records` omits records, or the history did not store some.
  let isCut: Bool
  let localTime: LocalTime
  let context: PageContext

  private var language: Language { context.language }
  private var path: String { kiosk.map(path(of:)) ?? "\(layout == nil ? "" : "/chain")/history" }

  private func path(of kiosk: KioskID) -> String {
    "\(layout == nil ? "" : "/chain")/kiosks/\(kiosk)/history"
  }

  private func title(of kiosk: KioskID) -> String {
    names[kiosk] ?? state(of: kiosk).title(language)
  }

  private var shown: [ActivityLog.Record] {
    records.filter { record in
      (kiosk == nil || record.kiosk == nil || record.kiosk == kiosk)
        && (choice.kind.map { record.kind == $0 } ?? (record.kind != .actions))
    }
  }

  func page() -> Page {
    let shown = shown
    let slice = ListSlice(page: choice.page, of: shown.count)
    let title =
      kiosk.map { id in language("History of \(self.title(of: id))", "\(self.title(of: id)) 이력") }
      ?? language("History", "이력")
    let more: HTML? =
      isCut
      ? language.notice(
        .hint, "There is more than this page reads: choose a shorter time or a kind.",
        "이 페이지에서 다 읽을 수 없을 만큼 많아요. 기간을 줄이거나 종류를 골라 주세요.") : nil
    let body: HTML = """
      \(choice.links(path, language))
      \(more)
      \(shown.isEmpty
        ? "<p class=\"empty\">\(language("Nothing in this time.", "이 기간에는 기록이 없어요."))</p>"
        : list(Array(shown.dropFirst(slice.start).prefix(ListSlice.length))))
      \(slice.links(language) { choice.address(path, kind: choice.kind, page: $0) })
      <p class="actions">\(language.exports(path, choice.address("", kind: choice.kind)))</p>
      """
    if let layout { return layout.page("\(kiosk.map(back(to:)))\(body)", title: title) }
    let back: HTML =
      kiosk.map(back(to:))
      ?? "<p class=\"path\"><a href=\"/\">← \(language("Kiosks", "키오스크"))</a></p>"
    return Page(
      title: title, body: "\(back)<h1>\(title)</h1>\(body)", timeZone: localTime.clock.name)
  }

  /// Returns links to the page of the kiosk, and to the history of all kiosks.
  private func back(to kiosk: KioskID) -> HTML {
    let all: HTML =
      "<a href=\"\(layout == nil ? "" : "/chain")/history\">\(language("All kiosks", "모든 키오스크"))</a>"
    return """
      <p class="path"><a href="\(layout == nil ? "" : "/chain")/kiosks/\(kiosk)">← \(title(of: kiosk))</a>\(all)</p>
      """
  }

  /// Returns the records below a heading for each day.
  private func list(_ records: [ActivityLog.Record]) -> HTML {
    var html = HTML.empty
    var day: CivilDate?
    for record in records {
      let date = localTime.date(of: record.at)
      if date != day {
        html =
          html + (day == nil ? .empty : "</ol></section>\n")
          + "<section class=\"card\"><h2>\(localTime.day(date))</h2><ol class=\"feed past\">\n"
        day = date
      }
      html = html + line(record)
    }
    return html + "</ol></section>"
  }

  /// The records of all pages as a table.
  var table: ExportTable {
    let rows = shown.map { record -> ExportTable.Row in
      let content = content(of: record)
      return [
        .day(localTime.date(of: record.at)), .time(record.at),
        record.end.map { .time($0) } ?? "", .text(record.kind.rawValue),
        .text(record.kiosk?.text ?? ""), .text(record.kiosk.map(title(of:)) ?? ""),
        .text(content.text.plainText), .text(content.who),
        .text(record.isEarlier ? "or earlier" : ""),
      ]
    }
    let cut: [ExportTable.Row] =
      isCut
      ? [["", "", "", "incomplete", "", "", "there is more: choose a shorter time", "", ""]] : []
    return ExportTable(
      kiosk.map { "history-\($0)" } ?? "history",
      ["local_day", "from_utc", "until_utc", "kind", "kiosk", "name", "what", "who", "from_note"],
      rows: rows + cut)
  }

  private func content(of record: ActivityLog.Record) -> (style: HTML, text: HTML, who: String) {
    switch record.event {
    case .alert(let alert, let details, let until):
      return (until == nil ? "bad" : "warn", words(alert, details, record.at, until), "")
    case .stopped:
      let text = language(
        "The dashboard did not run and saw nothing", "대시보드가 꺼져 있어 아무것도 보지 못함")
      return ("", "\(text)", "")
    case .action: return ("", "", "")
    case .entry(let kiosk, let entry):
      let parts = EntryText(kiosk: state(of: kiosk), now: localTime.now, context: context)
        .parts(of: entry)
      let text: HTML = parts.mark == .empty ? parts.text : "\(parts.text) \(parts.mark)"
      return (parts.style, text, entry.sender(language))
    }
  }

  private func line(_ record: ActivityLog.Record) -> HTML {
    let (style, text, who) = content(of: record)
    let name: HTML? =
      kiosk != nil
      ? nil
      : record.kiosk.map {
        " <a href=\"\(choice.address(path(of: $0), kind: choice.kind))\">\(title(of: $0))</a>"
      }
    return """
      <li class="\(style)"><span class="when">\(when(record))</span>
      <span class="what">\(text)</span><span class="who">\(who)\(name)</span></li>

      """
  }

  private func when(_ record: ActivityLog.Record) -> HTML {
    func clock(_ time: Timestamp) -> HTML {
      "<time datetime=\"\(time.description)\">\(localTime.field(time).suffix(5).description)</time>"
    }
    let earlier = record.isEarlier ? language(" or earlier", " 또는 그 전") : ""
    guard let end = record.end else {
      return "\(language("since ", ""))\(clock(record.at))\(earlier)\(language("", "부터"))"
    }
    guard case .entry = record.event else {
      let minutes = max(0, Int(clamping: end.since(record.at).components.seconds / 60))
      var length = language.length(ofMinutes: minutes)
      if record.isEarlier {
        length = minutes == 0 ? "" : language("\(length) or longer", "\(length) 이상")
      } else if minutes == 0 {
        length = language("under 1 min", "1분 미만")
      }
      let isSameDay = localTime.date(of: end) == localTime.date(of: record.at)
      let day: HTML? = isSameDay ? nil : "\(localTime.day(localTime.date(of: end))) "
      return """
        \(clock(record.at))\(earlier) – \(day)\(clock(end)) <span class="muted">\(length)</span>
        """
    }
    return clock(record.at)
  }

  private func words(
    _ alert: Alert, _ details: ActivityLog.Details, _ since: Timestamp, _ until: Timestamp?
  ) -> HTML {
    guard case .problem(let problem, let kiosk) = alert else {
      return
        "\(language("The dashboard could not reach the broker", "대시보드가 브로커에 연결하지 못함"))"
    }
    let state = state(of: kiosk)
    var reports = KioskReports()
    (reports.menu, reports.otherNames) = (state.menu, state.otherNames)
    let title = ProblemText(reports, language) { _ in "" }.title(of: problem)
    let facts = problem == .offline ? cause(of: kiosk, details, since, until) : .empty
    return "\((details.text?[language] ?? title).capitalizedFirst)\(facts)"
  }

  /// Returns facts that indicate the cause of an outage.
  private func cause(
    of kiosk: KioskID, _ details: ActivityLog.Details, _ since: Timestamp, _ until: Timestamp?
  ) -> HTML {
    var facts: [String] = []
    if let time = details.restartedAt {
      let clock = localTime.field(time).suffix(5)
      facts.append(
        language(
          "its program started again at \(clock): power cut, restart or update",
          "프로그램이 \(clock)에 다시 시작됨: 정전, 재시작 또는 업데이트"))
    } else if until != nil, details.startedAt != nil {
      facts.append(
        language(
          "its program ran on: the network or its broker was away",
          "프로그램은 계속 실행됨: 네트워크나 브로커 문제"))
    }
    let others = records.count { record in
      guard case .alert(.problem(.offline, let other), _, _) = record.event, other != kiosk,
        !details.isEarlier, !record.isEarlier
      else { return false }
      return abs(record.at.milliseconds - since.milliseconds) <= 60_000
    }
    if others > 0 {
      facts.append(
        language(
          "\(others) other \(others == 1 ? "kiosk" : "kiosks") within the same minute",
          "같은 때에 다른 키오스크 \(others)대도 오프라인이 됨"))
    }
    return facts.isEmpty
      ? .empty : "<span class=\"muted\">: \(facts.joined(separator: "; "))</span>"
  }

  private func state(of kiosk: KioskID) -> KioskState { menus.kiosk(kiosk) }
}

extension ActivityLog.Record {
  /// Whether the record is about an alert that may have begun before.
  fileprivate var isEarlier: Bool {
    if case .alert(_, let details, _) = event { details.isEarlier } else { false }
  }
}
