import KioskProtocol
import Testing

@Suite struct TimestampTests {
  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2026-11-21T09:00:00Z", 1_795_251_600_000),
      ("2026-11-21T09:00:00.007Z", 1_795_251_600_007), ("1969-12-31T23:59:59.999Z", -1),
      ("2000-02-29T12:00:00Z", 951_825_600_000), ("0001-01-01T00:00:00Z", -62_135_596_800_000),
      ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ] as [(String, Int64)])
  func aTimeIsWrittenAsItIsRead(text: String, milliseconds: Int64) throws {
    let timestamp = try #require(Timestamp(text))
    #expect(timestamp.milliseconds == milliseconds)
    #expect(timestamp.description == text)
  }

  @Test(arguments: [
    ("2026-11-21T18:00:00+09:00", "2026-11-21T09:00:00Z"),
    ("2026-11-20T23:30:00-09:30", "2026-11-21T09:00:00Z"),
    ("2026-11-21T09:00:00-00:00", "2026-11-21T09:00:00Z"),
    ("2026-11-21t09:00:00z", "2026-11-21T09:00:00Z"),
    ("2026-11-21 09:00:00Z", "2026-11-21T09:00:00Z"),
    ("2026-11-21T09:00:00.5Z", "2026-11-21T09:00:00.500Z"),
    ("2026-11-21T09:00:00.25Z", "2026-11-21T09:00:00.250Z"),
    ("2026-11-21T09:00:00.0009999999999999999999Z", "2026-11-21T09:00:00Z"),
    ("2026-12-31T23:59:60Z", "2027-01-01T00:00:00Z"),
    ("2026-01-01T00:00:00+23:59", "2025-12-31T00:01:00Z"),
    ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
  ])
  func everyFormOfRFC3339IsRead(text: String, utc: String) throws {
    #expect(try #require(Timestamp(text)).description == utc)
  }

  @Test(arguments: [
    "", "now", "2026-11-21", "2026-11-21T09:00Z", "2026-11-21T09:00:00", "2026-11-21T09:00:00 Z",
    " 2026-11-21T09:00:00Z", "2026-11-21T09:00:00Z ", "2026-11-21T09:00:00Zx",
    "26-11-21T09:00:00Z", "02026-11-21T09:00:00Z", "-026-11-21T09:00:00Z", "2026-1-21T09:00:00Z",
    "2026-00-21T09:00:00Z", "2026-13-21T09:00:00Z", "2026-11-00T09:00:00Z",
    "2026-11-31T09:00:00Z", "2026-02-29T09:00:00Z", "1900-02-29T09:00:00Z", "2024-02-30T09:00:00Z",
    "2026-11-21T24:00:00Z", "2026-11-21T09:60:00Z", "2026-11-21T09:00:61Z",
    "2026-11-21T09:00:00.Z", "2026-11-21T09:00:00,5Z", "2026-11-21T09:00:00+9:00",
    "2026-11-21T09:00:00+0900", "2026-11-21T09:00:00+24:00", "2026-11-21T09:00:00+09:60",
    "2026-11-21T09:00:00+", "2026/11/21T09:00:00Z", "２026-11-21T09:00:00Z", "1795251600",
    // Found by fuzzing: in UTC these are outside the years that RFC 3339 can express.
    "9999-12-31T23:59:60Z", "9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01",
  ])
  func anythingElseIsNoTime(text: String) {
    #expect(Timestamp(text) == nil)
  }

  @Test func everyMillisecondComesBackAsItWent() throws {
    var milliseconds: Int64 = -62_135_596_800_000
    while milliseconds < 253_402_300_800_000 {
      let timestamp = Timestamp(milliseconds: milliseconds)
      #expect(Timestamp(timestamp.description) == timestamp)
      milliseconds += 98_765_432_109
    }
  }

  @Test func noTimeIsTooFarAway() {
    let (first, last) = (Timestamp(milliseconds: .min), Timestamp(milliseconds: .max))
    #expect(first < last)
    #expect(last.description.hasSuffix("-08-17T07:12:55.807Z"))
    #expect(!first.description.isEmpty)
    #expect(last.since(last) == .zero)
    _ = last.since(first)
    _ = first.since(last)
  }

  @Test func theTimeBetweenHasASign() {
    let (early, late) = (Timestamp(milliseconds: -500), Timestamp(milliseconds: 1000))
    #expect(late.since(early) == .milliseconds(1500))
    #expect(early.since(late) == .milliseconds(-1500))
  }
}
