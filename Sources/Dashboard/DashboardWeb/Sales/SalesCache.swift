import Fleet
import JuiceDomain
import KioskProtocol
import Synchronization

/// The decoded sales reports of the kiosks whose pages are open. A page is rendered several times a
/// second, but the report changes less often.
final class SalesCache: Sendable {
  /// Maximum number of reports. At this number, a new or changed report removes all others.
  static let maximum = 64

  private let reports = Mutex<[KioskID: (payload: [UInt8], report: SalesReport?)]>([:])

  /// Returns the sales report of the kiosk, decoded only if it has changed.
  ///
  /// - Parameter decode: Decodes a payload. Returns `nil` if the payload cannot be read.
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
