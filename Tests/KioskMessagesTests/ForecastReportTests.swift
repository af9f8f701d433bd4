import JuiceDomain
import KioskMessages
import Testing

@Suite struct ForecastReportTests {
  private static let report = ForecastReport(
    at: Timestamp(milliseconds: 1_795_251_600_000),
    fruits: [
      "strawberry": ForecastReport.Outlook(
        stock: 10, perHour: 2.4, emptyAt: Timestamp(milliseconds: 1_795_266_600_000)),
      "kiwi": ForecastReport.Outlook(stock: 3),
      "mango": ForecastReport.Outlook(stock: 7, perHour: 0),
    ])

  @Test func isWrittenAsTheContractSays() {
    #expect(
      String(decoding: Self.report.payload, as: UTF8.self)
        == #"{"at":"2026-11-21T09:00:00Z","fruits":{"kiwi":{"stock":3},"#
        + #""mango":{"stock":7,"per_hour":0.0},"#
        + #""strawberry":{"stock":10,"per_hour":2.4,"empty_at":"2026-11-21T13:10:00Z"}}}"#)
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
