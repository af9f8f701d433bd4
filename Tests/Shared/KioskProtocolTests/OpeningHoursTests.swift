import KioskProtocol
import Testing

@Suite struct OpeningHoursTests {
  @Test(arguments: ["07:00-22:00", "00:00-24:00", "18:00-02:00", "23:59-00:00", "00:00-00:01"])
  func aTimeSpanIsReadAndWritten(text: String) {
    #expect(OpeningHours.Interval(text)?.text == text)
  }

  @Test(arguments: [
    "", "7:00-22:00", "07:00", "07:00-", "07:00-07:00", "24:00-02:00", "07:60-08:00", "07:00-24:01",
    "07:00-22:00-23:00", "07-22", "07:00 - 22:00", "+7:00-22:00", "٠٧:٠٠-٢٢:٠٠", "07:00-99:99",
  ])
  func anyOtherTextIsNot(text: String) {
    #expect(OpeningHours.Interval(text) == nil)
  }

  @Test func aWeekWithoutHoursIsNone() { #expect(OpeningHours([:]) == nil) }

  /// Monday 2026-11-23 is day 20780.
  @Test(
    arguments: [
      (20_780, 419, false), (20_780, 420, true), (20_780, 1_319, true), (20_780, 1_320, false),
      // Friday from 18:00 until Saturday 02:00.
      (20_784, 1_079, false), (20_784, 1_080, true), (20_784, 1_439, true), (20_785, 0, true),
      (20_785, 119, true), (20_785, 120, false), (20_784, 60, false),
      // Sunday, the whole day; nothing of it is left on Monday.
      (20_786, 0, true), (20_786, 1_439, true), (20_787, 0, false),
      // Days before 1970: Wednesday 1969-12-31 has no hours, Monday 1969-12-29 has.
      (-1, 600, false), (-3, 600, true),
    ] as [(Int, Int, Bool)])
  func theLocalTimeDecides(day: Int, minute: Int, isOpen: Bool) throws {
    let week = ["mon": "07:00-22:00", "fri": "18:00-02:00", "sun": "00:00-24:00"]
    var intervals: [OpeningHours.Day: OpeningHours.Interval] = [:]
    for (name, text) in week {
      let day = try #require(OpeningHours.Day(rawValue: name))
      intervals[day] = OpeningHours.Interval(text)
    }
    let hours = try #require(OpeningHours(intervals))
    #expect(hours.isOpen(day: day, minute: minute) == isOpen)
    #expect(hours.text == "mon 07:00-22:00, fri 18:00-02:00, sun 00:00-24:00")
  }
}
