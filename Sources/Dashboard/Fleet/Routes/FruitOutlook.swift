import JuiceDomain
import KioskProtocol

/// The expected use and expiry of one fruit's stock at a kiosk, from the latest time at which the stock
/// is known.
struct FruitOutlook {
  /// The current stock.
  let held: Int
  /// The latest time at which the stock is known: sales since the kiosk went offline are unknown.
  let start: Timestamp
  /// The time of the forecast.
  fileprivate let forecastAt: Timestamp
  /// The forecast, or `nil` if there is none.
  fileprivate let forecast: ForecastReport.Outlook?
  /// The parts of the stock that expire, the earliest first.
  fileprivate let expiries: [ForecastReport.Outlook.Expiry]

  /// Returns the expected use, or `nil` if there is no forecast. Use before the time of the forecast
  /// does not count.
  func use(from start: Timestamp, until end: Timestamp) -> Double? {
    guard let forecast, let first = forecast.use(until: start, from: forecastAt),
      let last = forecast.use(until: end, from: forecastAt)
    else { return nil }
    return max(0, last - first)
  }

  /// Returns the amount of the stock that expires unsold until a time. Without a forecast, nothing
  /// is sold. Orders take fruit without a date first, and then the fruit that expires first.
  func expired(until end: Timestamp) -> Int {
    if expiries.isEmpty { return 0 }
    var left = expiries.map { Double($0.amount) }
    var undated = Double(held) - left.reduce(0, +)
    var (expired, sold) = (0.0, 0.0)
    for (index, expiry) in expiries.enumerated() where expiry.at <= end {
      let demand = use(from: start, until: expiry.at) ?? 0
      var need = demand - sold
      sold = demand
      // Fruit that was sold since the forecast makes `undated` negative.
      let part = min(undated, need)
      (undated, need) = (undated - part, need - part)
      for other in index..<left.count where need > 0 {
        let part = min(left[other], need)
        (left[other], need) = (left[other] - part, need - part)
      }
      expired += left[index]
      left[index] = 0
    }
    return min(held, Int(expired.rounded(.up)))
  }

  /// Returns the expected stock at `start`, and after each visit: its time, its amount, and how much
  /// of the current stock has expired until then.
  func following(
    _ visits: [RouteVisit], of fruit: Fruit.ID, capacity: Int?
  ) -> [(at: Timestamp, amount: Int, expired: Int)] {
    visits.reduce(into: [(at: start, amount: held, expired: 0)]) { stocks, visit in
      let before = stocks[stocks.count - 1]
      let gone = expired(until: visit.at)
      let used = Int((use(from: before.at, until: visit.at) ?? 0).rounded())
      let rest = max(0, before.amount - (gone - before.expired) - used)
      let amount = rest + (visit.bring[fruit] ?? 0)
      stocks.append((visit.at, max(rest, min(amount, capacity ?? amount)), gone))
    }
  }
}

extension KioskState {
  /// Returns the outlook of a fruit.
  ///
  /// - Parameter held: The current stock.
  func outlook(of fruit: Fruit.ID, held: Int, at now: Timestamp) -> FruitOutlook {
    let start = isOnline ? now : min(now, reports.stock?.at ?? now)
    let forecasts = forecast
    let forecast = forecasts?.fruits[fruit]
    var expiries: [ForecastReport.Outlook.Expiry] = []
    if let next = reports.stock?.expires[fruit] {
      // The report of the stock may be newer than the forecast.
      expiries = (forecast?.expires ?? []).filter { $0.at > start }
      // Before the first forecast only the next time is known.
      if expiries.isEmpty, next > start { expiries = [.init(at: next, amount: held)] }
    }
    return FruitOutlook(
      held: held, start: start, forecastAt: forecasts?.at ?? start, forecast: forecast,
      expiries: expiries)
  }
}
