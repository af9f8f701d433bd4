import JuiceDomain
import KioskProtocol

/// A period of days, and the period before it with which it is compared.
struct SalesPeriod: Sendable, Equatable {
  /// Maximum number of days.
  static let maximum = 366

  /// The days of the period, in days since 1970-01-01.
  let days: ClosedRange<Int64>
  /// The period before, which has the same number of days; if the period consists of whole months,
  /// the same number of months.
  let before: ClosedRange<Int64>

  init(_ days: ClosedRange<Int64>) {
    self.days = days
    let (first, next) = (
      CivilDate(daysSinceEpoch: days.lowerBound), CivilDate(daysSinceEpoch: days.upperBound + 1)
    )
    let months = first.day == 1 && next.day == 1 ? next.months - first.months : 0
    let start =
      months > 0
      ? CivilDate(months: first.months - months).daysSinceEpoch
      : days.lowerBound - Int64(days.count)
    before = start...(days.lowerBound - 1)
  }

  /// Reads `from` and `to` of a query. The default is the last 28 days, including today.
  init(_ query: Form, today: CivilDate) {
    let today = today.daysSinceEpoch
    func day(_ name: String) -> Int64? {
      query[name].flatMap { CivilDate($0) }?.daysSinceEpoch
    }
    let to = min(day("to") ?? today, today)
    let from = min(max(day("from") ?? to - 27, to - Int64(Self.maximum) + 1), to)
    // There are no sales before 1970, and `before` must not begin before 1970, either.
    self.init(max(from, Int64(Self.maximum))...max(to, Int64(Self.maximum)))
  }

  var query: String {
    "from=\(CivilDate(daysSinceEpoch: days.lowerBound))&to=\(CivilDate(daysSinceEpoch: days.upperBound))"
  }

  /// Returns the periods to choose from, with their names.
  static func choices(
    today: CivilDate, _ language: Language
  ) -> [(name: String, period: SalesPeriod)] {
    let now = today.daysSinceEpoch
    let month = CivilDate(months: today.months).daysSinceEpoch
    let last = CivilDate(months: today.months - 1).daysSinceEpoch
    return [
      (language("Today", "오늘"), Self(now...now)),
      (language("7 days", "7일"), Self(now - 6...now)),
      (language("28 days", "28일"), Self(now - 27...now)),
      (language("This month", "이번 달"), Self(month...now)),
      (language("Last month", "지난달"), Self(last...month - 1)),
      (
        language("This year", "올해"),
        Self(
          CivilDate(year: today.year, month: 1, day: 1).daysSinceEpoch...now)
      ),
    ]
  }
}

extension CivilDate {
  /// Number of months since January of the year 0.
  fileprivate var months: Int64 { year * 12 + month - 1 }

  /// Creates the first day of a month.
  ///
  /// - Parameter months: Number of months since January of the year 0.
  fileprivate init(months: Int64) {
    self.init(year: months / 12, month: months % 12 + 1, day: 1)
  }
}
