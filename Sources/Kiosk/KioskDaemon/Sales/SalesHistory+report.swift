import KioskCore
package import KioskProtocol
import TimeZones

extension SalesHistory {
  package func report(at now: Timestamp) -> SalesReport {
    let hoursOfToday = (0..<24).compactMap { hour in
      hours[today * 24 + hour].flatMap { $0.sales.isEmpty ? nil : $0.sales }
        .map { SalesReport.Hour(hour: hour, tally: $0) }
    }
    let tallies = reportedDays.compactMap { day -> SalesReport.Day? in
      let tally = tally(of: day)
      guard !tally.isEmpty else { return nil }
      return SalesReport.Day(day: CivilDate(daysSinceEpoch: Int64(day)), tally: tally)
    }
    return SalesReport(
      at: now, timeZone: wallClock.name,
      today: CivilDate(daysSinceEpoch: Int64(today)), hours: hoursOfToday, days: tallies,
      usual: usual(at: now))
  }

  package var lastServices: HistoryReport {
    HistoryReport(entries: services.filter { wallClock.day(at: $0.at) >= reportedDays.lowerBound })
  }

  private var reportedDays: ClosedRange<Int> { today - SalesReport.dayCount + 1...today }

  private func tally(of day: Int) -> SalesReport.Tally {
    (0..<24).reduce(into: SalesReport.Tally()) { sum, hour in
      if let hour = hours[day * 24 + hour] { sum += hour.sales }
    }
  }

  /// Returns the mean number of glasses made until this time on the same weekday of the past weeks
  /// in the history, or `nil` if there are none. Of the current hour, the elapsed part counts.
  private func usual(at now: Timestamp) -> Double? {
    let (hour, fraction) = (wallClock.hour(at: now), wallClock.fraction(at: now))
    let weeks = (1...Self.weekCount).filter { covers(hour: (today - 7 * $0) * 24) }
    guard !weeks.isEmpty else { return nil }
    var glasses = 0.0
    for week in weeks {
      let midnight = (today - 7 * week) * 24
      for past in midnight..<midnight + 24 where past <= hour - 168 * week {
        let made = hours[past]?.sales.glasses ?? 0
        glasses += Double(made) * (past == hour - 168 * week ? fraction : 1)
      }
    }
    return (glasses / Double(weeks.count) * 10).rounded() / 10
  }

  /// Maximum number of past weeks in the mean of `usual`.
  static let weekCount = 4

  /// Returns whether the history begins in an earlier hour.
  func covers(hour: Int) -> Bool { beginning.map { wallClock.hour(at: $0) < hour } ?? false }
}
