/// The times of a week at which a kiosk takes orders, by its local clock.
///
/// ```swift
/// let hours = OpeningHours([.fri: OpeningHours.Interval("18:00-02:00")!])!
/// hours.isOpen(day: 20_785, minute: 30)  // Saturday 2026-11-28, 00:30: true
/// ```
///
/// The result depends only on the local time, also after a person has set the clock. When daylight
/// saving time ends, an opening or closing in the repeated hour occurs once, at its first occurrence
/// (`WallClock.reachedMinute`); when it begins, the skipped hour does not occur.
package struct OpeningHours: Hashable, Sendable {
  package enum Day: String, CaseIterable, Sendable { case mon, tue, wed, thu, fri, sat, sun }

  /// The hours of a day, such as `07:00-22:00`. An end before the start is on the next day.
  package struct Interval: Hashable, Sendable {
    /// Minutes since midnight: `start` is 0...1439, `end` is 0...1440.
    package let start, end: Int

    /// Parses two different times such as `07:00-22:00`, or returns `nil` for any other text. The
    /// end may be `24:00`.
    package init?(_ text: String) {
      let times = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        .map { Self.minute($0) }
      guard times.count == 2, let start = times[0], let end = times[1], start < Self.day,
        start != end
      else { return nil }
      (self.start, self.end) = (start, end)
    }

    package var text: String { "\(Self.text(start))-\(Self.text(end))" }

    fileprivate static let day = 1_440

    private static func minute(_ text: Substring.UTF8View) -> Int? {
      let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      let isDigits = parts.allSatisfy { part in
        part.count == 2 && part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      }
      guard parts.count == 2, isDigits, let hour = Int(Substring(parts[0])),
        let minute = Int(Substring(parts[1])), minute < 60, hour * 60 + minute <= day
      else { return nil }
      return hour * 60 + minute
    }

    fileprivate static func text(_ minute: Int) -> String {
      "\(Int64(minute / 60).padded()):\(Int64(minute % 60).padded())"
    }
  }

  /// The hours that begin on each day. No hours begin on a day without an element.
  package let intervals: [Day: Interval]

  /// Creates the hours of a week, or returns `nil` if there are no hours on any day.
  package init?(_ intervals: [Day: Interval]) {
    guard !intervals.isEmpty else { return nil }
    self.intervals = intervals
  }

  /// Returns whether the kiosk is open at a local time.
  ///
  /// - Parameters:
  ///   - day: The number of days since 1970-01-01.
  ///   - minute: The minute of that day, 0...1439.
  package func isOpen(day: Int, minute: Int) -> Bool {
    if let today = intervals[Self.weekday(day)], minute >= today.start,
      minute < today.end || today.end < today.start
    {
      return true
    }
    guard let yesterday = intervals[Self.weekday(day - 1)] else { return false }
    return yesterday.end < yesterday.start && minute < yesterday.end
  }

  /// Returns the next opening after a local time at which the kiosk is closed, with a time such as `07:00`.
  package func opening(after day: Int, minute: Int) -> (day: Day, time: String)? {
    (0...7).lazy.compactMap { offset in
      let weekday = Self.weekday(day + offset)
      guard let start = intervals[weekday]?.start, offset > 0 || start > minute else { return nil }
      return (weekday, Interval.text(start))
    }.first
  }

  /// Returns the day of the week. 1970-01-01 was a Thursday.
  private static func weekday(_ day: Int) -> Day { Day.allCases[((day + 3) % 7 + 7) % 7] }

  /// The days with their hours, such as `mon 07:00-22:00, tue 07:00-22:00`.
  package var text: String {
    Day.allCases.compactMap { day in intervals[day].map { "\(day) \($0.text)" } }
      .joined(separator: ", ")
  }
}

extension OpeningHours {
  /// Parses an object such as `{"mon": "07:00-22:00"}`.
  init(_ json: JSON) throws(Rejection) {
    guard case .object(let members) = json, !members.isEmpty else {
      throw Rejection(.malformed, "hours is no object with days, such as {\"mon\":\"07:00-22:00\"}")
    }
    var intervals: [Day: Interval] = [:]
    for member in members {
      guard let day = Day(rawValue: member.key), case .string(let text) = member.value,
        let interval = Interval(text)
      else {
        throw Rejection(
          .malformed, "hours has a day that is not mon to sun with hours such as 07:00-22:00")
      }
      intervals[day] = interval
    }
    self.intervals = intervals
  }
}

extension JSONWriter {
  mutating func member(_ key: StaticString, _ hours: OpeningHours) {
    member(key) { json in
      for day in OpeningHours.Day.allCases {
        if let interval = hours.intervals[day] { json.member(named: day.rawValue, interval.text) }
      }
    }
  }
}
