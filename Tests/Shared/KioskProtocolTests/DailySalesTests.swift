import JuiceDomain
import KioskProtocol
import Testing

@Suite struct DailySalesTests {
  private let at = Timestamp(milliseconds: 1_700_000_000_412)
  private let text = """
    {"at":"2023-11-14T22:13:20.412Z","time_zone":"Asia/Seoul","from":"2026-11-22","to":"2026-11-24",\
    "juices":{"kiwi":{"made":[1,0,2],"out_of_stock":[0,1],"sold":{"EUR":[350,0,700],"KRW":[0,5000]}},\
    "tea":{"made":[0,3]}}}
    """

  private func day(_ text: String) throws -> Int64 {
    try #require(CivilDate(text)).daysSinceEpoch
  }

  @Test func eachJuiceHasAColumnWithoutTheZerosAtItsEnd() throws {
    let (euro, won) = (try #require(Currency("EUR")), try #require(Currency("KRW")))
    var tallies = [try day("2026-11-22"): SalesReport.Tally()]
    tallies[try day("2026-11-22")]?.made = ["kiwi": 1]
    tallies[try day("2026-11-22")]?.takings.add(Money(units: 350, euro), for: "kiwi")
    var second = SalesReport.Tally()
    second.made = ["tea": 3]
    second.outOfStock = ["kiwi": 1]
    second.takings.add(Money(units: 5_000, won), for: "kiwi")
    tallies[try day("2026-11-23")] = second
    var third = SalesReport.Tally()
    third.made = ["kiwi": 2, "mango": 0]
    third.takings.add(Money(units: 700, euro), for: "kiwi")
    tallies[try day("2026-11-24")] = third
    let to = try #require(CivilDate("2026-11-24"))
    let sales = DailySales(at: at, timeZone: "Asia/Seoul", to: to, tallies)
    #expect(sales.map { String(decoding: $0.payload, as: UTF8.self) } == text)
    let read = try DailySales(payload: Array(text.utf8))
    #expect(read == sales)
    #expect(read.tally(of: try day("2026-11-23")) == second)
    third.made["mango"] = nil
    #expect(read.tally(of: try day("2026-11-24")) == third)
  }

  @Test func otherDaysAreEmpty() throws {
    let sales = try DailySales(payload: Array(text.utf8))
    for day in [try day("2026-11-21"), try day("2026-11-25"), 0, 1_000_000_000] {
      #expect(sales.tally(of: day).isEmpty)
    }
    #expect(DailySales(at: at, timeZone: "UTC", to: sales.to, [:]) == nil)
  }

  @Test(arguments: [
    (#""to":"2026-11-24""#, #""to":"2026-11-21""#), (#""to":"2026-11-24""#, #""to":"2027-12-23""#),
    ("[1,0,2]", "[1,-1]"), ("[1,0,2]", "[1,2000000000]"), ("[0,5000]", #"["5"]"#),
    ("[0,1]", "[\(Array(repeating: "1", count: 397).joined(separator: ","))]"),
    (#""EUR""#, #""euro""#), (#""tea""#, #""a/b""#), (#""juices""#, #""fruits""#),
  ])
  func aWrongValueMakesTheReportInvalid(_ right: String, _ wrong: String) {
    let text = text.replacing(right, with: wrong)
    #expect(text != self.text)
    #expect(throws: JSONError.self) { try DailySales(payload: Array(text.utf8)) }
  }
}
