package import KioskProtocol

extension KioskLedger {
  /// The holder of a ledger's lock.
  package enum LockHolder: Sendable, Equatable {
    /// A kiosk has the ledger open.
    ///
    /// - Parameter process: The process id, or `nil` if it is unknown.
    case kiosk(process: Int?)
    /// No process holds the lock.
    ///
    /// - Parameter lastHeartbeat: The last time that a kiosk was online, or `nil` if it never was.
    case unlocked(lastHeartbeat: Timestamp?)
  }

  /// Returns the holder of a ledger's lock, without changing anything.
  ///
  /// - Throws: `LedgerError.cannotOpen` if the lock file exists but cannot be read.
  package static func lockHolder(of path: String) throws(LedgerError) -> LockHolder {
    try LedgerLock.lockHolder(of: path)
  }
}
