import JuiceDomain
import KioskProtocol
import Testing

@testable import KioskDaemon

struct PaymentHealthTests {
  private static let won = Currency("KRW")!

  private func report(
    _ currency: Currency?, captured: Int = 0, refunded: Int = 0, difference: Int = 0
  ) -> PaymentReport {
    PaymentReport(
      state: .off, difference: difference, captured: currency.map { Money(units: captured, $0) },
      refunded: currency.map { Money(units: refunded, $0) })
  }

  @Test func amountsOfAnotherCurrencyAreNotAdded() {
    let reports = [
      report(.euro, captured: 700, refunded: 50, difference: -3),
      report(Self.won, captured: 90_000, difference: 1000), report(nil),
      report(.euro, captured: 350, difference: 2),
    ]
    #expect(
      KioskHealth.Payment(reports, open: 2, in: .euro)
        == KioskHealth.Payment(down: 4, open: 2, difference: 5, taken: 1000))
    #expect(
      KioskHealth.Payment(reports, open: 0, in: Self.won)
        == KioskHealth.Payment(down: 4, open: 0, difference: 1000, taken: 90_000))
  }
}
