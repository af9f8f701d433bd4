import ArgumentParser
import KioskConfiguration
import KioskMessages
import Ledger
import MessageBroker

/// An end that is not success: a sentence for the person, a code for the script (sysexits.h).
struct Failure: Error {
  let status: ExitCode
  let message: String

  static func badData(_ message: String) -> Failure {
    Failure(status: ExitCode(65), message: message)
  }
  static func unavailable(_ message: String) -> Failure {
    Failure(status: ExitCode(69), message: message)
  }
  static func tryAgain(_ message: String) -> Failure {
    Failure(status: ExitCode(75), message: message)
  }
  static func badConfiguration(_ message: String) -> Failure {
    Failure(status: ExitCode(78), message: message)
  }

  init(status: ExitCode, message: String) {
    self.status = status
    self.message = message
  }

  init(_ error: BrokerError) { self = .unavailable("\(error)") }

  init(_ error: ConfigurationErrors) { self = .badConfiguration("\(error)") }

  init(_ error: LedgerError) {
    switch error {
    case .inUse: self = .tryAgain("\(error)")
    case .cannotOpen: self = .badConfiguration("\(error)")
    case .damaged, .doesNotAddUp, .unreadable, .newer, .unknownFruit: self = .badData("\(error)")
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
