/// The expected use of a fruit: a Poisson rate for each hour of the week, times a level that
/// follows the last days.
///
/// The result of each step except the first is the posterior mean of a rate with a Gamma prior. It
/// combines the observations with an expectation that has a given weight (`posterior`). Each step
/// uses the results of earlier steps:
///
/// 1. The mean of all hours.
/// 2. The mean of each hour of the day; expected to be the mean of all hours.
/// 3. The factor of each weekday; expected to be 1.
/// 4. The rate of each hour of the week; expected to be the mean of its hour of the day times the
///    factor of its weekday.
/// 5. The level: the use of the last days divided by the use at these rates; expected to be 1.
///
/// An hour weighs 9/10 of the same hour one week later; for the level, half of the same hour five
/// days later. Hours count in proportion to the time in which the kiosk could sell the fruit.
///
/// The model is the steady model with Poisson observations of A. C. Harvey and C. Fernandes, "Time
/// series models for count or qualitative observations" (1989), with a season.
/// [deploy/docs/forecast.md] contains the formulas and the measured errors.
struct DemandRate: Sendable {
  /// The amount of the fruit used per hour, by hour of the week. The week begins on Thursday, as
  /// 1970-01-01 was a Thursday.
  private var rates = [Double](repeating: 0, count: Self.week)
  private var level = 1.0

  private static let week = 168
  /// The weight of an hour relative to the next hour.
  private static let decay = 0.999_373  // 9/10 in a week
  private static let levelDecay = 0.994_240  // 1/2 in five days
  /// The weight of the prior for an hour of the day and for a weekday, in days.
  private static let prior = 0.25
  /// The weight of the prior for an hour of the week, in weeks.
  private static let hourPrior = 4.0
  /// The weight of the prior for the level, in portions of the fruit.
  private static let levelPrior = 30.0

  /// Computes the rates and the level from the past hours.
  ///
  /// - Parameters:
  ///   - used: The amount of the fruit used in each hour. The last hour is the current one.
  ///   - known: The fraction of each hour that lies within the history, from 0 to 1.
  ///   - open: The fraction of each hour in which the kiosk sold, at most `known`.
  ///   - available: The fraction of each hour in which the fruit was available.
  ///   - start: The first hour, in local time; see `WallClock`.
  ///   - portion: The smallest amount of the fruit in the recipe of a juice.
  init(
    used: ArraySlice<Double>, known: ArraySlice<Double>, open: [Double],
    available: ArraySlice<Double>, from start: Int, portion: Double
  ) {
    var all = Observation()
    var (days, weekdays) = (
      [Observation](repeating: Observation(), count: 24),
      [Observation](repeating: Observation(), count: 7)
    )
    var cells = [Observation](repeating: Observation(), count: Self.week)
    var opening = [(known: Double, open: Double)](repeating: (0, 0), count: Self.week)
    let hours = zip(zip(used, known), zip(open, available)).map {
      (used: $0.0, known: $0.1, open: $1.0, exposure: $1.0 * $1.1)
    }
    var weight = 1.0
    for (index, hour) in hours.enumerated().reversed() {
      let cell = Self.cell(start + index)
      let seen = Observation(used: weight * hour.used, hours: weight * hour.exposure)
      all += seen
      days[cell % 24] += seen
      cells[cell] += seen
      opening[cell].known += hour.known
      opening[cell].open += hour.open
      weight *= Self.decay
    }
    guard all.used > 0, all.hours > 0 else { return }
    let mean = all.used / all.hours
    let ofDay = days.map { $0.posterior(expected: mean, worth: Self.prior) }
    for cell in cells.indices {
      weekdays[cell / 24] += Observation(
        used: cells[cell].used, hours: cells[cell].hours * ofDay[cell % 24])
    }
    let ofWeekday = weekdays.map { $0.posterior(expected: 1, worth: Self.prior * 24 * mean) }
    // An hour of the week in which the kiosk was open for less than 1/60 of the time counts as
    // closed.
    for cell in cells.indices where opening[cell].open * 60 >= opening[cell].known {
      rates[cell] = cells[cell].posterior(
        expected: ofDay[cell % 24] * ofWeekday[cell / 24], worth: Self.hourPrior)
    }
    var recent = Observation()
    weight = 1
    for (index, hour) in hours.enumerated().reversed() {
      let expected = hour.exposure * rates[Self.cell(start + index)]
      recent += Observation(used: weight * hour.used, hours: weight * expected)
      weight *= Self.levelDecay
    }
    level = recent.posterior(expected: 1, worth: Self.levelPrior * portion)
  }

  /// Returns the amount of the fruit that is expected to be used in an hour of local time.
  func use(in hour: Int) -> Double { rates[Self.cell(hour)] * level }

  private static func cell(_ hour: Int) -> Int { (hour % week + week) % week }

  private struct Observation {
    var used = 0.0
    var hours = 0.0

    static func += (left: inout Self, right: Self) {
      left.used += right.used
      left.hours += right.hours
    }

    /// Returns the posterior mean of the rate. `weight` is the weight of the expectation, in the unit of `hours`.
    func posterior(expected: Double, worth weight: Double) -> Double {
      (used + weight * expected) / (hours + weight)
    }
  }
}
