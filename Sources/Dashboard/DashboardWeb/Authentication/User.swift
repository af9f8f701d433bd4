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
  /// The user sees the kiosks of this region only, by the archive's list; `nil`: all kiosks.
  package let region: String?

  package init(name: Name, role: Role, password: PasswordHash, region: String? = nil) {
    self.name = name
    self.role = role
    self.password = password
    self.region = region
  }
}
