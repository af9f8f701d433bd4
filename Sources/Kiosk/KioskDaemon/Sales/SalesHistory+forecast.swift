package import JuiceDomain
import KioskCore
package import KioskProtocol
import TimeZones

extension SalesHistory {
  /// Returns the expected use of each fruit, and the time at which its stock is used up.
  ///
  /// `DemandRate` gives the expected use of each following hour. The stock is used up when the sum
  /// of the use reaches it. With less than one hour of history the report contains no expectations.
  ///
  /// - Parameters:
  ///   - stock: The current stock.
  ///   - expires: The amounts that expire, by fruit.
  package func forecast(
    stock: FruitAmounts, expires: [Fruit.ID: [ForecastReport.Outlook.Expiry]] = [:],
    at now: Timestamp
  ) -> ForecastReport {
    var report = ForecastReport(
      at: now,
      fruits: Dictionary(
        uniqueKeysWithValues: stock.map {
          ($0.fruit, .init(stock: $0.amount, expires: expires[$0.fruit] ?? []))
        }))
    guard let beginning, now.milliseconds - beginning.milliseconds >= 3_600_000,
      let demand = demand(stock: stock, at: now)
    else { return report }
    let steps = steps(from: now)
    for (fruit, rate) in demand.rates(upTo: demand.glasses.count) {
      let (amount, use) = (stock[fruit] ?? 0, steps.map { rate.use(in: $0.hour) * $0.length })
      var pieces = [Double](repeating: 0, count: ForecastReport.Outlook.pieceCount)
      for (step, use) in zip(steps, use) { pieces[step.piece] += use }
      report.fruits[fruit] = ForecastReport.Outlook(
        stock: amount, perHour: (rate.use(in: wallClock.hour(at: now)) * 100).rounded() / 100,
        emptyAt: empty(amount, at: now, steps, use), use: pieces.map { ($0 * 10).rounded() / 10 },
        expires: expires[fruit] ?? [])
    }
    return report
  }

  /// A part of the following week that lies within one hour of local time and one interval of the
  /// report.
  private struct Step {
    let hour: Int
    let piece: Int
    /// The start, in hours from now.
    let ahead: Double
    /// The length in hours.
    let length: Double
  }

  private func steps(from now: Timestamp) -> [Step] {
    let piece = ForecastReport.Outlook.pieceLength
    var (steps, ahead): ([Step], Int64) = ([], 0)
    while ahead < piece * Int64(ForecastReport.Outlook.pieceCount) {
      let time = Timestamp(milliseconds: now.milliseconds + ahead)
      let untilHour = Int64(((1 - wallClock.fraction(at: time)) * 3_600_000).rounded(.up))
      let length = min(untilHour, piece - ahead % piece)
      steps.append(
        Step(
          hour: wallClock.hour(at: time), piece: Int(ahead / piece),
          ahead: Double(ahead) / 3_600_000, length: Double(length) / 3_600_000))
      ahead += length
    }
    return steps
  }

  /// Returns the time at which the stock is used up, rounded to the minute; or `nil` if the stock
  /// is 0, or lasts for all steps.
  private func empty(
    _ amount: Int, at now: Timestamp, _ steps: [Step], _ use: [Double]
  ) -> Timestamp? {
    guard amount > 0 else { return nil }
    var left = Double(amount)
    for (step, use) in zip(steps, use) {
      guard use >= left else {
        left -= use
        continue
      }
      let minutes = ((step.ahead + step.length * left / use) * 60).rounded()
      return Timestamp(milliseconds: (now.milliseconds / 60_000 + Int64(minutes)) * 60_000)
    }
    return nil
  }
}
