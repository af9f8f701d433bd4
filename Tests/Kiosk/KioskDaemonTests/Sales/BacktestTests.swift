import Foundation
import JuiceDomain
import KioskDaemon
import KioskProtocol
import Testing

/// Tests the measured errors of past forecasts.
@Suite struct BacktestTests {
  private static let page = URL(filePath: #filePath)
    .appending(path: "../../../../../deploy/docs/forecast.md").standardized

  /// The table of the page is equal to the result, to the digit.
  @Test(arguments: MadeUpYear.all)
  func theForecastIsNearerThanLastWeekAndThanTheMean(year: MadeUpYear) throws {
    let backtest = try #require(try year.backtest())
    let page = try String(contentsOf: Self.page, encoding: .utf8)
    #expect(backtest.horizons.map(\.hours) == [6, 24, 72, 168])
    for horizon in backtest.horizons {
      let all = horizon.all
      #expect(all.forecast < all.lastWeek)
      #expect(all.forecast < all.mean)
      let cells = [all.used, all.forecast, all.lastWeek, all.mean].map {
        "\(($0 * 10).rounded() / 10)"
      }
      let row =
        "| \(year.testDescription) | \(horizon.hours) h | \(cells.joined(separator: " | ")) |"
      #expect(page.contains(row))
    }
  }

  /// Returns a kiosk that used three kiwis per hour from 2026-11-01 to 2026-11-21, 12:00 in Seoul.
  private func steady(except isSilent: (Int) -> Bool = { _ in false }) throws -> Shop {
    var shop = try Shop("2026-11-21T03:00:00Z")
    let start = try #require(Timestamp("2026-10-31T15:00:00Z"))
    try shop.open(at: Timestamp(milliseconds: start.milliseconds - 1).description)
    for hour in 0..<(20 * 24 + 12) where !isSilent(hour) {
      let time = start.milliseconds + Int64(hour) * 3_600_000 + 60_000
      try shop.sell(1, at: Timestamp(milliseconds: time).description)
    }
    return shop
  }

  @Test func whatNeverChangesIsForecastWithoutError() throws {
    let backtest = try #require(try steady().backtest)
    #expect(backtest.from.description == "2026-11-08" && backtest.to.description == "2026-11-14")
    #expect(backtest.horizons.map(\.count) == [26, 26, 26, 26])
    for horizon in backtest.horizons {
      let kiwi = try #require(horizon.fruits["kiwi"])
      #expect(abs(kiwi.used - 3 * Double(horizon.hours)) < 0.001)
      #expect(kiwi.forecast + kiwi.lastWeek < 0.001)
      #expect(kiwi.mean < 0.01 * kiwi.used)
    }
  }

  @Test func anOutageIsNotJudgedByAndNothingIsForecastInIt() throws {
    // No sale on 2026-11-12, between days with sales.
    let backtest = try #require(try steady(except: { $0 / 24 == 11 }).backtest)
    #expect(backtest.horizons.map(\.count) == [22, 22, 22, 22])
    let day = try #require(backtest.horizons[1].fruits["kiwi"])
    #expect(day.mean > 1)
    #expect(day.forecast < day.mean / 2)
  }

  @Test func lessThanTwoWeeksIsTooLittle() throws {
    var shop = try Shop("2026-11-21T03:00:00Z")
    #expect(shop.backtest == nil)
    try shop.open(at: "2026-11-08T03:00:00Z")
    try shop.sell(1, at: "2026-11-21T02:00:00Z")
    #expect(shop.backtest == nil)
  }
}

extension Shop {
  fileprivate var backtest: Backtest? { history.backtest(stock: ["kiwi": 100_000], at: now) }
}
