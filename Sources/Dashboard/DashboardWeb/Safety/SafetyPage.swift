import CommandLineSupport
import Fleet
import Foundation
import JuiceDomain
import KioskProtocol
import TimeZones

/// The record of food safety of one week, which prints on one page.
struct SafetyPage {
  let kiosk: KioskState
  /// The first day of the week.
  let first: CivilDate
  /// The days that the kiosk has sent, or those in the archive.
  let days: [SafetyDay]
  let localTime: LocalTime
  let context: PageContext
  /// Whether the days are from the archive of the chain. `name` is then the kiosk's name there.
  var isOfChain = false
  var name: String?

  private var language: Language { localTime.language }

  static let dayCount: Int64 = 7
  /// Maximum number of pages that the dashboard requests of each day.
  static let maximumPages = 4

  var kioskTitle: String { name ?? kiosk.title(language) }
  var kioskAddress: String { "\(isOfChain ? "/chain" : "")/kiosks/\(kiosk.id)" }

  var title: String { language("Food safety of \(kioskTitle)", "\(kioskTitle) 식품 안전") }

  private var last: CivilDate {
    CivilDate(daysSinceEpoch: first.daysSinceEpoch + Self.dayCount - 1)
  }

  private var sensors: [SensorID] {
    days.flatMap(\.sensors).map(\.name).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  /// The days of this week that have begun and that the kiosk has not sent.
  private var missing: [CivilDate] {
    let week = first.daysSinceEpoch..<first.daysSinceEpoch + Self.dayCount
    return week.filter { $0 <= localTime.today.daysSinceEpoch }
      .map { CivilDate(daysSinceEpoch: $0) }
      .filter { day in !days.contains { $0.day == day } }
  }

  /// The rows of the exported table below its header.
  var table: [ExportTable.Row] {
    let rows =
      days.flatMap { day in
        day.rows { localTime.clock.bestBeforeDay($0)?.description ?? $0.description }
      } + missing.map { SafetyDay.incompleteRow($0, "the kiosk has not sent this day") }
    return rows.map { row in
      row.enumerated().map { column, text in
        switch column {
        case 0: CivilDate(text).map { .day($0) } ?? .text(text)
        case 1: Timestamp(text).map { .time($0) } ?? .text(text)
        case SafetyDay.numberColumns: .number(text)
        default: .text(text)
        }
      }
    }
  }

  var body: HTML {
    let address = "\(kioskAddress)/safety"
    func week(_ offset: Int64) -> String {
      "\(address)?from=\(CivilDate(daysSinceEpoch: first.daysSinceEpoch + offset))"
    }
    let notSent: HTML? =
      missing.isEmpty
      ? nil
      : language.notice(
        .warn, "The kiosk has not sent all days of this week: load the page again.",
        "키오스크가 이번 주 기록을 모두 보내지 않았어요. 페이지를 새로 고쳐 주세요.")
    let begins: HTML? = days.compactMap(\.begins).first.map { time in
      """
      <p class="muted">\(language("The ledger begins on", "장부 시작:")) \(localTime.full(time))\(language(".", ""))</p>
      """
    }
    let place: HTML? = kiosk.place.map { " · \($0)" }
    let next: HTML? =
      first.daysSinceEpoch + Self.dayCount > localTime.today.daysSinceEpoch
      ? nil : "<a href=\"\(week(7))\">\(language("week after", "다음 주")) →</a>"
    return """
      <p class="muted"><span class="nowrap">\(first.description) – \(last.description)</span>\(place)</p><nav class="pages tabs screen" aria-label="\(language("Week", "주"))">
      <a href="\(week(-7))">← \(language("week before", "이전 주"))</a>
      \(next)</nav>
      \(notSent)
      \(begins)
      \(sensors.map(section))
      \(actions)
      <p class="muted">\(language("Taken out or discarded:", "꺼냄 또는 폐기:")) \(waste)</p>
      <p class="actions screen">
      \(language.exports(address, "?from=\(first.description)"))
      </p>
      <p class="signature">\(language("Checked by, date:", "확인자, 날짜:")) ______________________</p>
      """
  }

  // MARK: Sensors

  private func section(_ name: SensorID) -> HTML {
    let own = days.flatMap { day in day.sensors.filter { $0.name == name }.map { (day, $0) } }
    guard let sensor = own.first?.1 else { return .empty }
    let unit = sensor.unit.rawValue
    let limits = [
      sensor.minimum.map {
        language("at least \($0.decimalText) \(unit)", "최저 \($0.decimalText) \(unit)")
      },
      sensor.maximum.map {
        language("at most \($0.decimalText) \(unit)", "최고 \($0.decimalText) \(unit)")
      },
    ].compactMap(\.self).joined(separator: ", ")
    // All values of the table have as many decimals as the one with the most.
    let values = own.flatMap { [$0.1.low, $0.1.high] }.compactMap(\.self)
    let digits = values.map { $0.decimalText.drop { $0 != "." }.dropFirst().count }.max() ?? 0
    func text(_ value: Int?) -> String {
      value.map { String(format: "%.\(digits)f", Double($0) / 1000) } ?? "–"
    }
    let rows: [HTML] = own.map { day, sensor in
      let isBad: HTML = sensor.secondsOutside > 0 ? " class=\"bad\"" : ""
      return """
        <tr\(isBad)><th scope="row">\(localTime.day(day.day))</th><td>\(text(sensor.low))</td>\
        <td>\(text(sensor.high))</td><td>\(sensor.secondsOutside / 60)</td>\
        <td>\(secondsWithoutReading(of: sensor, on: day) / 60)</td></tr>
        """
    }
    return """
      <section class="card wide" tabindex="0">
      <h2>\(name) <span class="muted">\(limits.isEmpty ? unit : language("limit: ", "") + limits)</span></h2>
      \(plot(own.map(\.1), title: "\(name), \(unit)"))
      <table class="review"><thead><tr><th>\(language("Day", "날짜"))</th><th>\(language("min", "최저"))</th>\
      <th>\(language("max", "최고"))</th><th>\(language("minutes outside", "벗어난 시간(분)"))</th>\
      <th>\(language("minutes without reading", "측정 없음(분)"))</th></tr></thead><tbody>\(rows)</tbody></table>
      </section>
      """
  }

  /// A day on which the clocks change has 23 or 25 hours.
  private func secondsWithoutReading(of sensor: SafetyDay.Sensor, on day: SafetyDay) -> Int {
    let (clock, number) = (localTime.clock, day.day.daysSinceEpoch)
    return day.secondsWithoutReading(
      of: sensor, from: clock.start(ofDay: number),
      to: min(localTime.now, clock.start(ofDay: number + 1)))
  }

  /// Draws the range of each hour as a bar, and the limits of the first day as lines, all above the axis.
  private func plot(_ days: [SafetyDay.Sensor], title: String) -> HTML {
    let hours = days.flatMap(\.hours)
    guard let sensor = days.first, let low = hours.map(\.low).min(),
      let high = hours.map(\.high).max()
    else { return .empty }
    let values = [low, high, sensor.minimum, sensor.maximum].compactMap(\.self)
    let (bottom, top) = (values.min() ?? low, values.max() ?? high)
    let span = Double(max(1, top - bottom))
    func y(_ value: Int) -> Int { 100 - Int((Double(value - bottom) / span * 90).rounded()) }
    let start = first.daysSinceEpoch
    let bars: [HTML] = hours.compactMap { hour in
      let day = localTime.date(of: hour.at).daysSinceEpoch - start
      guard (0..<Self.dayCount).contains(day) else { return nil }
      let x = Int(day) * 96 + localTime.hour(of: hour.at) * 4
      let isOutside =
        hour.secondsOutside > 0 || hour.high > sensor.maximum ?? .max
        || hour.low < sensor.minimum ?? .min
      let style: HTML = isOutside ? "column outside" : "column"
      return """
        <rect class="\(style)" x="\(x)" y="\(y(hour.high) - 1)" width="3" \
        height="\(y(hour.low) - y(hour.high) + 2)"/>
        """
    }
    let lines: [HTML] = [sensor.minimum, sensor.maximum].compactMap { limit in
      limit.map {
        """
        <line class="axis limit" x1="0" y1="\(y($0))" x2="672" y2="\(y($0))"/>\
        <text x="678" y="\(y($0) + 4)">\($0.decimalText) \(sensor.unit.rawValue)</text>
        """
      }
    }
    let labels: [HTML] = (0..<Self.dayCount).map { day in
      let name = localTime.day(CivilDate(daysSinceEpoch: start + day))
      // On a phone, with its larger letters, only every second day has room.
      let style: HTML = day.isMultiple(of: 2) ? "day" : "day minor"
      return "<text class=\"\(style)\" x=\"\(Int(day) * 96 + 2)\" y=\"130\">\(name)</text>"
    }
    return """
      <svg class="plot" viewBox="0 0 672 116" role="img" aria-label="\(title)">\
      <line class="axis" x1="0" y1="112" x2="672" y2="112"/>\(bars)\(lines)\(labels)</svg>
      """
  }

  // MARK: Entries

  private var actions: HTML {
    let text = EntryText(
      kiosk: kiosk, now: localTime.now, context: context, hasFullDates: true)
    let rows: [HTML] = days.flatMap(\.entries).map { entry in
      """
      <tr><td>\(localTime.full(entry.at))</td><td>\(entry.source == nil ? language("kiosk", "키오스크") : entry.sender(language))</td>\
      <td>\(text.parts(of: entry).text)</td></tr>
      """
    }
    let shortened = days.filter(\.isShortened).map { localTime.day($0.day) }
    let more: HTML? =
      shortened.isEmpty
      ? nil
      : language.notice(
        .warn,
        "Not whole: \(shortened.joined(separator: ", ")). The command juice-kiosk report --haccp prints all of it.",
        "전체 기록이 아니에요: \(shortened.joined(separator: ", ")). juice-kiosk report --haccp 명령이 모두 출력해요."
      )
    return """
      <section class="card wide" tabindex="0">
      <h2>\(language("What was done", "한 일"))</h2>
      <table class="review log"><thead><tr><th>\(language("Time", "시간"))</th><th>\(language("Who", "누가"))</th>\
      <th>\(language("What", "무엇을"))</th></tr></thead><tbody>\(rows)</tbody></table>\(more)
      </section>
      """
  }

  private var waste: String {
    let waste = days.reduce(into: FruitAmounts()) { $0 += $1.waste }
    let isWhole = missing.isEmpty && !days.contains(where: \.isShortened)
    let least = isWhole ? "" : language("at least ", "최소 ")
    guard !waste.isEmpty else {
      return isWhole ? language("nothing", "없음") : language("unknown", "알 수 없음")
    }
    return least
      + kiosk.inMenuOrder(waste).map { "\(kiosk.name(of: $0.fruit, language)) \($0.amount)" }
      .joined(separator: ", ")
  }
}
