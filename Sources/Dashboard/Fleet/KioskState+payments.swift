import JuiceDomain
package import KioskProtocol

// The payment devices of a kiosk.
extension KioskState {
  package typealias Charge = (device: PaymentDeviceID, charge: PaymentReport.Charge)

  /// The reports of all payment devices, sorted by the name of the device.
  package var paymentReports: [(device: PaymentDeviceID, report: PaymentReport)] {
    reports.payments.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// The charges that a person has to decide about, the oldest first.
  package var undecidedCharges: [Charge] {
    paymentReports.flatMap { device, report in report.charges.map { (device, $0) } }
      .sorted { $0.charge.charge < $1.charge.charge }
  }

  /// Returns the latest entry about a refund of the charge in `captures`: the refund, or else the
  /// request. Returns `nil` if there is none.
  package func refund(of charge: Int) -> LedgerEntry? {
    captures.first { entry in
      guard case .payment(let step) = entry.outcome else { return false }
      return step.charge == charge && step.kind != .captured
    }
  }
}
