import JuiceDomain

/// The use of each fruit by hour, and the fraction of each hour in which it was available.
struct HourlyDemand: Sendable {
  /// The first hour, in local time; see `WallClock`. The arrays contain consecutive hours.
  let start: Int
  /// Glasses made in each hour.
  var glasses: [Double]
  /// The fraction of each hour that lies within the history, from 0 to 1.
  var known: [Double]
  /// The fraction of each hour in which no service command had closed the kiosk, at most `known`. Time
  /// outside the opening hours counts as open.
  var open: [Double]
  var fruits: [Fruit.ID: FruitDemand] = [:]

  struct FruitDemand: Sendable {
    var used: [Double]
    /// The fraction of each hour in which the stock sufficed for `portion`: 0, 0.5 or 1.
    var available: [Double]
    /// The smallest amount of the fruit in the recipe of a juice, or 1 if no recipe contains the fruit.
    let portion: Double
  }

  /// The number of hours that a forecast reads: eight weeks.
  static let memory = 8 * 168

  /// Returns the rate of each fruit, computed from the last eight weeks before `end`.
  ///
  /// - Parameter end: The index after the last hour to use.
  func rates(upTo end: Int) -> [Fruit.ID: DemandRate] {
    let hours = max(0, end - Self.memory)..<end
    let open = sold(in: hours)
    return fruits.mapValues { fruit in
      DemandRate(
        used: fruit.used[hours], known: known[hours], open: open,
        available: fruit.available[hours], from: start + hours.lowerBound, portion: fruit.portion)
    }
  }

  /// Returns the fraction of each hour in which the kiosk sold: `open`, or 0 during an outage.
  ///
  /// A period without a sale counts as an outage if ten or more glasses are usual in its hours of
  /// the week. With random orders (a Poisson process) such a period has a probability of 1 in e^10,
  /// which is 22,000. Only a period that has ended with a sale counts: until then, the cause may
  /// also be that there are no customers.
  func sold(in hours: Range<Int>) -> [Double] {
    var usual = [(glasses: Double, weeks: Double)](repeating: (0, 0), count: 168)
    for hour in hours {
      usual[hour % 168].glasses += glasses[hour]
      usual[hour % 168].weeks += 1
    }
    var sold = Array(open[hours])
    var (silence, expected) = (hours.lowerBound, 0.0)
    for hour in hours {
      guard glasses[hour] > 0 else {
        expected += usual[hour % 168].glasses / usual[hour % 168].weeks
        continue
      }
      if expected >= 10 {
        for silent in silence..<hour { sold[silent - hours.lowerBound] = 0 }
      }
      (silence, expected) = (hour + 1, 0)
    }
    return sold
  }
}
