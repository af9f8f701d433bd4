import JuiceDomain
import KioskProtocol
import Testing

@Suite struct TakingsTests {
  private static let euro = Currency("EUR")
  private static let won = Currency("KRW")

  private func takings(_ all: [(Juice.ID, Int, Currency?)]) throws -> Takings {
    try all.reduce(into: Takings()) { $0.add(Money(units: $1.1, try #require($1.2)), for: $1.0) }
  }

  @Test func eachCurrencyAddsUpByItself() throws {
    var sum = try takings([("kiwi", 350, Self.euro), ("mango", 400, Self.euro)])
    sum += try takings([("kiwi", 350, Self.euro), ("kiwi", 3500, Self.won)])
    #expect(sum.description == "11.00 EUR, 3500 KRW")
    #expect(sum["kiwi"].map(\.description) == ["7.00 EUR", "3500 KRW"])
    #expect(sum["banana"].isEmpty)
    #expect(Takings().description == "")
  }

  /// Dashboards add the takings of many kiosks, whose reports are untrusted.
  @Test func noSumOverflows() throws {
    var sum = try takings([("kiwi", .max, Self.euro), ("kiwi", 1, Self.euro)])
    sum += try takings([("mango", .max, Self.euro), ("kiwi", .max, Self.euro)])
    #expect(sum.totals.map(\.units) == [.max])
  }

  private func report(_ takings: String) throws -> SalesReport {
    let payload =
      #"{"at":"2026-11-21T09:00:00Z","time_zone":"GMT","today":"2026-11-21","days":[],"#
      + #""hours":[{"hour":9,"made":{"kiwi":3},"sold":\#(takings)}]}"#
    return try SalesReport(payload: Array(payload.utf8))
  }

  @Test func aReportIsReadAsItIsWritten() throws {
    let text = #"{"EUR":{"kiwi":"10.50","mango":"0.00"},"KRW":{"kiwi":"3500"}}"#
    let report = try report(text)
    #expect(report.hours[0].tally.takings.description == "10.50 EUR, 3500 KRW")
    let payload = String(decoding: report.payload, as: UTF8.self)
    #expect(payload.contains(#""unnamed":0,"sold":\#(text)}"#))
    #expect(try SalesReport(payload: report.payload) == report)
  }

  @Test(arguments: [
    "1", "[]", #"{"EUR":"10.50"}"#, #"{"eur":{"kiwi":"1.00"}}"#, #"{"EUR":{"kiwi":10.50}}"#,
    #"{"EUR":{"kiwi":"1.005"}}"#, #"{"EUR":{"ki wi":"1.00"}}"#, #"{"EUR":{"kiwi":"-1.00"}}"#,
  ])
  func anythingElseIsNoReport(takings: String) {
    #expect(throws: JSONError.self) { try report(takings) }
  }
}
