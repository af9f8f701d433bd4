package import JuiceDomain

/// A person who may log in.
package struct User: Sendable, Hashable {
  /// The name, which the ledger records as the source of the user's commands: `restock/minji`.
  package typealias Name = Identifier<User>

  package enum Role: String, CaseIterable, Sendable {
    /// May see all pages and change nothing.
    case viewer
    /// May also restock, open, close and use the virtual panel.
    case `operator`
  }

  package let name: Name
  package let role: Role
  package let password: PasswordHash
  /// The only region whose kiosks the user sees, as listed in the archive, or `nil` for all kiosks.
  package let region: String?

  package init(name: Name, role: Role, password: PasswordHash, region: String? = nil) {
    self.name = name
    self.role = role
    self.password = password
    self.region = region
  }
}
