import Fleet
import JuiceDomain
import KioskProtocol

/// The page with one row per region.
struct ChainRegionsPage {
  let layout: ChainLayout
  let period: ChainPeriod
  let regions: [ChainQuery.Row]
  let takings: [ChainQuery.Row]
  /// The row of `ChainQuery.summedUp()`.
  let summedUp: ChainQuery.Row?
  /// Number of issues of each kind.
  let issues: [ChainIssue: Int]

  private var language: Language { layout.language }

  func page() -> Page {
    let money = Dictionary(grouping: takings) { $0[0] }
    let rows: [HTML] = regions.map { row in
      let address = ChainKiosksPage.address(region: row[0], days: period.days)
      return """
        <tr><th scope="row"><a href="\(address)">\(layout.region(row[0]))</a></th>
        <td>\(row.number(1))</td><td>\(row.number(2) > 0 ? "<b class=\"number bad\">\(row.number(2))</b>" as HTML : "0")</td>
        \(layout.today(row.number(3), money[row[0]] ?? []))
        \(layout.change(row.number(4), row.number(5)))\(layout.money(money[row[0]] ?? []))
        \(layout.change(row.number(7), row.number(8), isGood: false))</tr>

        """
    }
    let heads = [
      language("Region", "지역"), language("Kiosks", "키오스크"), language("Offline", "오프라인"),
      language("Today", "오늘"), language("Glasses", "잔"), language.valueOfGlasses,
      language("Orders out of stock", "품절로 못 받은 주문"),
    ]
    let empty = language(
      "No kiosk is listed, and none has sent an event yet. Run: juice-archive kiosks load FILE",
      "아직 키오스크가 없어요. 다음 명령을 실행해 주세요: juice-archive kiosks load FILE")
    return layout.page(
      """
      <dl class="tiles">\(tiles)</dl>
      \(layout.summedUp(summedUp))
      \(layout.choice(period) { "/chain?days=\($0)" })
      \(rows.isEmpty ? "<p class=\"empty\">\(empty)</p>" : layout.table(heads, rows))
      """)
  }

  private var tiles: [HTML] {
    func sum(_ column: Int) -> Int { regions.reduce(0) { $0 + $1.number(column) } }
    let counts: [(String, Int, HTML)] =
      [
        (language.kiosks(sum(1)), sum(1), ""),
        (language.madeToday, sum(3), ""),
        (language("Offline", "오프라인"), sum(2), "bad"),
      ]
      + ChainIssue.allCases.filter {
        layout.context.isAdmin || !ChainLayout.Tab.issue($0).isTechnical
      }.map { issue in
        (
          ChainLayout.Tab.issue(issue).name(language), issues[issue] ?? 0,
          issue == .soldOut ? "bad" : "warn"
        )
      }
    return counts.map { name, count, style in .tile(name, count, style) }
  }
}

/// The page of kiosks, a hundred at a time.
struct ChainKiosksPage {
  let layout: ChainLayout
  let period: ChainPeriod
  let filter: String
  /// The region to show, or `nil` for all regions.
  let region: String?
  let slice: ListSlice
  let kiosks: [ChainQuery.Row]
  let takings: [ChainQuery.Row]
  /// The row of `ChainQuery.summedUp()`.
  let summedUp: ChainQuery.Row?

  private var language: Language { layout.language }

  static func address(filter: String = "", region: String? = nil, days: Int, page: Int = 1)
    -> String
  {
    let region = region.map { "&region=\($0.percentEncoded)" } ?? ""
    return "/chain/kiosks?q=\(filter.percentEncoded)\(region)&days=\(days)&page=\(page)"
  }

  func page() -> Page {
    let money = Dictionary(grouping: takings) { $0[0] }
    let rows = kiosks.compactMap { row -> HTML? in
      guard let id = row.kiosk(0) else { return nil }
      return """
        <tr id="row-\(id)">\(layout.name(id, row.text(2), place: row.text(3)))
        <td>\(layout.region(row[1]))</td><td>\(layout.presence(row.bool(4), since: row.time(5)))</td>
        \(layout.today(row.number(6), money[row[0]] ?? []))
        \(layout.change(row.number(7), row.number(8)))\(layout.money(money[row[0]] ?? []))
        \(layout.change(row.number(10), row.number(11), isGood: false))</tr>

        """
    }
    let heads = [
      language("Kiosk", "키오스크"), language("Region", "지역"), language("Uplink", "연결"),
      language("Today", "오늘"), language("Glasses", "잔"), language.valueOfGlasses,
      language("Orders out of stock", "품절로 못 받은 주문"),
    ]
    let find = language("Find", "찾기")
    let chosen: HTML? = region.map { name in
      """
      <p>\(language("Region", "지역")): <b>\(layout.region(name))</b> ·
      <a href="\(Self.address(filter: filter, days: period.days))">\(language("all regions", "모든 지역"))</a></p>
      """
    }
    return layout.page(
      """
      <form class="filter" role="search">
      \(region.map { HTML.hidden("region", $0) })\(HTML.hidden("days", "\(period.days)"))
      <input type="search" name="q" value="\(filter)" maxlength="100" aria-label="\(find)" \
      placeholder="\(language("Id, name, place", "아이디, 이름, 위치"))">
      <button>\(find)</button>
      </form>
      \(chosen)\(layout.choice(period) { Self.address(filter: filter, region: region, days: $0) })
      <p class="muted" id="count">\(language(language.count(slice.count, "kiosk", "kiosks"), "키오스크 \(slice.count)개"))</p>
      \(layout.summedUp(summedUp))
      \(rows.isEmpty ? "<p class=\"empty\">\(language("No kiosk matches.", "찾는 키오스크가 없어요."))</p>" : layout.table(heads, rows))
      \(slice.links(language) { Self.address(filter: filter, region: region, days: period.days, page: $0) })
      """)
  }
}

/// The page of all issues of one kind, a hundred at a time.
struct ChainIssuePage {
  let layout: ChainLayout
  let issue: ChainIssue
  let slice: ListSlice
  let rows: [ChainQuery.Row]

  func page() -> Page {
    let list = ChainIssueList(layout: layout, issue: issue, rows: rows)
    return layout.page(
      """
      <p class="muted">\(list.explanation)</p>
      <p class="muted" id="count">\(layout.language("\(slice.count) in all", "모두 \(slice.count)건"))</p>
      \(list.html)
      \(slice.links(layout.language) { "/chain/\(issue.rawValue)?page=\($0)" })
      """)
  }
}

/// The table of issues of one kind.
struct ChainIssueList {
  let layout: ChainLayout
  let issue: ChainIssue
  let rows: [ChainQuery.Row]
  /// Whether all rows belong to one kiosk. If so, they do not name the kiosk.
  var isOfOne = false

  private var language: Language { layout.language }

  var explanation: String {
    switch issue {
    case .soldOut:
      language(
        "An order lacked this fruit, and it has not been restocked since.",
        "이 과일이 모자라서 주문을 받지 못했고, 그 뒤로 채우지 않았어요.")
    case .missing:
      language(
        "Entries that have not arrived. If they are only seconds old, they usually arrive soon.",
        "아직 도착하지 않은 기록이에요. 몇 초밖에 안 됐다면 대개 곧 도착해요.")
    case .conflicts:
      language(
        "Entries with the number of a stored entry but different content. The usual cause is a ledger copied by hand.",
        "저장된 기록과 번호는 같은데 내용이 다른 기록이에요. 장부를 손으로 복사하면 생겨요.")
    case .sharedIDs:
      language(
        "Ids with two ledgers that both grow: two kiosks use the same id. Give one of them another id.",
        "장부 두 개에 기록이 함께 늘고 있는 아이디예요. 두 키오스크가 같은 아이디를 쓰고 있으니 한쪽을 바꿔 주세요.")
    case .clocks:
      language(
        "Kiosks whose clock is ahead: their sales may count for a future day.",
        "시계가 빠른 키오스크예요. 판매가 미래 날짜로 집계될 수 있어요.")
    case .quarantine:
      language(
        "Messages that the archive could not read or store. The usual causes are an old kiosk, and an account that publishes something else.",
        "체인 기록이 읽거나 저장하지 못한 메시지예요. 오래된 키오스크이거나, 다른 것을 보내는 계정일 수 있어요.")
    case .overQuota:
      language(
        "Kiosks that send more than any kiosk can sell: the archive does not store all of their entries. Change the passwords of their accounts.",
        "키오스크가 팔 수 있는 것보다 많이 보내고 있어서 체인 기록이 일부를 저장하지 않아요. 그 계정의 비밀번호를 바꿔 주세요.")
    case .unlisted:
      language(
        "Kiosks that send entries and are not in the list: their sales count nowhere.",
        "목록에 없는데 기록을 보내는 키오스크예요. 판매는 집계에 들어가지 않아요.")
    case .ownMenus:
      language(
        "Kiosks that sell by the menus and prices of their own configurations, although the chain has sent a menu.",
        "체인이 메뉴를 보냈는데도 자체 설정의 메뉴와 가격으로 파는 키오스크예요.")
    }
  }

  var html: HTML {
    guard !rows.isEmpty else {
      return "<p class=\"empty\">\(language("None.", "없어요."))</p>"
    }
    let heads =
      switch issue {
      case .soldOut: [language("Fruit", "과일"), language("Since", "언제부터")]
      case .missing:
        [
          language("Ledger", "장부"), language("Entries", "기록"), language("Number", "개수"),
          language("Detected", "발견"),
        ]
      case .conflicts:
        [
          language("Ledger", "장부"), language("Entries", "기록"), language("Number", "개수"),
          language("Last detected", "마지막 발견"),
        ]
      case .sharedIDs: [language("Ledgers", "장부"), language("Until", "언제까지")]
      case .clocks: [language("Ahead by", "빠른 시간"), language("Last entry", "마지막 기록")]
      case .quarantine:
        [language("Message", "메시지"), language("Number", "개수"), language("Latest", "마지막")]
      case .overQuota:
        [
          language("Quota", "한도"), language("Entries not stored", "저장하지 않은 기록"),
          language("Since", "언제부터"),
        ]
      case .unlisted: [language("Entries", "기록"), language("Latest", "마지막")]
      case .ownMenus: [language("Reason", "이유"), language("Since", "언제부터")]
      }
    let kiosk = isOfOne ? [] : [language("Kiosk", "키오스크"), language("Region", "지역")]
    return layout.table(kiosk + heads, rows.compactMap(line))
  }

  private func line(_ row: ChainQuery.Row) -> HTML? {
    let name: HTML =
      row.kiosk(0).map { layout.name($0, row.text(2), place: row.text(3)) } ?? "<td></td>"
    let kiosk: HTML = isOfOne ? .empty : "\(name)<td>\(layout.region(row[1]))</td>"
    let time: HTML = row.time(8).map { "\(layout.localTime.html($0))" } ?? .empty
    let facts: HTML =
      switch issue {
      case .soldOut:
        """
        <td>\(fruit(row))</td><td>\(time) <span class="muted nowrap">\(row.time(8).map { layout.localTime.distance($0) } ?? "")</span></td>
        """
      case .missing, .conflicts:
        """
        <td>\(row[4])</td><td>\(row[5])\(row[5] == row[6] ? .empty : "–\(row[6])" as HTML)</td>
        <td>\(row.number(7))</td><td>\(time)</td>
        """
      case .sharedIDs, .ownMenus: "<td>\(row[4])</td><td>\(time)</td>"
      case .clocks:
        // A clock may be ahead by years, so the time includes the year.
        "<td>\(language.length(ofMinutes: row.number(7) / 60))</td><td class=\"nowrap\">\(row.time(8).map(layout.localTime.full) ?? "")</td>"
      case .quarantine: "<td>\(row[4])</td><td>\(row.number(7))</td><td>\(time)</td>"
      case .overQuota: "<td>\(quota(row[4]))</td><td>\(row.number(7))</td><td>\(time)</td>"
      case .unlisted: "<td>\(row.number(7))</td><td>\(time)</td>"
      }
    return "<tr>\(kiosk)\(facts)</tr>\n"
  }

  private func fruit(_ row: ChainQuery.Row) -> String {
    guard let kiosk = row.kiosk(0), let fruit = Fruit.ID(row[4]) else { return row[4] }
    return layout.menus.kiosk(kiosk).name(of: fruit, language)
  }

  private func quota(_ name: String) -> String {
    switch name {
    case "entries": language("entries in an hour", "한 시간의 기록 수")
    case "bytes": language("bytes in an hour", "한 시간의 바이트 수")
    case "days": language("different days in an hour", "한 시간에 보낸 날짜 수")
    case "ledgers": language("ledgers", "장부 수")
    case "gaps": language("gaps", "빠진 구간 수")
    // A quota of a newer archive.
    default: name
    }
  }
}
