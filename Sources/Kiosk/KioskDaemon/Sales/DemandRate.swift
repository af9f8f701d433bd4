/// How fast a fruit goes: a Poisson rate for each hour of the week, and a level that the last days
/// have.
///
/// Each number is the mean of a rate whose prior is a Gamma distribution: what was seen, and what was
/// expected before anything was seen, which weighs as much as so many hours (`posterior`). What one
/// step has found is what the next one expects:
///
/// 1. the mean of all hours,
/// 2. the mean of each hour of the day, expected to be that of all;
/// 3. how a weekday stands to the mean of all, expected to be 1;
/// 4. the rate of each hour of the week, expected to be that of its hour of the day, times its weekday;
/// 5. the level: what the last days have used, of what these rates say; expected to be 1.
///
/// An hour weighs 9/10 of the same hour a week later; for the level, half of the same hour five days
/// later. Hours count as far as the fruit could be had.
///
/// The steady model with Poisson observations of A. C. Harvey and C. Fernandes, "Time series models for
/// count or qualitative observations" (1989), with a season. [deploy/docs/forecast.md] has the formulas,
/// and how large the errors are.
struct DemandRate: Sendable {
  /// By hour of the week, from the Thursday on with which 1970 began.
  private var rates = [Double](repeating: 0, count: Self.week)
  private var level = 1.0

  private static let week = 168
  /// An hour later, an hour weighs so much less.
  private static let decay = 0.999_373  // 9/10 in a week
  private static let levelDecay = 0.994_240  // 1/2 in five days
  /// What is expected of an hour of the day and of a weekday weighs so many days,
  private static let prior = 0.25
  /// of an hour of the week, so many weeks,
  private static let hourPrior = 4.0
  /// and of the level, so many portions of the fruit.
  private static let levelPrior = 30.0

  /// - Parameters:
  ///   - used: in each hour, the last one the present.
  ///   - known: how much of each hour lies within the history, from 0 to 1.
  ///   - open: for how much of that the kiosk sold.
  ///   - available: for how much of an hour the fruit could be had.
  ///   - start: the first hour, on the wall.
  ///   - portion: the least that a juice takes.
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
    // An hour that was closed in every week, but for a minute, is none in which the kiosk sells.
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

  /// What is expected to be used in an hour of the wall.
  func use(in hour: Int) -> Double { rates[Self.cell(hour)] * level }

  private static func cell(_ hour: Int) -> Int { (hour % week + week) % week }

  private struct Observation {
    var used = 0.0
    var hours = 0.0

    static func += (left: inout Self, right: Self) {
      left.used += right.used
      left.hours += right.hours
    }

    /// The mean of the rate, if so many hours of what is expected are seen besides.
    func posterior(expected: Double, worth weight: Double) -> Double {
      (used + weight * expected) / (hours + weight)
    }
  }
}
