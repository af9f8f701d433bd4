/// An error of the database or of the connection to it.
package struct DatabaseError: Error, Hashable, Sendable {
  /// The appropriate reaction to an error.
  package enum Remedy {
    /// Trying again: the error is temporary, or an administrator has to remove its cause, such as a
    /// full disk.
    case retry
    /// Moving rows of the batch to quarantine: the server can never store them.
    case quarantine
  }

  /// The SQLSTATE (PostgreSQL, appendix A); empty if there is none or the connection is lost.
  package let state: String
  package let message: String

  package init(state: String = "", _ message: String) {
    self.state = state
    self.message = message
  }

  package var remedy: Remedy {
    switch state.prefix(2) {
    // Data exception, integrity constraint violation, program limit exceeded.
    case "22", "23", "54": .quarantine
    default: .retry
    }
  }
}

extension DatabaseError: CustomStringConvertible {
  package var description: String {
    switch state {
    case "": "the database cannot be reached: \(message)"
    case "53100": "the disk of the database is full (\(message)): free some space"
    case let state where state.hasPrefix("28"):
      "the database refused the login (\(message)): check user and password"
    default: "the database reported \(state): \(message)"
    }
  }
}
