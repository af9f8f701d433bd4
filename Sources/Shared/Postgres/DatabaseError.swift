/// What stands between the archive and its database.
package struct DatabaseError: Error, Hashable, Sendable {
  /// What is to be done about it.
  package enum Remedy {
    /// Time, or somebody who makes room or brings the server back, helps.
    case retry
    /// Something in the batch can never be stored, whatever the server does.
    case quarantine
  }

  /// The SQLSTATE (PostgreSQL, appendix A); empty if the server has not said anything.
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
    case "53100": "the database has no room left (\(message)): make some"
    case let state where state.hasPrefix("28"):
      "the database refused the login (\(message)): check user and password"
    default: "the database says \(state): \(message)"
    }
  }
}
