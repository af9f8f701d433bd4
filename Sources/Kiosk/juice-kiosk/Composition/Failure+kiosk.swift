import ArgumentParser
package import CommandLineSupport
import KioskProtocol
package import Ledger

extension LedgerError: ExitCodeConvertible {
  package var failure: Failure {
    switch self {
    case .inUse: .tryAgain("\(self)")
    case .cannotOpen, .readOnly: .badConfiguration("\(self)")
    case .badBackup, .damaged, .inconsistent, .newer, .notAllowed, .notReplaced, .notRestored,
      .removed,
      .unknownFruit, .unreadable, .unreadableState:
      .badData("\(self)")
    case .diskFull, .disk, .locked: Failure(status: ExitCode(74), message: "\(self)")
    }
  }
}

extension Failure {
  /// Creates the failure that corresponds to the result of a command. Returns `nil` if the result
  /// reports no failure.
  init?(_ result: CommandResult) {
    switch result.status {
    case .ready, .accepted, .awaitingPayment, .applied: return nil
    case .outOfStock, .failed: self = .tryAgain(result.summary)
    case .rejected:
      switch result.reason {
      case .closed, .conflict, .rateLimited, .stale, .machineDown, .cleaningDue, .paymentDown,
        .blocked:
        self = .tryAgain(result.summary)
      case .unknownJuice, .unknownFruit, .malformed, .tooLarge, .quantityOutOfRange, .retained,
        .exceedsCapacity, .belowZero, .expired, .notRecorded, .unknownMachine, .noDecisionNeeded,
        .unknownDevice, .unknownCharge, .wrongAmount, nil:
        self = .badData(result.summary)
      }
    }
  }
}
