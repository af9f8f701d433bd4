import CommandLineSupport
import JuiceDomain
import KioskCore
import KioskProtocol
import TimeZones

/// The printed record of food safety of several days.
struct SafetyView {
  let title: String
  let days: [SafetyDay]
  let wallClock: WallClock
  let now: Timestamp

  /// Maximum number of days of a record.
  static let maximumDays = 366

  private var sensors: [SensorID] {
    days.flatMap(\.sensors).map(\.name).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  /// Returns the lines, with all times in the time zone of the kiosk.
  ///
  /// - Parameter width: The width of the terminal in columns, or `nil` to break no line.
  func lines(width: Int?) -> [String] {
    var lines = [title.wrapped(to: width), ""]
    if let begins = days.compactMap(\.begins).first {
      lines += ["The ledger begins on \(time(begins)).", ""]
    }
    for sensor in sensors {
      let own = days.flatMap { day in day.sensors.filter { $0.name == sensor }.map { (day, $0) } }
      guard let first = own.first?.1 else { continue }
      let limits = [
        first.minimum.map { "from \($0.decimalText)" },
        first.maximum.map { "to \($0.decimalText)" },
      ].compactMap(\.self).joined(separator: " ")
      lines.append("\(sensor), \(first.unit.rawValue), limits \(limits)")
      lines.append(Self.row(["day", "min", "max", "minutes outside", "minutes without reading"]))
      for (day, sensor) in own {
        lines.append(
          Self.row([
            "\(day.day)", sensor.low?.decimalText ?? "-", sensor.high?.decimalText ?? "-",
            "\(sensor.secondsOutside / 60)",
            "\(secondsWithoutReading(of: sensor, on: day) / 60)",
          ]))
      }
      lines.append("")
    }
    lines.append("What was done")
    for day in days {
      lines += day.entries.map { entry in
        ([time(entry.at), entry.source?.sender(.english) ?? "kiosk"] + words(entry))
          .filter { !$0.isEmpty }.joined(separator: "  ").wrapped(to: width, indent: "    ")
      }
      if day.isShortened { lines.append("\(day.day)  \(SafetyDay.shortenedNote)") }
    }
    let waste = days.reduce(into: FruitAmounts()) { $0 += $1.waste }
    lines += ["", "Discarded: " + (waste.isEmpty ? "nothing" : "\(waste)")]
    return lines
  }

  /// Returns the text of the entry, in the words of the dashboard's page, and the details.
  private func words(_ entry: LedgerEntry) -> [String] {
    func bestBefore(_ expires: Timestamp) -> String {
      wallClock.bestBeforeDay(expires)?.description ?? time(expires)
    }
    let details = entry.safetyText(bestBefore: bestBefore)
    return switch entry.outcome {
    case .sensor(let step): [step.kind.text(.english), details]
    case .program(let step):
      ["\(step.id.machine): \(step.text(.english))", entry.changesText(bestBefore: bestBefore)]
    case .decided(let choice, _, _): [choice.text(.english), details]
    default: [entry.status.rawValue, details]
    }
  }

  private func time(_ time: Timestamp) -> String {
    let (day, minute) = wallClock.minute(at: time)
    return
      "\(CivilDate(daysSinceEpoch: Int64(day))) \(Self.padded(minute / 60)):\(Self.padded(minute % 60))"
  }

  /// A day on which the clocks change has 23 or 25 hours.
  private func secondsWithoutReading(of sensor: SafetyDay.Sensor, on day: SafetyDay) -> Int {
    let number = day.day.daysSinceEpoch
    return day.secondsWithoutReading(
      of: sensor, from: wallClock.start(ofDay: number),
      to: min(now, wallClock.start(ofDay: number + 1)))
  }

  private static func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static func row(_ cells: [String]) -> String {
    let widths = [12, 9, 9, 17, 25]
    return zip(cells, widths).enumerated().map { index, cell in
      let space = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
      return index == 0 ? cell.0 + space : space + cell.0
    }.joined()
  }
}
