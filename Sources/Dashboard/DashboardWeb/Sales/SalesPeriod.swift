import JuiceDomain
import KioskProtocol

/// A period of days, and the period with which it is compared.
struct SalesPeriod: Sendable, Equatable {
  /// Maximum number of days.
  static let maximum = 366

  /// The days of the period, in days since 1970-01-01.
  let days: ClosedRange<Int64>
  /// The period to compare with: the one that the user has chosen, or the period before, which has
  /// the same number of days; if the period consists of whole months, the same number of months.
  private(set) var before: ClosedRange<Int64>
  /// Whether the user has chosen `before`.
  private(set) var isBeforeChosen = false

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

  /// Reads `from` and `to` of a query, and `before_from` and `before_to` of the period to compare
  /// with.
  ///
  /// - Parameters:
  ///   - dayCount: Number of days of the default period, which ends today.
  ///   - canChoose: Whether the query may contain the period to compare with.
  init(_ query: Form, today: CivilDate, dayCount: Int64 = 28, canChoose: Bool = false) {
    let today = today.daysSinceEpoch
    func day(_ name: String) -> Int64? { Self.day(name, in: query) }
    let to = min(day("to") ?? today, today)
    let from = min(max(day("from") ?? to - dayCount + 1, to - Int64(Self.maximum) + 1), to)
    // There are no sales before 1970, and `before` must not begin before 1970, either.
    self.init(max(from, Int64(Self.maximum))...max(to, Int64(Self.maximum)))
    guard canChoose, let from = day("before_from"), let to = day("before_to"),
      Int64(Self.maximum) <= from, from <= to, to <= today, to - from < Int64(Self.maximum)
    else { return }
    (before, isBeforeChosen) = (from...to, true)
  }

  /// Returns whether the first day of one of the two periods of a query is after its last day.
  static func isReversed(_ query: Form) -> Bool {
    ["", "before_"].contains { prefix in
      guard let from = day("\(prefix)from", in: query), let to = day("\(prefix)to", in: query)
      else { return false }
      return from > to
    }
  }

  /// The error of a query whose period `isReversed`.
  static let reversed = (
    english: "The first day is after the last one: choose the days again.",
    korean: "시작일이 종료일보다 늦어요. 날짜를 다시 골라 주세요."
  )

  /// Throws the error of a query whose period `isReversed`, for which there is no table.
  static func requireOrder(_ query: Form) throws(RequestError) {
    if isReversed(query) { throw .reversedPeriod }
  }

  private static func day(_ name: String, in query: Form) -> Int64? {
    query[name].flatMap { CivilDate($0) }?.daysSinceEpoch
  }

  /// The first day of both periods.
  var start: Int64 { min(days.lowerBound, before.lowerBound) }

  /// The last day of both periods.
  var end: Int64 { max(days.upperBound, before.upperBound) }

  var query: String {
    func range(_ days: ClosedRange<Int64>, _ prefix: String = "") -> String {
      "\(prefix)from=\(CivilDate(daysSinceEpoch: days.lowerBound))&\(prefix)to=\(CivilDate(daysSinceEpoch: days.upperBound))"
    }
    return isBeforeChosen ? "\(range(days))&\(range(before, "before_"))" : range(days)
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
