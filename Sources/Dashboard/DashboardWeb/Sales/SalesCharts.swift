import Fleet
import JuiceDomain
import KioskProtocol

/// Charts of the glasses that were made: on the latest day by hour, and the last 30 days by day.
struct SalesCharts {
  private let kiosk: KioskState
  private let sales: SalesReport?
  private let localTime: LocalTime

  init(_ kiosk: KioskState, _ sales: SalesReport?, _ localTime: LocalTime) {
    (self.kiosk, self.sales) = (kiosk, sales)
    self.localTime = localTime
  }

  private var language: Language { localTime.language }

  var html: HTML {
    let title = language("Sales", "판매")
    guard let sales else {
      return """
        <h2>\(title)</h2>
        <p class="empty">\(language("The kiosk has not sent its sales yet.", "아직 판매 기록을 받지 못했어요."))</p>
        """
    }
    // A kiosk that is offline since an earlier day has sent the sales of that day.
    let isToday = sales.today == localTime.today
    let day = localTime.day(sales.today)
    let when = isToday ? language("today", "오늘") : language("on \(day)", day)
    let usual: HTML? = (isToday ? sales.usual : nil).map { usual in
      " <span class=\"muted\">\(language("usually by now", "평소 이맘때")) \(Int(usual.rounded()))</span>"
    }
    let all = sales.days.reduce(into: Takings()) { $0 += $1.tally.takings }
    let value = language.valueOfGlasses
    let taken: HTML? =
      all.isEmpty
      ? nil
      : """
      <p class="figure"><b>\(kiosk.takenToday.isEmpty ? "–" : kiosk.takenToday.text(language))</b> \(language("\(value.lowercased()) \(when)", "\(value) (\(when))"))
      <span class="muted">\(language("in 30 days", "30일 동안")) \(all.text(language))</span></p>
      """
    let sold = kiosk.soldToday ?? 0
    let glasses = sold == 1 ? "glass" : "glasses"
    let none =
      isToday
      ? language("none made yet today", "오늘 아직 만든 잔이 없음")
      : language("none made \(when)", "\(when)에 만든 잔이 없음")
    let made: HTML =
      sold == 0
      ? "\(none)"
      : "<b>\(sold)</b> \(language("\(glasses) made \(when)", "잔 제조 (\(when))"))"
    return """
      <h2>\(title)</h2>\(CommonNotices.age(kiosk, sales.at, localTime.now, language))
      <p class="figure">\(made)\(usual)</p>
      \(taken)\(waste(sales))
      \(hours(sales))
      \(days(sales))
      """
  }

  /// Returns the fruit that was taken out in 30 days with its cost, or `nil` if there is none.
  private func waste(_ sales: SalesReport) -> HTML? {
    let waste = sales.days.reduce(into: Waste()) { $0 += $1.tally.waste }
    if waste.isEmpty { return nil }
    let fruits = kiosk.inMenuOrder(waste.amounts).map {
      language.amount($0.amount, of: kiosk.name(of: $0.fruit, language))
    }
    let cost = waste.cost.map { $0.text(language) }
    return """
      <p class="muted">\(language("Waste in 30 days:", "30일 동안 폐기:")) \
      \((cost + fruits).joined(separator: ", "))</p>
      """
  }

  private func hours(_ sales: SalesReport) -> HTML {
    var bars = (0..<24).map { hour in
      Chart.Bar(name: "\(hour):00", label: hour % 6 == 0 ? "\(hour)" : "", value: 0)
    }
    for hour in sales.hours where bars.indices.contains(hour.hour) {
      bars[hour.hour].value = hour.tally.glasses
    }
    let day = localTime.day(sales.today)
    let title =
      sales.today == localTime.today
      ? language("Today by hour", "오늘 시간대별") : language("\(day) by hour", "\(day) 시간대별")
    return Chart(id: "hours", title: title, bars: bars, language: language).html
  }

  private func days(_ sales: SalesReport) -> HTML {
    let today = sales.today.daysSinceEpoch
    let made = Dictionary(
      sales.days.map { ($0.day, $0.tally.glasses) }, uniquingKeysWith: { first, _ in first })
    let bars = (0..<SalesReport.dayCount).reversed().map { ago in
      let day = CivilDate(daysSinceEpoch: today - Int64(ago))
      let name = localTime.day(day)
      return Chart.Bar(name: name, label: ago % 7 == 0 ? name : "", value: made[day] ?? 0)
    }
    return Chart(
      id: "days", title: language("Last 30 days", "최근 30일"), bars: bars, language: language
    ).html
  }
}

/// A bar chart as SVG, with the same numbers in a table for screen readers.
struct Chart {
  struct Bar {
    let name: String
    /// The text below the bar; empty for most bars.
    let label: String
    var value: Int
  }

  /// An id that is unique on the page.
  let id: String
  let title: String
  let bars: [Bar]
  let language: Language

  var html: HTML {
    let (width, height) = (480, 120)
    let most = max(1, bars.map(\.value).max() ?? 1)
    let step = width / max(1, bars.count)
    let scale: HTML? =
      bars.allSatisfy { $0.value == 0 }
      ? nil : "<span class=\"muted\"> · \(language("at most", "최대")) \(most)</span>"
    let texts = labels(step)
    let columns: [HTML] = bars.enumerated().map { index, bar in
      let size = Int((Double(bar.value) / Double(most) * Double(height)).rounded(.up))
      return """
        <rect class="column" x="\(index * step + 2)" y="\(8 + height - size)" width="\(step - 4)" \
        height="\(size)" rx="2"><title>\(bar.name): \(bar.value)</title></rect>\(texts[index])
        """
    }
    let rows: [HTML] = bars.filter { $0.value > 0 }.map { bar in
      "<tr><th scope=\"row\">\(bar.name)</th><td>\(bar.value)</td></tr>"
    }
    return """
      <figure class="chart">
      <figcaption>\(title)\(scale)</figcaption>
      <svg viewBox="0 0 480 136" role="img" aria-label="\(title)">
      <line class="axis" x1="0" y1="128" x2="480" y2="128"/>\(columns)</svg>
      <details class="numbers"><summary>\(language("Numbers", "숫자로 보기"))</summary>
      <table id="\(id)-numbers"><tbody>\(rows)</tbody></table></details>
      </figure>
      """
  }

  /// Returns the labels by the index of their bar. A date next to an edge stays within the plot; if
  /// the dates are close, a phone, with its larger letters, shows every second one.
  private func labels(_ step: Int) -> [Int: HTML] {
    let labelled = bars.indices.filter { !bars[$0].label.isEmpty }
    var labels: [Int: HTML] = [:]
    for (place, index) in labelled.reversed().enumerated() {
      let text = bars[index].label
      let (left, right) = (index * step, (index + 1) * step)
      var (x, style) = ((left + right) / 2, "")
      if text.count > 3 {
        if right > 440 {
          (x, style) = (right, "end")
        } else if left < 40 {
          (x, style) = (left, "start")
        }
        let isClose = labelled.count > 1 && (labelled[1] - labelled[0]) * step < 150
        if isClose, !place.isMultiple(of: 2) { style += " minor" }
      }
      labels[index] = "<text class=\"\(style)\" x=\"\(x)\" y=\"146\">\(text)</text>"
    }
    return labels
  }
}
