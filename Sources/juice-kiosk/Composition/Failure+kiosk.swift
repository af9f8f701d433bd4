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
    switch (result.status, result.reason) {
    case (.ready, _), (.applied, _): return nil
    case (.outOfStock, _), (_, .closed), (_, .conflict), (_, .rateLimited), (_, .stale):
      self = .tryAgain(result.summary)
    case (.rejected, _):
      self = .badData(result.summary)
    }
  }
}
