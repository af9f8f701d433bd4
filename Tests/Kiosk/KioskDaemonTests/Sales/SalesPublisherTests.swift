import Foundation
import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import MessageBroker
import Testing

@testable import TimeZones

/// Tests the published sales reports. It is 09:00 UTC, the time zone of this kiosk.
@Suite struct SalesPublisherTests {
  private let fixture: KioskFixture
  private let office: TestClient
  private let panel: TestClient

  init() throws { try self.init(clockError: 0) }

  private init(clockError: Int64) throws {
    fixture = try KioskFixture()
    fixture.setClock(ahead: clockError)
    office = try fixture.testClient(
      "office", subscribedTo: ["kiosk/k1/sales", "kiosk/k1/forecast"])
    panel = try fixture.panel()
    try fixture.startKiosk()
  }

  private func press(_ juice: String = "banana") {
    fixture.publish(juice, to: "kiosk/k1/order/p1", by: panel)
  }

  private func restock() {
    fixture.publish(#"{"set":{"banana":50}}"#, to: "kiosk/k1/restock/desk", by: panel)
  }

  private func told() -> [String] {
    office.take().map { String($0.topic.dropFirst("kiosk/k1/".count)) }
  }

  private func sales() throws -> SalesReport {
    try SalesReport(payload: Array(try #require(fixture.retained("sales")).utf8))
  }

  private func bananas() throws -> ForecastReport.Outlook? {
    let payload = try #require(fixture.retained("forecast"))
    return try ForecastReport(payload: Array(payload.utf8)).fruits["banana"]
  }

  /// The system updates its database while the kiosk runs.
  @Test func newRulesOfTimeZonesApplyOnTheNextDay() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      .path(percentEncoded: false)
    defer { try? FileManager.default.removeItem(atPath: path) }
    func install(_ zone: String) throws {
      let file = try Data(contentsOf: URL(filePath: "\(ZoneFile.folder)/\(zone)"))
      try file.write(to: URL(filePath: path), options: .atomic)
    }
    try install("Asia/Seoul")
    let file = try #require(ZoneFile.at(path))
    try install("Asia/Kolkata")
    fixture.advance(by: .seconds(86_400))
    #expect(file.offset(at: 1_700_000_000) == 19_800)
  }

  @Test func isToldWhenTheKioskComes() throws {
    #expect(told() == ["sales", "forecast"])
    #expect(try sales().days == [])
    #expect(try bananas() == ForecastReport.Outlook(stock: 10))
  }

  @Test func anOrderIsToldAtOnceAndThoseThatFollowTogether() throws {
    fixture.advance(by: .seconds(10))
    _ = told()
    press()
    #expect(try sales().hours.map { $0.tally.made } == [["banana": 1]])
    #expect(try bananas()?.stock == 8)
    #expect(told() == ["sales", "forecast"])
    press()
    press("mango")
    fixture.advance(by: .milliseconds(1999))
    #expect(told() == [])
    fixture.advance(by: .milliseconds(1))
    #expect(told() == ["sales", "forecast"])
    #expect(try sales().days.map { $0.tally.made } == [["banana": 2, "mango": 1]])
  }

  @Test func whatIsNoNewsIsNotTold() throws {
    fixture.advance(by: .seconds(10))
    _ = told()
    fixture.publish("closed", to: "kiosk/k1/service/desk", by: panel)
    fixture.advance(by: .seconds(605))
    #expect(told() == [])
    restock()
    #expect(told() == ["forecast"])
  }

  @Test func timeAloneMovesTheForecastOnceAMinute() throws {
    fixture.advance(by: .seconds(10))
    press()
    fixture.advance(by: .seconds(3600))
    _ = told()
    fixture.advance(by: .seconds(600))
    #expect(told() == Array(repeating: "forecast", count: 10))
    #expect(try bananas()?.perHour ?? 0 > 0)
  }

  @Test func itIsTheSameAfterARestart() throws {
    fixture.advance(by: .seconds(10))
    press()
    press("tea")
    fixture.advance(by: .seconds(10))
    let before = try sales()
    fixture.crashKiosk()
    try fixture.startKiosk()
    var after = try sales()
    #expect(after.at > before.at)
    after.at = before.at
    #expect(after == before)
    press()
    fixture.advance(by: .seconds(10))
    #expect(try sales().days.map { $0.tally.made } == [["banana": 2]])
  }

  @Test func aLongLedgerIsReadWhileNobodyOrders() throws {
    // Three pages.
    for _ in 0..<30 {
      for _ in 0..<40 { fixture.publish("open", to: "kiosk/k1/service/boss", by: panel) }
      fixture.advance(by: .seconds(1))
    }
    fixture.crashKiosk()
    _ = told()
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    try fixture.startKiosk()
    // Reading does not delay orders that follow each other,
    for _ in 0..<4 {
      fixture.advance(by: .milliseconds(40))
      press("tea")
    }
    #expect(told() == [])
    // but it completes in the end, between them.
    for _ in 0..<12 {
      fixture.advance(by: .milliseconds(40))
      press("tea")
    }
    #expect(told() == ["sales", "forecast"])
    #expect(try sales().hours.map { $0.tally.made } == [["banana": 1]])
  }

  @Test func itIsToldAgainAfterAnOutage() throws {
    fixture.advance(by: .seconds(10))
    _ = told()
    fixture.crashKiosk()
    try fixture.startKiosk()
    #expect(told() == ["sales", "forecast"])
  }

  @Test func whoHasRestockedIsToldTheLatestFirst() throws {
    func history() throws -> [LedgerEntry] {
      try HistoryReport(payload: Array(try #require(fixture.retained("history")).utf8)).entries
    }
    #expect(try history() == [])
    restock()
    press()
    fixture.publish("closed", to: "kiosk/k1/service/boss", by: panel)
    fixture.advance(by: .seconds(2))
    let told = try history()
    #expect(told.map(\.source?.description) == ["service/boss", "restock/desk"])
    #expect(told.map(\.outcome) == [.service(.closed), .restocked(changes: ["banana": 40])])
    fixture.crashKiosk()
    try fixture.startKiosk()
    #expect(try history() == told)
    for _ in 0..<40 { fixture.publish("open", to: "kiosk/k1/service/boss", by: panel) }
    fixture.advance(by: .seconds(2))
    #expect(try history().count == 30)
  }

  @Test func aDayEndsByItself() throws {
    press()
    fixture.advance(by: .seconds(15 * 3600 + 60))
    let report = try sales()
    #expect(report.today.description == "2026-11-22")
    #expect(report.hours == [])
    #expect(report.days.map(\.day.description) == ["2026-11-21"])
    press()
    fixture.advance(by: .seconds(2))
    #expect(try sales().hours.map(\.hour) == [0])
    #expect(try sales().days.map { $0.tally.made } == [["banana": 1], ["banana": 1]])
  }

  private func dailySales() throws -> DailySales {
    try DailySales(payload: Array(try #require(fixture.retained("sales/days")).utf8))
  }

  @Test func theDaysBeforeTodayAreToldOnceADay() throws {
    let days = try fixture.testClient("head-office", subscribedTo: ["kiosk/k1/sales/days"])
    func told() -> Int { days.take().count }
    press()
    fixture.advance(by: .seconds(10))
    #expect(fixture.retained("sales/days") == nil)
    _ = told()
    fixture.advance(by: .seconds(15 * 3600 + 60))
    var sales = try dailySales()
    #expect(sales.from == CivilDate("2026-11-21") && sales.to == CivilDate("2026-11-21"))
    #expect(sales.tally(of: sales.from.daysSinceEpoch).made == ["banana": 1])
    press()
    fixture.advance(by: .seconds(3600))
    #expect(told() == 1)
    fixture.advance(by: .seconds(86_400))
    sales = try dailySales()
    #expect(sales.from == CivilDate("2026-11-21") && sales.to == CivilDate("2026-11-22"))
    #expect(sales.tally(of: sales.to.daysSinceEpoch).made == ["banana": 1])
    #expect(told() == 1)
    // A broker that comes back may have lost them.
    fixture.crashConnection()
    fixture.advance(by: .seconds(10))
    #expect(told() == 1)
    // A restart reads them again, from the ledger.
    fixture.crashKiosk()
    try fixture.startKiosk()
    fixture.advance(by: .seconds(10))
    #expect(try dailySales().tally(of: sales.from.daysSinceEpoch).made == ["banana": 1])
  }

  /// A kiosk whose clock is wrong at its first start, and set after ten minutes, has the same
  /// forecast and the same sales as one whose clock was right.
  @Test(arguments: [2, 30, 9_600, -2, -120, -480_000] as [Int64])
  func timeThatDidNotPassIsIgnored(hours: Int64) throws {
    func figures(of tests: Self) throws -> (ForecastReport.Outlook?, SalesReport) {
      tests.press()
      tests.fixture.advance(by: .seconds(600))
      tests.fixture.setClock(ahead: 0)
      tests.press()
      tests.fixture.advance(by: .seconds(3 * 3_600))
      tests.restock()
      for _ in 0..<5 {
        tests.press()
        tests.fixture.advance(by: .seconds(1_800))
      }
      // The ledger has recorded it.
      tests.fixture.crashKiosk()
      try tests.fixture.startKiosk()
      tests.fixture.advance(by: .seconds(1))
      return (try tests.bananas(), try tests.sales())
    }
    let wrong = try figures(of: Self(clockError: hours * 3_600))
    let right = try figures(of: self)
    #expect(wrong.0 == right.0)
    #expect(wrong.1.days == right.1.days)
    #expect(right.0?.perHour ?? 0 > 0)
  }
}
