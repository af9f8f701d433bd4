import Fleet
import JuiceDomain
import KioskProtocol

/// The page of one kiosk of the chain, from the archive.
struct ChainKioskPage {
  let layout: ChainLayout
  let period: ChainPeriod
  let id: KioskID
  let kiosk: ChainQuery.Row
  let takings: [ChainQuery.Row]
  let juices: [ChainQuery.Row]
  let entries: [ChainQuery.Row]
  /// The row of `ChainQuery.summedUp()`.
  let summedUp: ChainQuery.Row?
  /// The first rows of each issue, and the number of all.
  let issues: [(issue: ChainIssue, rows: [ChainQuery.Row], count: Int)]
  /// Whether the dashboard itself receives the kiosk's messages and therefore has live pages of it.
  let isLive: Bool

  private var language: Language { layout.language }

  private func name(ofJuice id: String) -> String {
    Juice.ID(id).map { layout.menus.kiosk(self.id).name(of: $0, language) } ?? id
  }

  func page() -> Page {
    let facts = ["\(id)", layout.region(kiosk[1]), kiosk[3]].filter { !$0.isEmpty }
    let lastReceived: HTML = kiosk.time(12).map { "\(layout.localTime.html($0))" } ?? "–"
    let live: HTML =
      isLive
      ? "<a class=\"button\" href=\"/kiosks/\(id)\">\(language("Live: stock and orders", "실시간: 재고와 주문"))</a>"
      : .empty
    let issueSections: [HTML] = issues.filter { !$0.rows.isEmpty }.map { issue, rows, count in
      let list = ChainIssueList(layout: layout, issue: issue, rows: rows, isOfOne: true)
      let part: HTML? =
        count > rows.count
        ? "<p class=\"muted\">\(language("The first \(rows.count) of \(count)", "\(count)건 중 처음 \(rows.count)건"))</p>"
        : nil
      return """
        <section><h2>\(ChainLayout.Tab.issue(issue).name(language))</h2>
        <p class="muted">\(list.explanation)</p>\(part)\(list.html)</section>

        """
    }
    return layout.page(
      """
      <div class="chips">\(layout.presence(kiosk.bool(4), since: kiosk.time(5)))</div>
      <p class="place">\(facts.joined(separator: " · "))</p>
      <p>\(language("From the archive, as of", "체인 기록, 기준 시각")) \(lastReceived)</p>
      <p class="actions">\(live)
      <a class="button" href="/chain/kiosks/\(id)/history">\(language("History", "이력"))</a>
      <a class="button" href="/chain/kiosks/\(id)/safety">\(language("Record of food safety", "식품 안전 기록"))</a>
      <a class="button" href="/chain/sales?kiosk=\(id)">\(language("Sales", "판매"))</a></p>
      \(issueSections)
      <h2>\(language("Sales", "판매"))</h2>
      \(layout.choice(period) { "/chain/kiosks/\(id)?days=\($0)" })
      \(layout.summedUp(summedUp))
      \(sold)
      <h2>\(language("Latest entries", "마지막 기록"))</h2>
      \(last)
      """, title: kiosk.text(2) ?? "\(id)")
  }

  /// Returns the reason of an entry in words. A text of a person or of a device stays as it is.
  private func reason(_ code: String, _ status: LedgerEntry.Status?) -> String {
    switch status {
    case .rejected?: RejectionReason(rawValue: code)?.text(language) ?? code
    case .removed?: Removal.Reason(rawValue: code)?.text(language) ?? code
    case .programDue?: MachineProgram.Cause(rawValue: code)?.text(language) ?? code
    default: language.chargeReason(language.failure(code))
    }
  }

  private var sold: HTML {
    let short = layout.change(kiosk.number(10), kiosk.number(11), isGood: false)
    let all: HTML = """
      <tr><th scope="row">\(language("All", "모두"))</th>\(layout.today(kiosk.number(6), takings))
      \(layout.change(kiosk.number(7), kiosk.number(8)))
      \(layout.money(takings))\(short)</tr>

      """
    let rows: [HTML] = juices.map { row in
      """
      <tr><th scope="row">\(name(ofJuice: row[0]))</th><td>\(row.number(1))</td>\(layout.change(row.number(2), row.number(3)))
      <td></td>\(layout.change(row.number(5), row.number(6), isGood: false))</tr>

      """
    }
    return layout.table(
      [
        language("Juice", "쥬스"), language("Today", "오늘"), language("Glasses", "잔"),
        language.valueOfGlasses, language("Orders out of stock", "품절로 못 받은 주문"),
      ], [all] + rows)
  }

  private var last: HTML {
    guard !entries.isEmpty else {
      return "<p class=\"empty\">\(language("No entries yet.", "아직 기록이 없어요."))</p>"
    }
    let rows: [HTML] = entries.map { row in
      let amount = [row[6], row[7]].filter { !$0.isEmpty }.joined(separator: " ")
      let juice = name(ofJuice: row[3]).times(Int(row[4]) ?? 1)
      // An entry of a newer kiosk may have another status.
      let status = LedgerEntry.Status(rawValue: row[1])
      let what = [status?.text(language) ?? row[1], reason(row[5], status)]
        .filter { !$0.isEmpty }.joined(separator: ": ")
      let source = Source(row[2])?.sender(language) ?? row[2]
      return """
        <tr><th scope="row">\(row.time(0).map { layout.localTime.html($0) } ?? .empty)</th><td>\(what)</td>
        <td>\(juice)</td><td>\(amount)</td><td>\(source)</td></tr>

        """
    }
    return layout.table(
      [
        language("Time", "시각"), language("Entry", "기록"), language("Juice", "쥬스"),
        language("Amount", "금액"), language("Source", "출처"),
      ], rows)
  }
}
