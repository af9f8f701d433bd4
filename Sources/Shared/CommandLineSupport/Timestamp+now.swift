package import Foundation
package import KioskProtocol

extension Timestamp {
  /// The time of the system's clock.
  package static var now: Timestamp { Timestamp(Date()) }

  package init(_ date: Date) {
    self.init(milliseconds: Int64(date.timeIntervalSince1970 * 1000))
  }
}
