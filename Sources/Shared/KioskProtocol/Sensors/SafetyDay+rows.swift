package import JuiceDomain

// The record as a table, for CSV and for people.
extension SafetyDay {
  package static let header = [
    "local_day", "time_utc", "kind", "name", "unit", "min", "max", "minutes_outside",
    "minutes_measured",
    "who", "status", "changes", "note",
  ]
  /// The columns of `rows` that contain numbers, counted from 0.
  package static let numberColumns = 5...8

  package static let shortenedNote = "there is more: see juice-kiosk ledger export"

  /// The row of a day that is not whole.
  package static func incompleteRow(_ day: CivilDate, _ note: String) -> [String] {
    ["\(day)", "", "incomplete"] + Array(repeating: "", count: header.count - 4) + [note]
  }

  /// A row for each sensor and for each entry, and one if the day is not whole, with the columns of
  /// `header`.
  ///
  /// - Parameter bestBefore: Formats the time at which fruit expires; the default is UTC.
  package func rows(bestBefore: (Timestamp) -> String = { $0.description }) -> [[String]] {
    let readings = sensors.map { sensor in
      [
        "\(day)", "", "readings", sensor.name.text, sensor.unit.rawValue,
        sensor.low?.decimalText ?? "", sensor.high?.decimalText ?? "",
        "\(sensor.secondsOutside / 60)", "\(sensor.secondsMeasured / 60)", "", "", "", "",
      ]
    }
    return readings
      + entries.map { entry in
        [
          "\(day)", "\(entry.at)", "entry", entry.safetySubject, "", "", "",
          entry.minutesOutsideInGap, "",
          entry.safetySender, entry.status.rawValue,
          entry.changes.map { "\($0.fruit) \($0.amount)" }.joined(separator: "; "),
          entry.safetyText(bestBefore: bestBefore),
        ]
      } + (isShortened ? [Self.incompleteRow(day, Self.shortenedNote)] : [])
  }

  /// The fruit that people have taken out, as far as `entries` show.
  package var waste: FruitAmounts {
    entries.reduce(into: FruitAmounts()) { waste, entry in
      if let removal = entry.outcome.removal { waste += removal.amounts }
    }
  }
}

extension LedgerEntry {
  /// The sender of the command, or `kiosk` for the kiosk's own entries.
  fileprivate var safetySender: String { source?.description ?? "kiosk" }

  /// The sensor or the machine that the entry is about; empty if there is none.
  fileprivate var safetySubject: String {
    switch outcome {
    case .sensor(let step): step.sensor.text
    case .program(let step): step.id.machine.text
    default: ""
    }
  }

  /// The part of a gap that counts as outside the limits, in minutes; empty for other entries.
  fileprivate var minutesOutsideInGap: String {
    guard case .sensor(let step) = outcome, let seconds = step.outsideInGap else { return "" }
    return "\(seconds / 60)"
  }

  /// Returns the content of the entry in words.
  ///
  /// - Parameter bestBefore: Formats the time at which fruit expires; the default is UTC.
  package func safetyText(bestBefore: (Timestamp) -> String = { $0.description }) -> String {
    var parts: [String] = []
    switch outcome {
    case .sensor(let step): parts.append(step.summary)
    case .decided(_, let job, _): parts.append("job \(job)")
    case .program(let step):
      parts += ["\(step.id.machine) \(step.id.program.rawValue)", step.reason].compactMap(\.self)
    case .removed(let removal): parts.append(removal.summary)
    default: break
    }
    if !changes.isEmpty { parts.append(changesText(bestBefore: bestBefore)) }
    return parts.joined(separator: ", ")
  }

  /// Returns the changes of the stock in words.
  package func changesText(bestBefore: (Timestamp) -> String) -> String {
    changes.map { fruit, amount in
      let expires = batches.first { $0.id.fruit == fruit }?.expires
      return "\(fruit) \(amount)" + (expires.map { " best before \(bestBefore($0))" } ?? "")
    }.joined(separator: ", ")
  }
}
