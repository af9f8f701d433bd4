import JuiceDomain
import KioskCore
import KioskProtocol
import TimeZones

@testable import KioskDaemon

/// Measures the errors of past forecasts, beside those of two simple predictors.
///
/// Every six hours, from the eighth day on, a forecast is computed from the data known at that
/// time. Its expected use of the following hours is compared with the actual use. Hours in which
/// the kiosk did not sell or did not have the fruit count neither as actual nor as expected use. No
/// forecast is computed while the kiosk does not sell.
struct Backtest: Sendable {
  /// The days of the first and of the last forecast.
  let from: CivilDate
  let to: CivilDate
  /// The horizons in ascending order.
  let horizons: [Horizon]

  struct Horizon: Sendable {
    /// The length in hours.
    let hours: Int
    /// The number of forecasts measured.
    let count: Int
    fileprivate(set) var fruits: [Fruit.ID: Errors] = [:]

    /// The sum of the errors of all fruits.
    var all: Errors { fruits.values.reduce(into: Errors()) { $0 += $1 } }
  }

  /// Means over all forecasts: the amount used, and the absolute error of each predictor.
  struct Errors: Sendable {
    var used = 0.0
    var forecast = 0.0
    /// The error of predicting the use of the same hours one week before.
    var lastWeek = 0.0
    /// The error of predicting the mean use per hour of the weeks that the forecast reads.
    var mean = 0.0
  }

  /// - Parameters:
  ///   - demand: The demand up to the current hour, which is ignored.
  ///   - step: The number of hours between two forecasts.
  /// - Returns: The errors, or `nil` for less than two weeks: one to learn from, and one to compare
  ///   with.
  init?(_ demand: HourlyDemand, every step: Int) {
    let count = demand.glasses.count - 1
    let sold = demand.sold(in: 0..<max(0, count))
    let midnight = (Self.week + 23 + demand.start) / 24 * 24 - demand.start
    let origins = stride(from: midnight, through: count - Self.week, by: step)
      .filter { sold[$0] > 0 }
    guard let first = origins.first, let last = origins.last else { return nil }
    var horizons = [6, 24, 72, Self.week].map { Horizon(hours: $0, count: origins.count) }
    for origin in origins {
      let rates = demand.rates(upTo: origin)
      for (id, fruit) in demand.fruits {
        let past = fruit.used[max(0, origin - HourlyDemand.memory)..<origin]
        let mean = past.reduce(0, +) / Double(past.count)
        var sum = Errors()
        for ahead in 0..<Self.week {
          let hour = origin + ahead
          let share = sold[hour] * fruit.available[hour]
          sum.used += fruit.used[hour]
          sum.forecast += share * (rates[id]?.use(in: demand.start + hour) ?? 0)
          sum.lastWeek += share * fruit.used[hour - Self.week]
          sum.mean += share * mean
          guard let index = horizons.firstIndex(where: { $0.hours == ahead + 1 }) else { continue }
          horizons[index].fruits[id, default: Errors()] += sum.errors(of: origins.count)
        }
      }
    }
    self.horizons = horizons
    func day(_ origin: Int) -> CivilDate {
      CivilDate(daysSinceEpoch: Int64(WallClock.day(of: demand.start + origin)))
    }
    (from, to) = (day(first), day(last))
  }

  private static let week = 168
}

extension Backtest.Errors {
  /// Returns the contribution of one forecast, given its sums, to the means over `count` forecasts.
  fileprivate func errors(of count: Int) -> Self {
    var errors = Self()
    errors.used = used / Double(count)
    errors.forecast = abs(forecast - used) / Double(count)
    errors.lastWeek = abs(lastWeek - used) / Double(count)
    errors.mean = abs(mean - used) / Double(count)
    return errors
  }

  fileprivate static func += (left: inout Self, right: Self) {
    left.used += right.used
    left.forecast += right.forecast
    left.lastWeek += right.lastWeek
    left.mean += right.mean
  }
}

extension SalesHistory {
  /// The maximum number of days that a backtest reads: five years.
  static let longest = 5 * 366

  /// Measures the errors of past forecasts.
  ///
  /// - Parameters:
  ///   - stock: The current stock.
  ///   - step: The number of hours between two forecasts. The first one is at midnight.
  /// - Returns: The errors, or `nil` if the history is shorter than two weeks.
  func backtest(
    stock: FruitAmounts, at now: Timestamp, every step: Int = 6
  ) -> Backtest? {
    demand(stock: stock, at: now).flatMap { Backtest($0, every: step) }
  }
}
