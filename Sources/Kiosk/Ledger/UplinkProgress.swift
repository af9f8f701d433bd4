import Synchronization

/// What a kiosk and the way up, which reads its ledger, tell each other. Neither waits for the other.
package final class UplinkProgress: Sendable {
  private let lastRecorded = Atomic(0)
  private let lastDelivered = Atomic(0)
  private let lastSaved = Atomic(0)
  private let lastHealth = Mutex<[UInt8]?>(nil)

  package init() {}

  /// The last entry that the disk has.
  package var recorded: Int { lastRecorded.load(ordering: .relaxed) }

  package func recorded(through seq: Int) { lastRecorded.store(seq, ordering: .relaxed) }

  package func delivered(through seq: Int) { lastDelivered.store(seq, ordering: .relaxed) }

  /// The entry up to which every one is up there, if the ledger has not been told.
  ///
  /// - Parameter count: only if it is about so many entries.
  package func unsaved(from count: Int = 1) -> Int? {
    let delivered = lastDelivered.load(ordering: .relaxed)
    return delivered - lastSaved.load(ordering: .relaxed) >= count ? delivered : nil
  }

  package func saved(through seq: Int) { lastSaved.store(seq, ordering: .relaxed) }

  /// What the kiosk has last said of its health.
  package var health: [UInt8]? {
    get { lastHealth.withLock(\.self) }
    set { lastHealth.withLock { $0 = newValue } }
  }
}
