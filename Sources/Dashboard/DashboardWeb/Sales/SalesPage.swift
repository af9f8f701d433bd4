import CommandLineSupport
import Foundation
import JuiceDomain
import KioskProtocol

/// The page that compares the sales of two periods: of a kiosk, of all kiosks, or of a chain.
struct SalesPage {
  let title: String
  let path: String
  /// Further parameters of the query, such as the region.
  var query: [(name: String, value: String)] = []
  let period: SalesPeriod
  /// The query from which `period` was read.
  let filled: Form
  let sales: SalesComparison
  /// The reason why the numbers are incomplete, or `nil` if they are complete.
  var notice: HTML?
  /// The number of kiosks in `groups` that have unknown days.
  var unknownKiosks = 0
  /// Whether the user may choose the period to compare with.
  var canChoose = false
  /// Further tables, such as the sales by kiosk.
  var groups: [Group] = []
  let name: (Juice.ID) -> String
  let localTime: LocalTime

  /// A table with one row for each kiosk or place.
  struct Group: Sendable {
    let title: String
    let id: HTML
    let rows: [(name: HTML, sales: SalesComparison)]
    /// Links to the further rows of a long table.
    var links: HTML = .empty
  }

  private var language: Language { localTime.language }

  private func address(_ period: SalesPeriod, _ path: String? = nil) -> String {
    let others = query.map { "&\($0.name)=\($0.value.percentEncoded)" }.joined()
    return "\(path ?? self.path)?\(period.query)\(others)"
  }

  var body: HTML {
    guard !SalesPeriod.isReversed(filled) else {
      let problem = language.notice(
        .bad, SalesPeriod.reversed.english, SalesPeriod.reversed.korean)
      return "\(choices)\(problem)"
    }
    return """
      \(choices)
      \(notice)
      <p class="muted" id="compared">\(span(period.days)) · \(compared)</p>
      <div class="card wide" tabindex="0">\(juices)</div>
      \(groups.map(table))
      \(money)
      \(daysChart)
      \(hours)
      <p class="actions">
      \(language.exports(path, address(period, "")))
      </p>
      """
  }

  private var choices: HTML {
    let links: [HTML] = SalesPeriod.choices(today: localTime.today, language).map { choice in
      """
      <a href="\(address(choice.period))"\(choice.period == period ? " aria-current=\"page\"" : .empty)>\(choice.name)</a>

      """
    }
    let hidden: [HTML] = query.map { .hidden($0.name, $0.value) }
    func field(_ name: String, _ label: String, _ day: Int64) -> HTML {
      let typed = SalesPeriod.isReversed(filled) ? filled[name] : nil
      return """
        <label>\(label)<input type="date" name="\(name)" value="\(typed ?? CivilDate(daysSinceEpoch: day).description)" \
        max="\(localTime.today.description)" required></label>
        """
    }
    return """
      <nav class="pages tabs" aria-label="\(language("Period", "기간"))">\(links)</nav>
      <form class="dates">\(hidden)
      \(field("from", language("From", "시작일"), period.days.lowerBound))
      \(field("to", language("To", "종료일"), period.days.upperBound))
      \(canChoose ? field("before_from", language("Compare from", "비교 시작일"), period.before.lowerBound) : .empty)
      \(canChoose ? field("before_to", language("Compare to", "비교 종료일"), period.before.upperBound) : .empty)
      <button>\(language("Show", "보기"))</button>
      </form>
      """
  }

  private var compared: HTML {
    if unknownKiosks > 0 {
      return """
        \(language(
          "The totals are not compared: not all days are known of \(unknownKiosks == 1 ? "1 kiosk" : "\(unknownKiosks) kiosks") (below)",
          "모든 날의 기록이 없는 키오스크가 \(unknownKiosks)대 있어 합계는 비교하지 않아요(아래 표 참고)"))
        """
    }
    if let day = sales.knownSince {
      let date = CivilDate(daysSinceEpoch: day).description
      return
        "\(language("There are no sales from before \(date) here, so nothing is compared", "\(date) 이전 기록이 없어 비교하지 않아요"))"
    }
    if let day = sales.knownUntil {
      let date = CivilDate(daysSinceEpoch: day).description
      return
        "\(language("Not all sales from after \(date) are here, so nothing is compared", "\(date) 이후 기록이 모자라 비교하지 않아요"))"
    }
    let today = localTime.today.daysSinceEpoch
    let isOpen = period.days.contains(today) || period.before.contains(today)
    let open = isOpen ? " · \(language("today is not over", "오늘은 아직 끝나지 않았어요"))" : ""
    return
      "\(language("compared with (in parentheses)", "비교(괄호 안):")) \(span(period.before))\(open)"
  }

  /// Returns the change against the period before, or nothing if that period is not known.
  private func trend(
    _ now: Int, _ before: Int, isGood: Bool = true, of sales: SalesComparison
  ) -> HTML {
    // A part of a day is no measure of a whole one.
    let today = localTime.today.daysSinceEpoch
    guard sales.isComparable, ![period.days, period.before].contains(today...today) else {
      return .empty
    }
    return Trend.html(Double(now), Double(before), isGood)
  }

  /// Returns the cells of a number: the number, its change, and that of the period before.
  private func cells(
    _ now: Int, _ before: Int, isGood: Bool = true, of sales: SalesComparison
  ) -> HTML {
    let change = trend(now, before, isGood: isGood, of: sales)
    let before: HTML = sales.isComparable ? "(\(before))" : .empty
    return "<td>\(now)</td><td>\(change)</td><td class=\"muted\">\(before)</td>"
  }

  private func span(_ days: ClosedRange<Int64>) -> HTML {
    let (first, last) = (
      CivilDate(daysSinceEpoch: days.lowerBound), CivilDate(daysSinceEpoch: days.upperBound)
    )
    return first == last
      ? "\(first.description)"
      : "<span class=\"nowrap\">\(first.description) – \(last.description)</span>"
  }

  // MARK: Tables

  private var juices: HTML {
    let sorted = sales.juices.sorted {
      ($0.value.now.glasses, $1.key) > ($1.value.now.glasses, $0.key)
    }
    let rows: [HTML] = sorted.map { juice, pair in
      row("\(name(juice))", pair, hasTakings: sales.hasTakingsOfJuices, of: sales)
    }
    let all = row("\(language("All", "모두"))", sales.total, hasTakings: true, of: sales)
    return table(language("Juice", "쥬스"), [all] + rows, id: "juices")
  }

  /// Returns a table of rows with three cells for each number.
  private func table(_ first: String, _ rows: [HTML], id: HTML) -> HTML {
    let numbers = [
      language("Glasses", "잔"), language.valueOfGlasses,
      language("Orders out of stock", "품절로 못 받은 주문"),
    ]
    let heads: [HTML] = numbers.map { "<th scope=\"colgroup\" colspan=\"3\">\($0)</th>\n" }
    return """
      <table class="review chain sales" id="\(id)"><thead><tr><th scope="col">\(first)</th>
      \(heads)</tr></thead>
      <tbody>\(rows)</tbody></table>
      """
  }

  private func table(_ group: Group) -> HTML {
    let rows: [HTML] = group.rows.map { name, sales in
      let known: [HTML] = [
        sales.knownSince.map { day in
          let date = CivilDate(daysSinceEpoch: day).description
          return
            "<br><span class=\"muted nowrap\">\(language("known from \(date)", "\(date)부터 기록 있음"))</span>"
        },
        sales.knownUntil.map { day in
          let date = CivilDate(daysSinceEpoch: day).description
          return
            "<br><span class=\"muted nowrap\">\(language("known up to \(date)", "\(date)까지 기록 있음"))</span>"
        },
      ].compactMap(\.self)
      return row("\(name)\(known)", sales.total, hasTakings: true, of: sales)
    }
    return """
      <h2>\(group.title)</h2>
      <div class="card wide" tabindex="0">\(table(group.title, rows, id: group.id))</div>
      \(group.links)
      """
  }

  private func row(
    _ name: HTML, _ pair: SalesComparison.Pair, hasTakings: Bool, of sales: SalesComparison
  ) -> HTML {
    """
    <tr><th scope="row">\(name)</th>\
    \(cells(pair.now.glasses, pair.before.glasses, of: sales))
    \(hasTakings ? takings(pair, of: sales) : "<td></td><td></td><td></td>")
    \(cells(pair.now.outOfStock, pair.before.outOfStock, isGood: false, of: sales))</tr>

    """
  }

  private func takings(_ pair: SalesComparison.Pair, of sales: SalesComparison) -> HTML {
    let currencies = Set(pair.now.takings.keys).union(pair.before.takings.keys).sorted()
    func sums(_ content: (_ now: Int, _ before: Int, Currency) -> HTML) -> [HTML] {
      currencies.map { currency in
        let (now, before) = (pair.now.takings[currency] ?? 0, pair.before.takings[currency] ?? 0)
        return "<span class=\"sum\">\(content(now, before, currency))</span>"
      }
    }
    let now = sums { now, _, currency in "\(text(now, currency))" }
    guard sales.isComparable else { return "<td>\(now)</td><td></td><td></td>" }
    let changes = sums { now, before, _ in
      now != .max && before != .max ? trend(now, before, of: sales) : .empty
    }
    let before = sums { now, before, currency in
      now != .max && before != .max ? "(\(text(before, currency)))" : .empty
    }
    return "<td>\(now)</td><td>\(changes)</td><td class=\"muted\">\(before)</td>"
  }

  private func text(_ units: Int, _ currency: Currency) -> String {
    units == .max ? "–" : Money.text(units, currency, language)
  }

  private var money: HTML? {
    guard !sales.money.isEmpty else { return nil }
    let rows: [HTML] = sales.money.map { currency, sums in
      let amounts = [sums.sold, sums.taken, sums.givenBack, sums.writtenOff, sums.open]
      let cells: [HTML] = amounts.map { "<td>\(text($0, currency))</td>" }
      return "<tr><th scope=\"row\">\(currency.code)</th>\(cells)</tr>"
    }
    let heads = [
      language("Currency", "통화"), language.valueOfGlasses, language("Taken", "받은 금액"),
      language("Given back", "돌려준 금액"), language("Written off", "손실"), language("Open", "미정"),
    ]
    return """
      <h2>\(language("Money", "금액"))</h2>
      <p class="muted">\(language(
        "\(language.valueOfGlasses) (also of free orders) = taken − given back + written off + open.",
        "\(language.valueOfGlasses)(무료 주문 포함) = 받은 금액 − 돌려준 금액 + 손실 + 미정"))</p>
      <div class="card wide" tabindex="0">\(HTML.table(heads, rows, id: "money", style: "review chain"))</div>
      """
  }

  private var hours: HTML? {
    guard !sales.hours.isEmpty else { return nil }
    let shown = (0..<24).filter { sales.hours[$0] != nil }
    let rows: [HTML] = shown.map { hour in
      row(
        "\(hour):00", sales.hours[hour] ?? .init(), hasTakings: sales.hasTakingsOfJuices, of: sales)
    }
    return """
      <h2>\(language("By hour of the day", "시간대별"))</h2>
      <div class="card wide" tabindex="0">\(table(language("Hour", "시간"), rows, id: "by-hour"))</div>
      """
  }

  /// A chart of the glasses by day, or by month if there are more than 62 days, or `nil` for one day.
  private var daysChart: HTML? {
    guard period.days.count > 1 else { return nil }
    var bars: [Chart.Bar] = []
    for day in period.days {
      let date = CivilDate(daysSinceEpoch: day)
      let glasses = sales.days[day] ?? 0
      if period.days.count > 62 {
        if date.day == 1 || bars.isEmpty {
          let month = "\(date.description.prefix(7))"
          bars.append(Chart.Bar(name: month, label: "\(date.month)", value: 0))
        }
        bars[bars.count - 1].value += glasses
      } else {
        let ago = period.days.upperBound - day
        let name = localTime.day(date)
        // A week of a bar each is too narrow for a date in a chart of two months.
        let isLabelled = ago % (period.days.count > 31 ? 14 : 7) == 0
        bars.append(Chart.Bar(name: name, label: isLabelled ? name : "", value: glasses))
      }
    }
    let title =
      period.days.count > 62
      ? language("Glasses by month", "월별 잔 수") : language("Glasses by day", "일별 잔 수")
    return
      "<section class=\"card sold\">\(Chart(id: "sold-days", title: title, bars: bars, language: language).html)</section>"
  }
}

/// The change of a number against an earlier one, in percent.
enum Trend {
  static func html(_ now: Double, _ before: Double, _ isGood: Bool) -> HTML {
    // An empty change keeps its place, so that the numbers stand below each other.
    guard before > 0 else { return "<span class=\"trend\"></span>" }
    let percent = Int(min(max(-100, ((now - before) / before * 100).rounded()), 9999))
    if percent == 0 { return "<span class=\"trend\">±0%</span>" }
    let style: HTML = (percent > 0) == isGood ? "good" : "bad"
    return "<span class=\"trend \(style)\">\(percent > 0 ? "+" : "−")\(abs(percent))%</span>"
  }
}
