package import JuiceDomain

/// Somebody who may log in.
package struct User: Sendable, Hashable {
  /// Ends up in the ledger as the source of what the user does: `restock/minji`.
  package typealias Name = Identifier<User>

  package enum Role: String, CaseIterable, Sendable {
    /// Sees everything, changes nothing.
    case viewer
    /// Restocks, opens, closes and presses buttons.
    case `operator`
  }

  package let name: Name
  package let role: Role
  package let password: PasswordHash

  package init(name: Name, role: Role, password: PasswordHash) {
    self.name = name
    self.role = role
    self.password = password
  }
}
