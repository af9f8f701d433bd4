import CommandLineSupport
import JuiceDomain
import KioskCore
import KioskProtocol

/// The record of food safety of some days, as text and as CSV.
struct SafetyView {
  let title: String
  let days: [SafetyDay]
  let wallClock: WallClock

  /// Maximum number of days of a report.
  static let maximumDays = 366

  private var sensors: [SensorID] {
    days.flatMap(\.sensors).map(\.name).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  /// The lines for a terminal.
  var lines: [String] {
    var lines = [title, ""]
    for sensor in sensors {
      let own = days.flatMap { day in day.sensors.filter { $0.name == sensor }.map { (day.day, $0) }
      }
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
            "\(day)", sensor.low?.decimalText ?? "-", sensor.high?.decimalText ?? "-",
            "\(sensor.secondsOutside / 60)", "\(max(0, 86_400 - sensor.secondsMeasured) / 60)",
          ]))
      }
      lines.append("")
    }
    lines.append("What was done")
    for day in days {
      lines += day.entries.map { entry in
        [
          time(of: entry, on: day), entry.who, entry.status.rawValue, Self.text(of: entry),
        ].joined(separator: "  ")
      }
      if day.isShortened {
        lines.append("\(day.day)  more than \(SafetyDay.maximumEntries) entries: see ledger export")
      }
    }
    let waste = self.waste
    lines += ["", "Discarded: " + (waste.isEmpty ? "nothing" : "\(waste)")]
    return lines
  }

  /// The fruit that was thrown away.
  private var waste: FruitAmounts {
    days.flatMap(\.entries).reduce(into: FruitAmounts()) { waste, entry in
      if entry.status == .sensorDiscard { waste += entry.changes.times(-1) }
    }
  }

  private func time(of entry: LedgerEntry, on day: SafetyDay) -> String {
    let (_, minute) = wallClock.minute(at: entry.at)
    return "\(day.day) \(Self.padded(minute / 60)):\(Self.padded(minute % 60))"
  }

  private static func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static func row(_ cells: [String]) -> String {
    let widths = [12, 9, 9, 17, 25]
    return zip(cells, widths).enumerated().map { index, cell in
      let space = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
      return index == 0 ? cell.0 + space : space + cell.0
    }.joined()
  }

  private static func text(of entry: LedgerEntry) -> String {
    var parts: [String] = []
    if case .sensor(let step) = entry.outcome { parts.append(step.summary) }
    if case .decided(_, let job, _) = entry.outcome { parts.append("job \(job)") }
    if case .program(let step) = entry.outcome {
      parts += ["\(step.id.machine) \(step.id.program.rawValue)", step.reason].compactMap(\.self)
    }
    if !entry.changes.isEmpty { parts.append("\(entry.changes)") }
    return parts.joined(separator: ", ")
  }

  // MARK: CSV

  static let header: [CSVWriter.Cell] = [
    "day", "time", "kind", "name", "unit", "min", "max", "minutes_outside", "minutes_measured",
    "who", "status", "changes", "note",
  ]

  /// A line for each day of a sensor, and for each entry.
  var cells: [[CSVWriter.Cell]] {
    days.flatMap { day in
      let readings = day.sensors.map { sensor -> [CSVWriter.Cell] in
        [
          .text("\(day.day)"), "", "readings", .text(sensor.name.text),
          .text(sensor.unit.rawValue), .number(sensor.low?.decimalText ?? ""),
          .number(sensor.high?.decimalText ?? ""), .number(sensor.secondsOutside / 60),
          .number(sensor.secondsMeasured / 60), "", "", "", "",
        ]
      }
      let entries = day.entries.map { entry -> [CSVWriter.Cell] in
        var (sensor, note): (String, String) = ("", "")
        if case .sensor(let step) = entry.outcome { sensor = step.sensor.text }
        if case .program(let step) = entry.outcome { sensor = step.id.machine.text }
        note = Self.text(of: entry)
        return [
          .text("\(day.day)"), .text("\(entry.at)"), "entry", .text(sensor), "", "", "", "", "",
          .text(entry.who), .text(entry.status.rawValue),
          .text(entry.changes.map { "\($0.fruit) \($0.amount)" }.joined(separator: "; ")),
          .text(note),
        ]
      }
      return readings + entries
    }
  }
}

extension LedgerEntry {
  /// The sender, for the record.
  fileprivate var who: String { source?.description ?? "kiosk" }
}
