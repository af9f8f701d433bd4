import JuiceDomain
import KioskCore
import KioskProtocol
import TimeZones

extension SalesHistory {
  /// Returns the demand up to now, or `nil` if the history has no entry before now.
  ///
  /// The past stock is computed backwards from the current stock. A fruit that was available at
  /// only one end of an hour counts as available for half of it.
  ///
  /// - Parameter stock: The current stock.
  func demand(stock: FruitAmounts, at now: Timestamp) -> HourlyDemand? {
    guard let beginning, beginning <= now else { return nil }
    let known = WallSpan(beginning, now, on: wallClock)
    let (first, last) = (max(known.hours.lowerBound, days.lowerBound * 24), known.hours.upperBound)
    guard first <= last else { return nil }
    let range = first...last
    var history = self
    if let closedAt { history.close(from: closedAt, to: now) }
    let hours = range.map { history.hours[$0] }
    let shares = range.map(known.share)
    var demand = HourlyDemand(
      start: range.lowerBound, glasses: hours.map { Double($0?.sales.glasses ?? 0) },
      known: shares, open: zip(shares, hours).map { max(0, $0 - ($1?.closed ?? 0)) })
    for (fruit, amount) in stock {
      let portion = menu.juices.compactMap { $0.recipe.amounts[fruit] }.min() ?? 1
      var demanded = HourlyDemand.FruitDemand(
        used: hours.map { Double($0?.used[fruit] ?? 0) }, available: hours.map { _ in 0 },
        portion: Double(portion))
      var (left, isThere) = (Double(amount), amount >= portion)
      for index in hours.indices.reversed() {
        left += demanded.used[index] - Double(hours[index]?.added[fruit] ?? 0)
        let wasThere = left >= Double(portion)
        demanded.available[index] = (isThere ? 0.5 : 0) + (wasThere ? 0.5 : 0)
        isThere = wasThere
        // More fruit may have been returned in an hour than used.
        demanded.used[index] = max(0, demanded.used[index])
      }
      demand.fruits[fruit] = demanded
    }
    return demand
  }
}

/// The hours of local time between two timestamps.
struct WallSpan {
  private let start: Double
  private let end: Double

  /// Creates the span from `start` to `end`.
  ///
  /// - Parameter end: Not before `start`. The span is empty if the local time of `end` is earlier
  ///   nevertheless, because the UTC offset has changed in between.
  init(_ start: Timestamp, _ end: Timestamp, on wallClock: WallClock) {
    func position(_ time: Timestamp) -> Double {
      Double(wallClock.hour(at: time)) + wallClock.fraction(at: time)
    }
    self.start = position(start)
    self.end = max(self.start, position(end))
  }

  /// The hours that the span overlaps, at least the one in which it starts.
  var hours: ClosedRange<Int> {
    let first = Int(start.rounded(.down))
    return first...max(first, Int(end.rounded(.up)) - 1)
  }

  /// Returns the fraction of an hour that lies within the span.
  func share(of hour: Int) -> Double {
    max(0, min(end, Double(hour + 1)) - max(start, Double(hour)))
  }
}
