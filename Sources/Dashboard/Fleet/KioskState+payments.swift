package import JuiceDomain
package import KioskProtocol

// The payment devices of a kiosk.
extension KioskState {
  package typealias Charge = (device: PaymentDeviceID, charge: PaymentReport.Charge)

  /// The reports of all payment devices, sorted by the name of the device.
  package var paymentReports: [(device: PaymentDeviceID, report: PaymentReport)] {
    payments.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// The charges that a person has to decide about, the oldest first.
  package var undecidedCharges: [Charge] {
    paymentReports.flatMap { device, report in report.charges.map { (device, $0) } }
      .sorted { $0.charge.charge < $1.charge.charge }
  }

  /// The payment devices whose last end of day differs from the ledger, with the amount by which
  /// the device's total exceeds that of the ledger, in smallest units. Omits removed devices.
  package var dayDifferences: [(device: PaymentDeviceID, units: Int, currency: Currency)] {
    lastTotals.sorted { $0.key < $1.key }.compactMap { device, entry in
      guard payments[device] != nil, case .total(let total, _, let units?) = entry.outcome,
        units != 0
      else { return nil }
      return (device, units, total.captured.currency)
    }
  }

  /// Whether a payment device is not working, a charge needs a person's decision, or the last end
  /// of day of a device differs from the ledger.
  package var paymentNeedsAttention: Bool {
    payments.values.contains { $0.state == .off || !$0.charges.isEmpty } || !dayDifferences.isEmpty
  }

  /// Whether the kiosk has payment devices and none works, so that it sells no juice with a price.
  var isPaymentDown: Bool { !payments.isEmpty && payments.values.allSatisfy { $0.state == .off } }

  /// Returns the latest entry about a refund of the charge in `captures`: the refund, or else the
  /// request. Returns `nil` if there is none.
  package func refund(of charge: Int) -> LedgerEntry? {
    captures.first { entry in
      guard case .payment(let step) = entry.outcome else { return false }
      return step.charge == charge && step.kind != .captured
    }
  }
}
