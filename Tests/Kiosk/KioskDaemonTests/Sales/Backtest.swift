import JuiceDomain
import KioskCore
import KioskProtocol

@testable import KioskDaemon

/// How far past forecasts were from what sold, beside two that take no thought.
///
/// Every six hours, from the eighth day on, the forecast is made from what was known then, and what it
/// expects of the hours that followed is compared with what they used. Hours in which the kiosk did not
/// sell, or had none of the fruit, count neither for what was used nor for what was expected; nothing
/// is forecast while the kiosk does not sell.
struct Backtest: Sendable {
  /// When the first and the last forecast were made.
  let from: CivilDate
  let to: CivilDate
  /// The shortest first.
  let horizons: [Horizon]

  struct Horizon: Sendable {
    /// How far ahead.
    let hours: Int
    /// How many forecasts were judged.
    let count: Int
    fileprivate(set) var fruits: [Fruit.ID: Errors] = [:]

    /// Of all fruits, added up.
    var all: Errors { fruits.values.reduce(into: Errors()) { $0 += $1 } }
  }

  /// Means over all forecasts: what was used, and how far from it each expectation was.
  struct Errors: Sendable {
    var used = 0.0
    var forecast = 0.0
    /// The same hours of the week before.
    var lastWeek = 0.0
    /// What an hour has used, on average over the weeks that the forecast looks back on.
    var mean = 0.0
  }

  /// - Parameters:
  ///   - demand: up to the running hour, which is left out.
  ///   - step: so many hours lie between two forecasts.
  /// - Returns: `nil` with less than two weeks: one to learn from, and one to be compared with.
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
  /// What these sums of one forecast contribute to the means of so many.
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
  /// As many days as a backtest looks back on at most: five years.
  static let longest = 5 * 366

  /// - Parameters:
  ///   - stock: what there is now.
  ///   - step: so many hours lie between two forecasts, of which the first is made at midnight.
  /// - Returns: `nil` with less than two weeks of history.
  func backtest(
    stock: FruitAmounts, at now: Timestamp, every step: Int = 6
  ) -> Backtest? {
    demand(stock: stock, at: now).flatMap { Backtest($0, every: step) }
  }
}
