package import KioskProtocol

extension KioskLedger {
  /// Whether a kiosk has a ledger open.
  package enum LockHolder: Sendable, Equatable {
    /// - Parameter process: its id, as far as it is known.
    case kiosk(process: Int?)
    /// - Parameter lastHeartbeat: when one was online; `nil` if never.
    case unlocked(lastHeartbeat: Timestamp?)
  }

  /// Looks who has the ledger, and changes nothing.
  ///
  /// - Throws: `LedgerError.cannotOpen` if the lock is there but may not be read.
  package static func lockHolder(of path: String) throws(LedgerError) -> LockHolder {
    try LedgerLock.lockHolder(of: path)
  }
}
