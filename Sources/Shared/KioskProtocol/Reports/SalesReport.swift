package import JuiceDomain

/// The sales of a kiosk: today by hour and the last days by day, in the kiosk's time zone.
///
/// Hours and days with an empty tally are omitted. When daylight saving time ends, the repeated
/// hour has one element with the tally of both occurrences.
package struct SalesReport: Hashable, Sendable {
  /// Maximum number of days, including today.
  package static let dayCount = 30

  package var at: Timestamp
  /// The name of the kiosk's time zone in the IANA database: `Asia/Seoul`.
  package var timeZone: String
  package var today: CivilDate
  /// The hours of today, in order.
  package var hours: [Hour]
  /// The days in order; the last one may be today.
  package var days: [Day]
  /// The usual number of glasses on this weekday up to this time of day, or `nil` if there is too
  /// little history.
  package var usual: Double?

  package init(
    at: Timestamp, timeZone: String, today: CivilDate, hours: [Hour] = [], days: [Day] = [],
    usual: Double? = nil
  ) {
    self.at = at
    self.timeZone = timeZone
    self.today = today
    self.hours = hours
    self.days = days
    self.usual = usual
  }

  /// The mean number of glasses on the days from the first one to yesterday, or `nil` without such a
  /// day.
  package var usualGlasses: Double? {
    let earlier = days.filter { $0.day != today }
    guard let first = earlier.first else { return nil }
    let span = max(1, today.daysSinceEpoch - first.day.daysSinceEpoch)
    return earlier.reduce(0) { $0 + Double($1.tally.glasses) } / Double(span)
  }

  package struct Hour: Hashable, Sendable {
    /// The hour, from 0 to 23.
    package let hour: Int
    package let tally: Tally

    package init(hour: Int, tally: Tally) {
      self.hour = hour
      self.tally = tally
    }
  }

  package struct Day: Hashable, Sendable {
    package let day: CivilDate
    package let tally: Tally

    package init(day: CivilDate, tally: Tally) {
      self.day = day
      self.tally = tally
    }
  }

  /// The numbers of glasses and orders of a period, its takings and its waste.
  package struct Tally: Hashable, Sendable {
    /// The number of glasses made, by juice.
    package var made: [Juice.ID: Int] = [:]
    /// The number of orders that were out of stock, by juice.
    package var outOfStock: [Juice.ID: Int] = [:]
    /// The number of orders that were rejected, by juice.
    package var rejected: [Juice.ID: Int] = [:]
    /// The number of rejected orders without a juice of the menu.
    package var unnamed = 0
    /// The takings for `made`, and for the glasses that were made before an order failed.
    package var takings = Takings()
    /// The fruit that people have taken out of the kiosk.
    package var waste = Waste()

    package init() {}

    package var isEmpty: Bool { self == Tally() }

    /// The number of glasses made of all juices.
    package var glasses: Int { made.values.reduce(0, +) }

    /// The juices with at least one glass or order, sorted by id.
    package var juices: [Juice.ID] {
      Set(made.keys).union(outOfStock.keys).union(rejected.keys).sorted()
    }

    package static func += (left: inout Self, right: Self) {
      left.made.merge(right.made, uniquingKeysWith: +)
      left.outOfStock.merge(right.outOfStock, uniquingKeysWith: +)
      left.rejected.merge(right.rejected, uniquingKeysWith: +)
      left.unnamed += right.unnamed
      left.takings += right.takings
      left.waste += right.waste
    }
  }
}
