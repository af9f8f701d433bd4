import KioskProtocol
import Testing

@Suite struct CivilDateTests {
  @Test(
    arguments: [
      (1970, 1, 1, 0), (1969, 12, 31, -1), (1970, 3, 1, 59), (2000, 2, 29, 11_016),
      (2000, 3, 1, 11_017), (2026, 11, 21, 20_778), (1900, 2, 28, -25_509), (1900, 3, 1, -25_508),
      (1, 1, 1, -719_162), (0, 3, 1, -719_468), (9999, 12, 31, 2_932_896), (1600, 2, 29, -135_081),
    ] as [(Int64, Int64, Int64, Int64)])
  func aDayHasItsNumber(year: Int64, month: Int64, day: Int64, number: Int64) {
    let date = CivilDate(year: year, month: month, day: day)
    #expect(date.daysSinceEpoch == number)
    #expect(CivilDate(daysSinceEpoch: number) == date)
  }

  @Test func eachDayFollowsTheOneBefore() {
    var last = CivilDate(daysSinceEpoch: -150_001)
    for number in Int64(-150_000)...150_000 {
      let date = CivilDate(daysSinceEpoch: number)
      guard date.daysSinceEpoch == number, isNext(date, after: last) else {
        Issue.record("day \(number) is \(date), after \(last)")
        return
      }
      last = date
    }
  }

  @Test(arguments: ["2026-11-21", "2024-02-29", "0000-01-01", "9999-12-31"])
  func isReadAsItIsWritten(text: String) {
    #expect(CivilDate(text)?.description == text)
  }

  @Test(arguments: [
    "", "2026-11-2", "2026-11-211", "2026-11-21 ", "2026-02-29", "2026-13-01", "2026-00-01",
    "2026-11-00", "26-11-21", "2026/11/21", "-026-11-21", "２026-11-21",
  ])
  func anythingElseIsNoDate(text: String) {
    #expect(CivilDate(text) == nil)
  }

  private func isNext(_ date: CivilDate, after last: CivilDate) -> Bool {
    if date.day > 1 {
      return date == CivilDate(year: last.year, month: last.month, day: last.day + 1)
    }
    let isLeap = last.year % 4 == 0 && (last.year % 100 != 0 || last.year % 400 == 0)
    let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard last.day == lengths[Int(last.month) - 1] else { return false }
    return last.month == 12
      ? date == CivilDate(year: last.year + 1, month: 1, day: 1)
      : date == CivilDate(year: last.year, month: last.month + 1, day: 1)
  }
}
