package import KioskProtocol

extension KioskLedger {
  /// The holder of a ledger's lock.
  package enum LockHolder: Sendable, Equatable {
    /// A process holds the lock: a kiosk, or a restore.
    ///
    /// - Parameter process: The process id, or `nil` if it is unknown.
    case kiosk(process: Int?)
    /// No process holds the lock.
    ///
    /// - Parameter lastHeartbeat: The last recorded heartbeat of a kiosk, or `nil` if there is none.
    case unlocked(lastHeartbeat: Timestamp?)
  }

  /// Returns the holder of a ledger's lock, without changing a file.
  ///
  /// - Throws: `LedgerError.cannotOpen` if the lock file exists but cannot be read, or a file is a symbolic link.
  package static func lockHolder(of path: String) throws(LedgerError) -> LockHolder {
    try LedgerLock.lockHolder(of: path)
  }
}
