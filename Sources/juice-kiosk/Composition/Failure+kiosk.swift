import ArgumentParser
import KioskMessages
import Ledger
import Program

extension Failure {
  init(_ error: LedgerError) {
    switch error {
    case .inUse: self = .tryAgain("\(error)")
    case .cannotOpen: self = .badConfiguration("\(error)")
    case .badBackup, .damaged, .doesNotAddUp, .newer, .notAllowed, .notReplaced,
      .unknownFruit, .unreadable:
      self = .badData("\(error)")
    case .diskFull, .disk: self = Failure(status: ExitCode(74), message: "\(error)")
    }
  }

  /// What a result comes to that is neither `ready` nor `applied`.
  init?(_ result: CommandResult) {
    switch result.status {
    case .ready, .accepted, .applied: return nil
    case .outOfStock, .failed: self = .tryAgain(result.summary)
    case .rejected:
      switch result.reason {
      case .closed, .conflict, .rateLimited, .stale, .machineDown:
        self = .tryAgain(result.summary)
      case .unknownJuice, .unknownFruit, .malformed, .tooLarge, .quantityOutOfRange, .retained,
        .exceedsCapacity, .belowZero, .notRecorded, .unknownMachine, .notAsked, nil:
        self = .badData(result.summary)
      }
    }
  }
}
