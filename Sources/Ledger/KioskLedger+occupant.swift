package import KioskMessages

extension KioskLedger {
  /// Whether a kiosk has a ledger open.
  package enum Occupant: Sendable, Equatable {
    /// - Parameter process: its id, as far as it is known.
    case kiosk(process: Int?)
    /// - Parameter lastAlive: when one was online; `nil` if never.
    case nobody(lastAlive: Timestamp?)
  }

  /// Looks who has the ledger, and changes nothing.
  ///
  /// - Throws: `LedgerError.cannotOpen` if the lock is there but may not be read.
  package static func occupant(of path: String) throws(LedgerError) -> Occupant {
    try LedgerLock.occupant(of: path)
  }
}
