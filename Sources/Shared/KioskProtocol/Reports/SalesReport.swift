package import JuiceDomain

/// What a kiosk has sold: today by hour, and the last days by day, on the kiosk's own calendar.
///
/// Hours and days in which nothing happened are left out. On a day on which the clocks go back, the
/// hour that comes twice stands once, with what happened in both.
package struct SalesReport: Hashable, Sendable {
  /// Days that are told, today included.
  package static let dayCount = 30

  package var at: Timestamp
  /// As the IANA database calls it: `Asia/Seoul`.
  package var timeZone: String
  package var today: CivilDate
  /// Of today, in their order.
  package var hours: [Hour]
  /// In their order; the last one may be today.
  package var days: [Day]
  /// Glasses that are usually made on this weekday by this time; `nil` where there is too little
  /// history.
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

  package struct Hour: Hashable, Sendable {
    /// 0 to 23.
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

  /// What became of the orders of some time.
  package struct Tally: Hashable, Sendable {
    /// Glasses.
    package var made: [Juice.ID: Int] = [:]
    /// Orders.
    package var outOfStock: [Juice.ID: Int] = [:]
    /// Orders.
    package var rejected: [Juice.ID: Int] = [:]
    /// Rejected orders that name no juice of the menu.
    package var unnamed = 0
    /// For what was made.
    package var takings = Takings()

    package init() {}

    package var isEmpty: Bool { self == Tally() }

    /// Glasses of all juices that were made.
    package var glasses: Int { made.values.reduce(0, +) }

    /// Those that anything is told of, sorted.
    package var juices: [Juice.ID] {
      Set(made.keys).union(outOfStock.keys).union(rejected.keys).sorted()
    }

    package static func += (left: inout Self, right: Self) {
      left.made.merge(right.made, uniquingKeysWith: +)
      left.outOfStock.merge(right.outOfStock, uniquingKeysWith: +)
      left.rejected.merge(right.rejected, uniquingKeysWith: +)
      left.unnamed += right.unnamed
      left.takings += right.takings
    }
  }
}
