package import ArgumentParser
package import MessageBroker
package import YAMLConfiguration

/// An error that determines the exit code of a command.
package protocol ExitCodeConvertible: Error {
  var failure: Failure { get }
}

/// The unsuccessful end of a command: a message for the user, and an exit code for scripts
/// (sysexits.h).
package struct Failure: ExitCodeConvertible, CustomStringConvertible {
  package let status: ExitCode
  package let message: String

  package static func badData(_ message: String) -> Failure {
    Failure(status: ExitCode(65), message: message)
  }
  package static func unavailable(_ message: String) -> Failure {
    Failure(status: ExitCode(69), message: message)
  }
  package static func tryAgain(_ message: String) -> Failure {
    Failure(status: ExitCode(75), message: message)
  }
  package static func badConfiguration(_ message: String) -> Failure {
    Failure(status: ExitCode(78), message: message)
  }

  package init(status: ExitCode, message: String) {
    self.status = status
    self.message = message
  }

  package var failure: Failure { self }
  package var description: String { message }
}

extension BrokerError: ExitCodeConvertible {
  package var failure: Failure { .unavailable("\(self)") }
}

extension ConfigurationErrors: ExitCodeConvertible {
  package var failure: Failure { .badConfiguration("\(self)") }
}
