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
}

extension LedgerEntry {
  /// Returns the latest refund, also in cash, or request for one, among the entries of a charge. Returns
  /// `nil` without one, and after a later decision that the charge stays captured.
  ///
  /// - Parameter entries: The newest first.
  package static func refund(in entries: [LedgerEntry]) -> LedgerEntry? {
    let statuses: [Status] = [.refund, .refunded, .paidBack, .kept]
    let latest = entries.first { statuses.contains($0.status) }
    return latest?.status == .kept ? nil : latest
  }
}
