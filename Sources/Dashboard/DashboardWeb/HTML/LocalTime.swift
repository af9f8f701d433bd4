import JuiceDomain
import KioskProtocol
import TimeZones

/// A formatter for times in the time zone of a kiosk, or in UTC if the time zone is unknown.
struct LocalTime: Sendable {
  let clock: WallClock
  let now: Timestamp
  let language: Language

  init(_ zone: String?, now: Timestamp, _ language: Language) {
    clock = zone.flatMap { WallClock($0) } ?? .utc
    self.now = now
    self.language = language
  }

  /// Returns the time of day, such as `14:05`, preceded by the day if it is not today.
  func text(_ time: Timestamp) -> String {
    let (day, minute) = local(time)
    let text = "\(pad(minute / 60)):\(pad(minute % 60))"
    if isToday(time) { return text }
    return "\(self.day(CivilDate(daysSinceEpoch: day))) \(text)"
  }

  func isToday(_ time: Timestamp) -> Bool { local(time).day == local(now).day }

  func html(_ time: Timestamp) -> HTML {
    "<time datetime=\"\(time.description)\">\(text(time))</time>"
  }

  var today: CivilDate { date(of: now) }

  /// Returns the hour of the day, from 0 to 23.
  func hour(of time: Timestamp) -> Int { Int(local(time).minute / 60) }

  func date(of time: Timestamp) -> CivilDate { CivilDate(daysSinceEpoch: local(time).day) }

  /// Returns the value of a form field, such as `2026-11-21T14:05`.
  func field(_ time: Timestamp) -> String {
    let (day, minute) = local(time)
    return "\(CivilDate(daysSinceEpoch: day))T\(pad(minute / 60)):\(pad(minute % 60))"
  }

  /// Returns a time with its date and year, such as `2026-12-01 14:05`.
  func full(_ time: Timestamp) -> String { field(time).replacing("T", with: " ") }

  /// Returns the last time at which fruit is sold: `2026-12-01 14:05`, or only the day if the fruit
  /// expires at its end, as the package says it.
  ///
  /// - Parameter isFull: Whether the date has its year, as on a page with times of `full(_:)`. If not, it
  ///   is a date such as `Dec 1`.
  func bestBefore(_ expires: Timestamp, isFull: Bool) -> String {
    if let date = clock.bestBeforeDay(expires) { return isFull ? date.description : day(date) }
    return isFull ? full(expires) : "\(day(date(of: expires))) \(field(expires).suffix(5))"
  }

  /// Returns the last day on which fruit that expires at a time is sold, such as `Dec 1`.
  func lastDay(_ expires: Timestamp) -> String {
    day(clock.bestBeforeDay(expires) ?? date(of: expires))
  }

  /// Reads the value of a form field. In the hour that is repeated when clocks are set back, the
  /// result is the first of the two possible times.
  func time(field: String) -> Timestamp? {
    // Some browsers include the seconds.
    let seconds = field.utf8.count == 16 ? ":00" : ""
    return Timestamp("\(field)\(seconds)Z").map(clock.time(showing:))
  }

  /// Returns a date such as `Nov 21`.
  func day(_ date: CivilDate) -> String {
    let month = Int(date.month)
    let names = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    let name = names.indices.contains(month - 1) ? names[month - 1] : ""
    return language("\(name) \(date.day)", "\(month)월 \(date.day)일")
  }

  /// Returns the distance of an expected time from now. A time that has passed counts as now.
  func expectation(_ time: Timestamp) -> String { distance(max(time, now)) }

  /// Returns the time relative to now, such as `in 3 h 20 min` or `3 h 20 min ago`.
  func distance(_ time: Timestamp) -> String {
    let minutes = Int(
      clamping: (time.milliseconds / 60_000).subtractingReportingOverflow(
        now.milliseconds / 60_000
      ).partialValue)
    let (size, isPast) = (Int(clamping: minutes.magnitude), minutes < 0)
    if size == 0 { return language("now", "지금") }
    let length = language.length(ofMinutes: size)
    return isPast
      ? language("\(length) ago", "\(length) 전") : language("in \(length)", "\(length) 후")
  }

  private func local(_ time: Timestamp) -> (day: Int64, minute: Int64) {
    let (day, minute) = clock.minute(at: time)
    return (Int64(day), Int64(minute))
  }

  private func pad(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
