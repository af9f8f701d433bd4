import JuiceDomain

/// What was used hour by hour, and for how much of each hour it could be had.
struct HourlyDemand: Sendable {
  /// The first hour, on the wall; the others follow without a gap.
  let start: Int
  /// Glasses that were made in each hour.
  var glasses: [Double]
  /// How much of each hour lies within the history, from 0 to 1.
  var known: [Double]
  /// For how much of that the kiosk took orders, as far as the ledger says so.
  var open: [Double]
  var fruits: [Fruit.ID: FruitDemand] = [:]

  struct FruitDemand: Sendable {
    var used: [Double]
    /// For how much of each hour there was enough for a juice, from 0 to 1.
    var available: [Double]
    /// The least that a juice takes.
    let portion: Double
  }

  /// So many hours are looked back on.
  static let memory = 8 * 168

  /// The rate of each fruit, as it is known at the end of some hours.
  ///
  /// - Parameter end: so many hours are known; those of the last eight weeks count.
  func rates(upTo end: Int) -> [Fruit.ID: DemandRate] {
    let hours = max(0, end - Self.memory)..<end
    let open = sold(in: hours)
    return fruits.mapValues { fruit in
      DemandRate(
        used: fruit.used[hours], known: known[hours], open: open,
        available: fruit.available[hours], from: start + hours.lowerBound, portion: fruit.portion)
    }
  }

  /// For how much of each hour the kiosk sold: `open`, but for silences that tell of an outage.
  ///
  /// A stretch without a sale is one if ten glasses or more are usual in its hours of the week: of
  /// orders that come at random (a Poisson process) that happens once in e^10, which is 22,000. It
  /// must have ended: as long as it lasts, people may just not come any more.
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
