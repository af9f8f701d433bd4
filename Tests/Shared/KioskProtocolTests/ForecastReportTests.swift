import JuiceDomain
import KioskProtocol
import Testing

@Suite struct ForecastReportTests {
  /// A consumption of 12.5 in the first six hours of the week, and 1 in each other interval.
  private static let use = [12.5] + Array(repeating: 1, count: 27)
  private static let report = ForecastReport(
    at: Timestamp(milliseconds: 1_795_251_600_000),
    fruits: [
      "strawberry": ForecastReport.Outlook(
        stock: 10, perHour: 2.4, emptyAt: Timestamp(milliseconds: 1_795_266_600_000), use: use),
      "kiwi": ForecastReport.Outlook(stock: 3),
      "mango": ForecastReport.Outlook(stock: 7, perHour: 0),
    ])

  @Test func isWrittenAsTheContractSays() {
    #expect(
      String(decoding: Self.report.payload, as: UTF8.self)
        == #"{"at":"2026-11-21T09:00:00Z","fruits":{"kiwi":{"stock":3},"#
        + #""mango":{"stock":7,"per_hour":0.0},"#
        + #""strawberry":{"stock":10,"per_hour":2.4,"empty_at":"2026-11-21T13:10:00Z","#
        + #""use":[12.5,\#(Array(repeating: "1.0", count: 27).joined(separator: ","))]}}}"#)
  }

  @Test func isReadAsItIsWritten() throws {
    #expect(try ForecastReport(payload: Self.report.payload) == Self.report)
  }

  @Test(arguments: [#""much""#, "-1", "null", "1000000001", "1e300"])
  func aRateThatIsNoneIsUnknown(rate: String) throws {
    let payload =
      #"{"at":"2026-11-21T09:00:00Z","fruits":{"kiwi":{"stock":3,"per_hour":\#(rate)}}}"#
    let report = try ForecastReport(payload: Array(payload.utf8))
    #expect(report.fruits == ["kiwi": ForecastReport.Outlook(stock: 3)])
  }

  @Test(arguments: [
    "", "1", "null", "{}", "[]", "[1]", pieces(27), pieces(29), pieces(27, #","1""#),
    pieces(27, ",-1"), pieces(27, ",1e10"), pieces(27, ",[1]"),
  ])
  func whatIsNoWeekOfUseIsUnknown(use: String) throws {
    let member = use.isEmpty ? "" : #","use":\#(use)"#
    let payload = #"{"at":"2026-11-21T09:00:00Z","fruits":{"kiwi":{"stock":3\#(member)}}}"#
    let report = try ForecastReport(payload: Array(payload.utf8))
    #expect(report.fruits == ["kiwi": ForecastReport.Outlook(stock: 3)])
  }

  private static func pieces(_ count: Int, _ end: String = "") -> String {
    "[\(Array(repeating: "1", count: count).joined(separator: ","))\(end)]"
  }

  /// Times are in hours after the report's `at`.
  @Test(arguments: [
    (-1.0, 0.0), (0, 0), (3, 6.25), (6, 12.5), (12, 13.5), (13.5, 13.75), (168, 39.5), (171, 45.75),
    (336, 79),
  ])
  func useIsAddedUp(hours: Double, sum: Double) throws {
    let end = Timestamp(milliseconds: Self.report.at.milliseconds + Int64(hours * 3_600_000))
    let strawberries = try #require(Self.report.fruits["strawberry"])
    #expect(strawberries.use(until: end, from: Self.report.at) == sum)
    #expect(Self.report.fruits["kiwi"]?.use(until: end, from: Self.report.at) == nil)
  }

  @Test(arguments: [
    "", "[]", #"{"fruits":{}}"#, #"{"at":"now","fruits":{}}"#, #"{"at":"2026-11-21T09:00:00Z"}"#,
    #"{"at":"2026-11-21T09:00:00Z","fruits":[]}"#,
    #"{"at":"2026-11-21T09:00:00Z","fruits":{"ki wi":{"stock":3}}}"#,
    #"{"at":"2026-11-21T09:00:00Z","fruits":{"kiwi":{}}}"#,
    #"{"at":"2026-11-21T09:00:00Z","fruits":{"kiwi":3}}"#,
  ])
  func anythingElseIsNoForecast(payload: String) {
    #expect(throws: JSONError.self) { try ForecastReport(payload: Array(payload.utf8)) }
  }
}
