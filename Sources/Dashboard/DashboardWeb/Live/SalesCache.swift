import Fleet
import JuiceDomain
import KioskProtocol
import Synchronization

/// The decoded sales reports of the kiosks whose pages are open: a page is rendered several times a
/// second, and its report changes only with a sale.
final class SalesCache: Sendable {
  /// Maximum number of reports. A further one removes all others.
  static let maximum = 64

  private let reports = Mutex<[KioskID: (payload: [UInt8], report: SalesReport?)]>([:])

  /// Returns the sales report of the kiosk, decoded only if it has changed.
  ///
  /// - Parameter decode: Decodes a payload, or returns `nil` if it cannot be read.
  func report(
    of kiosk: KioskState, decode: ([UInt8]) -> SalesReport? = { try? SalesReport(payload: $0) }
  ) -> SalesReport? {
    reports.withLock { reports in
      if let known = reports[kiosk.id], known.payload == kiosk.salesPayload { return known.report }
      let report = decode(kiosk.salesPayload)
      if reports.count >= Self.maximum { reports.removeAll() }
      reports[kiosk.id] = (kiosk.salesPayload, report)
      return report
    }
  }
}
