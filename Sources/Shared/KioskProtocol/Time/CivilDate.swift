/// A day of the proleptic Gregorian calendar.
package struct CivilDate: Hashable, Sendable {
  package let year: Int64
  package let month: Int64
  package let day: Int64

  package init(year: Int64, month: Int64, day: Int64) {
    self.year = year
    self.month = month
    self.day = day
  }

  // Both conversions follow Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": the year
  // starts in March, so that the leap day is its last day.

  package init(daysSinceEpoch: Int64) {
    let (era, dayOfEra) = (daysSinceEpoch + 719_468).flooredQuotient(by: 146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  package var daysSinceEpoch: Int64 {
    let marchYear = month <= 2 ? year - 1 : year
    let (era, yearOfEra) = marchYear.flooredQuotient(by: 400)
    let marchMonth = month > 2 ? month - 3 : month + 9
    let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}

extension CivilDate: LosslessStringConvertible {
  /// The date as `2026-11-21`.
  package var description: String { "\(year.padded(4))-\(month.padded())-\(day.padded())" }
}

extension Int64 {
  func padded(_ width: Int = 2) -> String {
    let digits = String(self)
    return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
  }

  /// Returns the quotient rounded down, and the matching remainder, which is never negative.
  package func flooredQuotient(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
