package import JuiceDomain
import KioskProtocol

/// A person who may log in.
package struct User: Sendable, Hashable {
  /// The name, which the ledger records as the source of the user's commands: `restock/minji`.
  package typealias Name = Identifier<User>

  package enum Role: String, CaseIterable, Sendable {
    /// May see kiosks, routes and the history, and change only the user's own account.
    case viewer
    /// May see only the routes that name the user as their driver, and report their stops.
    case driver
    /// May also plan routes and send commands to kiosks.
    case `operator`
    /// May also manage the users, unless restricted to regions.
    case admin
  }

  package let name: Name
  package let role: Role
  package let password: PasswordHash
  /// The only regions whose kiosks the user may see, sorted; empty for all kiosks.
  package let regions: [String]

  /// Whether the user may plan routes and send commands to kiosks.
  var isOperator: Bool { role == .operator || role == .admin }
  /// Whether the user may report the stops of routes.
  var canReport: Bool { isOperator || role == .driver }
  /// Whether the user may manage the users. This requires access to all kiosks.
  var isAdmin: Bool { role == .admin && regions.isEmpty }

  package init(name: Name, role: Role, password: PasswordHash, regions: some Sequence<String> = [])
  {
    self.name = name
    self.role = role
    self.password = password
    self.regions = Set(regions).sorted()
  }

  /// Returns the name of a new user, or `nil` if it is invalid or looks like an option of a command.
  package static func newName(_ text: String) -> Name? { text.hasPrefix("-") ? nil : Name(text) }

  /// Returns the name of a region with single spaces between words, as `juice-archive kiosks load`
  /// stores it, or `nil` unless it has 1 to 64 characters and all are visible.
  package static func region(_ text: String) -> String? {
    let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let isValid =
      !words.isEmpty && words.unicodeScalars.count <= 64
      && !words.unicodeScalars.contains(where: \.isInvisible)
    return isValid ? words : nil
  }
}
