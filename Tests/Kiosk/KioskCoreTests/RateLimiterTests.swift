import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import KioskCore

@Suite struct RateLimiterTests {
  private let panel = Source(kind: .order, name: "p1")

  @Test func eachSenderHasItsOwnSecond() {
    var rate = RateLimiter<Source>(perSecond: 2)
    func admitted(_ source: Source, _ milliseconds: Int64) -> Bool {
      rate.admit(source, at: Timestamp(milliseconds: 1_795_251_600_000 + milliseconds))
    }
    let burst = (1...4).map { _ in admitted(panel, 0) }
    #expect(burst == [true, true, false, false])
    let others = [Source(kind: .order, name: "p2"), Source(kind: .service, name: "p1")]
      .map { admitted($0, 0) }
    #expect(others == [true, true])
    // Setting the clock back starts a new second.
    let later = [999, 1000, 1000, 1999, 0].map { admitted(panel, $0) }
    #expect(later == [false, true, true, false, true])
  }

  @Test func zeroIsNoLimit() {
    var rate = RateLimiter<Source>(perSecond: 0)
    let admitted = (1...1000).map { _ in rate.admit(panel, at: TestKiosk.start) }
    #expect(!admitted.contains(false))
  }
}
