package import KioskProtocol
import Synchronization

/// The progress of an uplink, shared with its kiosk. Neither side blocks during the other's I/O.
package final class UplinkProgress: Sendable {
  private let lastRecorded = Atomic(0)
  private let lastDelivered = Atomic(0)
  private let lastSaved = Atomic(0)
  private let requestsDropped = Atomic(0)
  private let lastHealth = Mutex<KioskHealth?>(nil)

  package init() {}

  /// The last committed entry.
  package var recorded: Int { lastRecorded.load(ordering: .relaxed) }

  package func recorded(through seq: Int) { lastRecorded.store(seq, ordering: .relaxed) }

  package func delivered(through seq: Int) { lastDelivered.store(seq, ordering: .relaxed) }

  /// Returns the entry up to which the upstream broker has confirmed all entries, or `nil` if fewer
  /// than `count` of these confirmations are missing in the ledger.
  package func unsaved(from count: Int = 1) -> Int? {
    let delivered = lastDelivered.load(ordering: .relaxed)
    return delivered - lastSaved.load(ordering: .relaxed) >= count ? delivered : nil
  }

  package func saved(through seq: Int) { lastSaved.store(seq, ordering: .relaxed) }

  /// The number of requests and menus that the uplink has dropped because of its rate limits.
  package var droppedRequests: Int { requestsDropped.load(ordering: .relaxed) }

  package func droppedRequest() { requestsDropped.add(1, ordering: .relaxed) }

  /// The kiosk's last health report, or `nil` before the first.
  package var health: KioskHealth? {
    get { lastHealth.withLock(\.self) }
    set { lastHealth.withLock { $0 = newValue } }
  }
}
