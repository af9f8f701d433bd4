import JuiceDomain
import KioskProtocol
import Testing

@testable import Archive

@Suite struct QuotaTrackerTests {
  private let start = ContinuousClock.now

  private func times(_ count: Int, every milliseconds: Int64 = 288_000) -> [Timestamp] {
    (0..<Int64(count)).map { Timestamp(milliseconds: 1_790_000_000_000 + $0 * milliseconds) }
  }

  /// Its ledger of two years, sent at once.
  @Test func aKioskThatSellsReachesNoQuota() {
    var quotas = QuotaTracker()
    let count = 2 * 365 * 300
    #expect(quotas.add(times(count), bytes: count * 1000, of: "k1", at: start) == nil)
  }

  @Test(arguments: [
    (250_001, 1, QuotaTracker.Quota.entries), (2001, 86_400_000, .days), (250_000, 1, nil),
    (2000, 86_400_000, nil),
  ])
  func aQuotaIsForAnHourAndForAKiosk(
    count: Int, every milliseconds: Int64, expected: QuotaTracker.Quota?
  ) {
    var quotas = QuotaTracker()
    let half = start + .seconds(1800)
    let first = times(count - 1, every: milliseconds)
    #expect(quotas.add(first, bytes: 1000, of: "k1", at: start) == nil)
    let last = times(count, every: milliseconds).suffix(1)
    let found = quotas.add(last, bytes: 1000, of: "k1", at: half)
    #expect(found?.quota == expected)
    #expect(found.map(\.rest) == expected.map { _ in .seconds(1800) })
    #expect(quotas.add(last, bytes: 1000, of: "k2", at: half) == nil)
    #expect(quotas.add(last, bytes: 1000, of: "k1", at: start + .seconds(3600)) == nil)
  }
  @Test(arguments: [(500_000_001, QuotaTracker.Quota.bytes), (500_000_000, nil)])
  func theBytesOfAnHourHaveAQuota(bytes: Int, expected: QuotaTracker.Quota?) {
    var quotas = QuotaTracker()
    let half = start + .seconds(1800)
    #expect(quotas.add(times(1), bytes: bytes - 1000, of: "k1", at: start) == nil)
    #expect(quotas.add(times(1), bytes: 1000, of: "k1", at: half)?.quota == expected)
    #expect(quotas.add(times(1), bytes: 1000, of: "k2", at: half) == nil)
    #expect(quotas.add(times(1), bytes: 1000, of: "k1", at: start + .seconds(3600)) == nil)
  }
}
