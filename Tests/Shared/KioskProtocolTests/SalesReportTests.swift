import JuiceDomain
import KioskProtocol
import Testing

@Suite struct SalesReportTests {
  private static let report: SalesReport = {
    var tally = SalesReport.Tally()
    tally.made = ["kiwi": 3, "banana": 1]
    tally.outOfStock = ["mango": 1]
    tally.rejected = ["kiwi": 1]
    tally.unnamed = 2
    var yesterday = SalesReport.Tally()
    yesterday.made = ["kiwi": 30]
    return SalesReport(
      at: Timestamp(milliseconds: 1_795_251_600_000), timeZone: "Asia/Seoul",
      today: CivilDate(year: 2026, month: 11, day: 21),
      hours: [SalesReport.Hour(hour: 9, tally: tally)],
      days: [
        SalesReport.Day(day: CivilDate(year: 2026, month: 11, day: 20), tally: yesterday),
        SalesReport.Day(day: CivilDate(year: 2026, month: 11, day: 21), tally: tally),
      ], usual: 12.5)
  }()

  @Test func isWrittenAsTheContractSays() {
    let tally =
      #""made":{"banana":1,"kiwi":3},"out_of_stock":{"mango":1},"rejected":{"kiwi":1},"unnamed":2"#
    #expect(
      String(decoding: Self.report.payload, as: UTF8.self)
        == #"{"at":"2026-11-21T09:00:00Z","time_zone":"Asia/Seoul","today":"2026-11-21","#
        + #""usual":12.5,"hours":[{"hour":9,\#(tally)}],"days":[{"day":"2026-11-20","#
        + #""made":{"kiwi":30},"out_of_stock":{},"rejected":{},"unnamed":0},"#
        + #"{"day":"2026-11-21",\#(tally)}]}"#)
  }

  @Test func isReadAsItIsWritten() throws {
    #expect(try SalesReport(payload: Self.report.payload) == Self.report)
    var new = Self.report
    (new.hours, new.days, new.usual) = ([], [], nil)
    #expect(try SalesReport(payload: new.payload) == new)
  }

  @Test func whatIsNotToldDidNotHappen() throws {
    let payload =
      #"{"at":"2026-11-21T09:00:00Z","time_zone":"GMT","today":"2026-11-21","#
      + #""hours":[{"hour":9,"more":1}],"days":[],"usual":"much"}"#
    let report = try SalesReport(payload: Array(payload.utf8))
    #expect(report.hours == [SalesReport.Hour(hour: 9, tally: SalesReport.Tally())])
    #expect(report.usual == nil)
  }

  @Test func whatNoKioskCanSellIsNotUsual() throws {
    var report = Self.report
    report.usual = 1e300
    #expect(try SalesReport(payload: report.payload).usual == nil)
  }

  @Test(arguments: [
    (#""at":"2026-11-21T09:00:00Z""#, #""at":"now""#), (#""at":"2026-11-21T09:00:00Z","#, ""),
    (#""time_zone":"Asia/Seoul","#, ""), (#""today":"2026-11-21","#, ""),
    (#""today":"2026-11-21""#, #""today":"2026-02-30""#), (#""hours":["#, #""h":["#),
    (#""days":["#, #""d":["#), (#""hour":9"#, #""hour":24"#), (#""hour":9"#, #""hour":-1"#),
    (#""hour":9"#, #""hour":"9""#), (#""day":"2026-11-20""#, #""day":"yesterday""#),
    (#""unnamed":2"#, #""unnamed":-1"#), (#""unnamed":0"#, #""unnamed":1000000001"#),
    (#""kiwi":30"#, #""kiwi":0.5"#), (#""kiwi":30"#, #""ki wi":30"#),
    (#""rejected":{}"#, #""rejected":[]"#), (#""hours":[{"#, #""hours":[0,{"#),
  ])
  func anythingElseIsNoSalesReport(part: String, other: String) throws {
    let payload = String(decoding: Self.report.payload, as: UTF8.self)
    try #require(payload.contains(part))
    #expect(throws: JSONError.self) {
      try SalesReport(payload: Array(payload.replacing(part, with: other).utf8))
    }
  }

  @Test func talliesAddUp() {
    var sum = Self.report.days[0].tally
    sum += Self.report.days[1].tally
    #expect(sum.made == ["banana": 1, "kiwi": 33])
    #expect(sum.outOfStock == ["mango": 1])
    #expect(sum.rejected == ["kiwi": 1])
    #expect(sum.unnamed == 2)
    #expect(!sum.isEmpty)
    #expect(SalesReport.Tally().isEmpty)
  }
}
