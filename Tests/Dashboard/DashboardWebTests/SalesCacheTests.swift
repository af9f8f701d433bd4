import Fleet
import JuiceDomain
import KioskProtocol
import Testing

@testable import DashboardWeb

@Suite struct SalesCacheTests {
  private func kiosk(_ id: KioskID, usual: Double) throws -> KioskState {
    var fleet = KioskFleet(root: "kiosk")
    let report = SalesReport(
      at: Timestamp(milliseconds: 0), timeZone: "GMT",
      today: CivilDate(year: 2026, month: 11, day: 21),
      hours: [], usual: usual)
    fleet.receive(
      topic: "kiosk/\(id)/sales", payload: report.payload, isRetained: true,
      at: Timestamp(milliseconds: 0))
    return try #require(fleet[id])
  }

  @Test func aReportIsDecodedOnce() throws {
    let cache = SalesCache()
    var decoded = 0
    func usual(_ kiosk: KioskState) -> Double? {
      cache.report(of: kiosk) { payload in
        decoded += 1
        return try? SalesReport(payload: payload)
      }?.usual
    }
    let (first, second) = (try kiosk("k1", usual: 1), try kiosk("k1", usual: 2))
    for _ in 0..<3 { #expect(usual(first) == 1) }
    #expect(usual(second) == 2 && usual(second) == 2 && decoded == 2)
    for number in 0..<SalesCache.maximum {
      #expect(usual(try kiosk(KioskID("o\(number)") ?? "o", usual: 3)) == 3)
    }
    #expect(usual(second) == 2 && decoded == 2 + SalesCache.maximum + 1)
  }
}
