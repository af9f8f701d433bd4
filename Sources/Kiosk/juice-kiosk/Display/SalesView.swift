import CommandLineSupport
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import TimeZones
import YAMLConfiguration

/// The printed sales report: sales as bars, and the time at which each fruit will be used up.
struct SalesView {
  private let title: String
  private let menu: Menu
  private let language: Language
  private let wallClock: WallClock
  private let sales: SalesReport
  private let forecast: ForecastReport

  init(_ configuration: KioskConfiguration, sales: SalesReport, forecast: ForecastReport) {
    title = [configuration.kiosk.displayName, configuration.topics.base].compactMap(\.self)
      .joined(separator: "  ")
    menu = configuration.menu
    language = configuration.kiosk.language
    wallClock = configuration.kiosk.timeZone
    self.sales = sales
    self.forecast = forecast
  }

  func lines(color: Bool) -> [String] {
    var lines = ["\(title)  \(sales.today)  \(sales.timeZone)", ""]
    lines += ["Glasses by hour, today"] + bars(hours, color)
    if let usual = sales.usual { lines.append("  usually by now: \(usual)") }
    lines += ["", "Glasses by day"] + bars(days, color)
    lines += ["", "\("All days shown".padded(to: Self.nameWidth + 2))  made     out rejected"]
    lines += juices(color) + waste + [""]
    lines.append("\("Fruit".padded(to: Self.nameWidth + 2)) stock per hour  used up")
    return lines + fruits(color)
  }

  private static let nameWidth = 24
  private static let barWidth = 40

  // MARK: Bars

  private typealias Bar = (label: String, glasses: Int, takings: Takings)

  /// One bar for each hour of today, from the first to the last hour in the report.
  private var hours: [Bar] {
    guard let first = sales.hours.first?.hour, let last = sales.hours.last?.hour, first <= last
    else { return [] }
    return (first...last).map { hour in
      let tally = sales.hours.first { $0.hour == hour }?.tally
      return ("\(hour < 10 ? "0" : "")\(hour):00", tally?.glasses ?? 0, tally?.takings ?? Takings())
    }
  }

  /// One bar for each day, from the first day in the report to today.
  private var days: [Bar] {
    guard let first = sales.days.first?.day.daysSinceEpoch else { return [] }
    return (first...max(first, sales.today.daysSinceEpoch)).map { number in
      let tally = sales.days.first { $0.day.daysSinceEpoch == number }?.tally
      return (
        "\(CivilDate(daysSinceEpoch: number))", tally?.glasses ?? 0, tally?.takings ?? Takings()
      )
    }
  }

  private func bars(_ bars: [Bar], _ color: Bool) -> [String] {
    guard let most = bars.map(\.glasses).max() else { return ["  nothing"] }
    let widest = bars.map { $0.takings.description.count }.max() ?? 0
    return bars.map { bar in
      let length = bar.glasses * Self.barWidth / max(most, 1)
      let block = String(repeating: "█", count: bar.glasses > 0 ? max(1, length) : 0)
      let takings = widest == 0 ? "" : bar.takings.description.padded(to: widest, left: true) + "  "
      return "  \(bar.label)  \("\(bar.glasses)".padded(to: 5, left: true))  \(takings)"
        + block.painted(.green, if: color)
    }
  }

  // MARK: Tables

  private func juices(_ color: Bool) -> [String] {
    var sum = SalesReport.Tally()
    for day in sales.days { sum += day.tally }
    let widest = sum.juices.flatMap { sum.takings[$0] }.map { "\($0)".columns }.max() ?? 0
    func row(
      _ name: String, _ made: Int, _ out: Int, _ rejected: Int, _ takings: [Money] = []
    ) -> String {
      func cell(_ count: Int) -> String { "\(count)".padded(to: 7, left: true) }
      return "  \(name.padded(to: Self.nameWidth)) \(cell(made)) "
        + cell(out).painted(.yellow, if: color && out > 0) + "  "
        + cell(rejected).painted(.red, if: color && rejected > 0)
        + takings.map { "  " + "\($0)".padded(to: widest, left: true) }.joined()
    }
    var rows = sum.juices.map { juice in
      row(
        menu.juice(juice)?.name[language] ?? juice.text, sum.made[juice] ?? 0,
        sum.outOfStock[juice] ?? 0, sum.rejected[juice] ?? 0, sum.takings[juice])
    }
    if sum.unnamed > 0 { rows.append(row("(not on the menu)", 0, 0, sum.unnamed)) }
    if !sum.takings.isEmpty {
      rows.append("  \("Sold".padded(to: Self.nameWidth)) \(sum.takings)")
    }
    return rows.isEmpty ? ["  nothing"] : rows
  }

  /// The lines about fruit that a person has taken out: a title, one for each reason, and one for
  /// the cost; empty if there is none.
  private var waste: [String] {
    var sum = Waste()
    for day in sales.days { sum += day.tally.waste }
    guard !sum.isEmpty else { return [] }
    let lines = Removal.Reason.allCases.compactMap { reason in
      sum.fruits[reason].map { "  \(reason.rawValue.padded(to: Self.nameWidth)) \($0)" }
    }
    let cost = sum.cost.map(\.description).joined(separator: ", ")
    return ["", "Taken out"] + lines
      + (cost.isEmpty ? [] : ["  \("Cost".padded(to: Self.nameWidth)) \(cost)"])
  }

  private func fruits(_ color: Bool) -> [String] {
    menu.fruits.compactMap { fruit in
      guard let outlook = forecast.fruits[fruit.id] else { return nil }
      let rate = outlook.perHour.map { "\($0)" } ?? "?"
      let gone =
        switch (outlook.stock, outlook.emptyAt, outlook.perHour) {
        case (0, _, _): "now".painted(.red, if: color)
        case (_, let at?, _): time(at)
        case (_, nil, nil): "unknown: less than an hour of history"
        case (_, nil, _): "not within a week"
        }
      return "  \(fruit.name[language].padded(to: Self.nameWidth)) "
        + "\("\(outlook.stock)".padded(to: 5, left: true)) \(rate.padded(to: 8, left: true))  \(gone)"
    }
  }

  /// Returns the day, the hour and the minute in the kiosk's time zone as text.
  private func time(_ at: Timestamp) -> String {
    let minutes = Int((wallClock.fraction(at: at) * 60).rounded())
    let (day, hour) = (wallClock.day(at: at), wallClock.hour(at: at))
    func padded(_ number: Int) -> String { "\(number < 10 ? "0" : "")\(number)" }
    return "\(CivilDate(daysSinceEpoch: Int64(day))) \(padded(hour - day * 24)):\(padded(minutes))"
  }
}
