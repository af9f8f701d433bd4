/// The date on a package, or the time at which fruit expires.
package enum BestBefore: Hashable, Sendable {
  case time(Timestamp)
  /// The end of a day, in the time zone of the kiosk.
  case day(CivilDate)

  /// The accepted texts, for error messages.
  package static let form = "a date such as 2026-12-05, or a time such as 2026-12-05T18:00:00+01:00"

  /// Parses a text of `form`, or returns `nil` for any other text.
  package init?(_ text: String) {
    if let time = Timestamp(text) {
      self = .time(time)
    } else if let day = CivilDate(text) {
      self = .day(day)
    } else {
      return nil
    }
  }
}
