package import JuiceDomain
import KioskCore
package import KioskMessages

extension SalesHistory {
  /// How fast each fruit goes, and when it will be gone.
  ///
  /// In an hour that lies `h` hours ahead, a fruit is expected to be used like this:
  ///
  ///     (weeks * usual + weight * recent) / (weeks + weight),    weight = 3 / (3 + h)
  ///
  /// - `usual` is what was used in the same hour of the same weekday, on average over the last four
  ///   weeks, of which `weeks` lie within the history.
  /// - `recent` is what was used in an hour, on average over the last three full hours and the
  ///   running one, as far as they lie within the history.
  ///
  /// So the last hours count as much as one week for the next hour, half as much in three hours, and
  /// for tomorrow hardly; in the first week, alone. The fruit is gone when what is expected adds up
  /// to the stock. With less than an hour of history nothing is known.
  ///
  /// An hour in which the kiosk was closed, or out of the fruit, counts as one that used none.
  package func forecast(stock: FruitAmounts, at now: Timestamp) -> ForecastReport {
    let (hour, fraction) = (wall.hour(at: now), wall.fraction(at: now))
    let steps = steps(from: now)
    var report = ForecastReport(at: now, fruits: [:])
    let elapsed = beginning.map { Double(now.milliseconds - $0.milliseconds) / 3_600_000 } ?? 0
    for (fruit, amount) in stock {
      report.fruits[fruit] = ForecastReport.Outlook(stock: amount)
      guard elapsed >= 1 else { continue }
      let recent =
        Double((hour - 3...hour).reduce(0) { $0 + used(fruit, in: $1) })
        / min(3 + fraction, elapsed)
      func expected(_ step: Step) -> Double {
        let usual = step.past.reduce(0) { $0 + used(fruit, in: $1) }
        let weight = 3 / (3 + step.ahead)
        return (Double(usual) + weight * recent) / (Double(step.past.count) + weight)
      }
      report.fruits[fruit] = ForecastReport.Outlook(
        stock: amount, perHour: (expected(steps[0]) * 100).rounded() / 100,
        emptyAt: empty(amount, at: now, steps, expected), use: use(steps, expected))
    }
    return report
  }

  /// A piece of the future within one hour of the wall.
  private struct Step {
    /// The same hours of the weeks before, as far as they are known.
    let past: [Int]
    /// In hours from now; so is `length`.
    let ahead: Double
    let length: Double
  }

  /// The next week.
  private func steps(from now: Timestamp) -> [Step] {
    var steps: [Step] = []
    var ahead = 0.0
    while ahead < 168 {
      let time = Timestamp(milliseconds: now.milliseconds + Int64((ahead * 3_600_000).rounded()))
      let (hour, length) = (wall.hour(at: time), 1 - wall.fraction(at: time))
      let past = (1...Self.weekCount).map { hour - 168 * $0 }.filter(knows)
      steps.append(Step(past: past, ahead: ahead, length: length))
      ahead += length
    }
    return steps
  }

  /// To the minute; `nil` if it is gone already, or not within the steps.
  private func empty(
    _ amount: Int, at now: Timestamp, _ steps: [Step], _ expected: (Step) -> Double
  ) -> Timestamp? {
    guard amount > 0 else { return nil }
    var left = Double(amount)
    for step in steps {
      let perHour = expected(step)
      guard perHour * step.length >= left else {
        left -= perHour * step.length
        continue
      }
      let minutes = ((step.ahead + left / perHour) * 60).rounded()
      return Timestamp(milliseconds: (now.milliseconds / 60_000 + Int64(minutes)) * 60_000)
    }
    return nil
  }

  /// In each six hours of the steps, rounded to tenths.
  private func use(_ steps: [Step], _ expected: (Step) -> Double) -> [Double] {
    let length = Double(ForecastReport.Outlook.pieceLength) / 3_600_000
    var use = Array(repeating: 0.0, count: ForecastReport.Outlook.pieceCount)
    for step in steps {
      let perHour = expected(step)
      // An hour of the wall may lie in two pieces.
      for piece in use.indices {
        let (start, end) = (Double(piece) * length, Double(piece + 1) * length)
        use[piece] += perHour * max(0, min(end, step.ahead + step.length) - max(start, step.ahead))
      }
    }
    return use.map { ($0 * 10).rounded() / 10 }
  }

  private func used(_ fruit: Fruit.ID, in hour: Int) -> Int { hours[hour]?.used[fruit] ?? 0 }
}
