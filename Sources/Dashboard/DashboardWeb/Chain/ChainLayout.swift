import Fleet
import HTTPTypes
import JuiceDomain
import KioskProtocol
import Postgres

/// The frame of the pages of the chain, and the parts that several of them share.
struct ChainLayout {
  enum Tab: Hashable {
    case regions, kiosks, sales, history, rollouts
    case issue(ChainIssue)

    static let all =
      [regions, kiosks, sales, history, rollouts] + ChainIssue.allCases.map { issue($0) }

    var path: String {
      switch self {
      case .regions: "/chain"
      case .kiosks: "/chain/kiosks"
      case .sales: "/chain/sales"
      case .history: "/chain/history"
      case .rollouts: "/chain/rollouts"
      case .issue(let issue): "/chain/\(issue.rawValue)"
      }
    }

    /// Whether the page shows the operation of the archive rather than kiosks, for administrators.
    var isTechnical: Bool {
      switch self {
      case .regions, .kiosks, .sales, .history, .issue(.soldOut), .issue(.clocks): false
      case .rollouts, .issue: true
      }
    }

    func name(_ language: Language) -> String {
      switch self {
      case .regions: language("Regions", "지역")
      case .kiosks: language("Kiosks", "키오스크")
      case .sales: language("Sales", "판매")
      case .history: language("History", "이력")
      case .rollouts: language("Menus", "메뉴")
      case .issue(.soldOut): language("Sold out", "품절")
      case .issue(.missing): language("Gaps", "빠진 기록")
      case .issue(.conflicts): language("Conflicts", "충돌한 기록")
      case .issue(.sharedIDs): language("Shared ids", "중복된 아이디")
      case .issue(.clocks): language("Clocks", "시계")
      case .issue(.quarantine): language("Quarantine", "읽지 못한 기록")
      case .issue(.overQuota): language("Over quota", "한도 초과")
      case .issue(.unlisted): language("Not listed", "목록에 없음")
      case .issue(.ownMenus): language("Own menus", "자체 메뉴")
      }
    }
  }

  let context: PageContext
  let tab: Tab
  let localTime: LocalTime
  let menus: MenuNames

  var language: Language { context.language }

  func page(_ body: HTML, title: String? = nil, status: HTTPResponse.Status = .ok) -> Page {
    let shown = Tab.all.filter { context.isAdmin || !$0.isTechnical }
    let tabs: [HTML] = shown.map { tab in
      """
      <a href="\(tab.path)"\(tab == self.tab ? " aria-current=\"page\"" : .empty)>\(tab.name(language))</a>

      """
    }
    let title = title ?? tab.name(language)
    let regions = (context.user?.regions ?? []).joined(separator: ", ")
    let region: HTML? = regions.isEmpty ? nil : "<p class=\"place\">\(regions)</p>"
    return Page(
      title: title,
      body: """
        <nav class="pages tabs" aria-label="\(language("Chain", "체인"))">\(tabs)</nav>
        <div class="title"><h1>\(title)</h1>\(region)</div>
        \(body)
        """, status: status, isFull: true)
  }

  /// Returns a page that explains why the archive does not answer.
  func page(_ error: ChainError) -> Page {
    let text =
      switch error {
      case .busy:
        language(
          "Too many pages query the archive at once. Try again in a few seconds.",
          "지금은 체인 기록을 조회하는 페이지가 너무 많아요. 잠시 뒤에 다시 시도해 주세요.")
      case .database(let error) where error.state == "57014":
        language(
          "The archive has not answered in time. Try again in a minute.",
          "체인 기록이 제때 응답하지 않아요. 잠시 뒤에 다시 시도해 주세요.")
      case .database:
        language(
          "The archive is not available: its database is not reachable or rejects the query. The log has the reason.",
          "지금은 체인 기록을 볼 수 없어요. 데이터베이스에 연결할 수 없거나 데이터베이스가 조회를 거절했어요. 이유는 로그에 있어요.")
      }
    return page(
      """
      \(HTML.notice(.bad, text))
      <p><a class="button" href="\(context.requestTarget)">\(language("Try again", "다시 시도"))</a></p>
      """, status: .serviceUnavailable)
  }

  // MARK: Parts

  /// Returns the links that choose the length of the compared spans.
  func choice(_ period: ChainPeriod, _ address: (Int) -> String) -> HTML {
    let links: [HTML] = ChainPeriod.lengths.map { days in
      let name = language("\(days) days", "\(days)일")
      return days == period.days
        ? "<strong aria-current=\"true\">\(name)</strong> "
        : "<a id=\"days-\(days)\" href=\"\(address(days))\">\(name)</a> "
    }
    let text = language(
      "The days up to yesterday, compared with as many days before:",
      "어제까지의 기간을 바로 앞의 같은 기간과 비교:")
    return "<div class=\"pages span\"><span class=\"muted\">\(text)</span> \(links)</div>"
  }

  /// Returns a cell with a number and its change, such as `12 +20%`.
  ///
  /// - Parameter isGood: Whether growth is good.
  func change(_ now: Int, _ before: Int, isGood: Bool = true) -> HTML {
    "<td>\(now) \(Trend.html(Double(now), Double(before), isGood))</td>"
  }

  /// Returns a cell with the takings of the later span and their change, one line per currency.
  ///
  /// - Parameter rows: Rows with the currency in column 1, and in the next three columns the
  ///   takings of today and both spans.
  func money(_ rows: [ChainQuery.Row]) -> HTML {
    let amounts: [HTML] = rows.map { row in
      """
      <span class="sum">\(amount(row, 3)) \(Trend.html(Double(row[3]) ?? 0, Double(row[4]) ?? 0, true))</span>

      """
    }
    return "<td>\(amounts)</td>"
  }

  /// Returns a cell with the glasses and the takings of today.
  func today(_ glasses: Int, _ rows: [ChainQuery.Row]) -> HTML {
    let amounts: [HTML] = rows.filter { (Double($0[2]) ?? 0) != 0 }
      .map { "<span class=\"sum\">\(amount($0, 2))</span>" }
    return "<td>\(glasses) \(amounts)</td>"
  }

  private func amount(_ row: ChainQuery.Row, _ column: Int) -> String {
    Currency(row[1]).flatMap { Money(row[column], $0) }?.text(language)
      ?? "\(row[column]) \(row[1])"
  }

  /// Returns a line with the time up to which entries are summed up, and notices of failed sums and
  /// of an archive that receives nothing.
  ///
  /// - Parameter row: The row of `ChainQuery.summedUp()`.
  func summedUp(_ row: ChainQuery.Row?) -> HTML {
    guard let row, let until = row.time(0) else { return .empty }
    let failed = row.number(1)
    let notice: HTML? =
      failed == 0
      ? nil
      : HTML.notice(
        .bad,
        language(
          "The sums of \(failed) days of kiosks cannot be computed: juice.sums_behind has the reason.",
          "키오스크 \(failed)일치 합계를 계산할 수 없어요. 이유는 juice.sums_behind에 있어요."))
    let silence: HTML? = row.time(2).map { received in
      HTML.notice(
        .bad,
        html: """
          \(language(
            "The archive receives nothing. The latest message of a kiosk arrived",
            "체인 기록에 들어오는 것이 없어요. 키오스크의 마지막 메시지가 온 시각:")) \(localTime.html(received))
          """)
    }
    return """
      <p class="muted">\(language("Summed up to", "집계 기준 시각")) \(localTime.html(until))</p>\(notice)\(silence)
      """
  }

  /// Returns the last day of which all sales are summed up, in days since 1970-01-01, or `nil` if it
  /// is today.
  ///
  /// - Parameter row: The row of `ChainQuery.summedUp()`.
  func lastSummedUpDay(_ row: ChainQuery.Row?) -> Int64? {
    func dayBefore(_ time: Timestamp) -> Int64 { localTime.date(of: time).daysSinceEpoch - 1 }
    let summed = row?.time(0).map(dayBefore)
    let days = [
      summed.flatMap { $0 < localTime.today.daysSinceEpoch - 1 ? $0 : nil },
      row?.time(2).map(dayBefore),
    ]
    return days.compactMap(\.self).min()
  }

  /// Returns the header cell of a kiosk's row: its name, its id and its place.
  func name(_ id: KioskID, _ name: String?, place: String?) -> HTML {
    let place: HTML? = place.map { " <span class=\"muted\">\($0)</span>" }
    let name: HTML = name.map { "\($0) <span class=\"muted\">\(id)</span>" } ?? "\(id)"
    return "<th scope=\"row\"><a href=\"/chain/kiosks/\(id)\">\(name)</a>\(place)</th>"
  }

  func region(_ name: String) -> String {
    name.isEmpty ? language("no region", "지역 없음") : name
  }

  func presence(_ isOnline: Bool?, since: Timestamp?) -> HTML {
    let time: HTML? = since.map { " <span class=\"muted\">\(localTime.html($0))</span>" }
    return switch isOnline {
    case true?: "<span class=\"chip good\">\(language("online", "온라인"))</span>"
    case false?: "<span class=\"chip bad\">\(language("offline", "오프라인"))</span>\(time)"
    case nil: "<span class=\"chip\">\(language("no status yet", "상태 모름"))</span>"
    }
  }

  func table(_ heads: [String], _ rows: [HTML]) -> HTML {
    """
    <div class="card wide" tabindex="0">\(HTML.table(heads, rows, style: "review chain"))</div>
    """
  }
}
