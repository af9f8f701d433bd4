package import JuiceDomain
import KioskProtocol

/// A person who may log in.
package struct User: Sendable, Hashable {
  /// The name, which the ledger records as the source of the user's commands: `restock/minji`.
  package typealias Name = Identifier<User>

  package enum Role: String, CaseIterable, Sendable {
    /// May see all pages and change nothing.
    case viewer
    /// May also restock, open, close and use the virtual panel.
    case `operator`
    /// May also manage the users.
    case admin
  }

  package let name: Name
  package let role: Role
  package let password: PasswordHash
  /// The only region whose kiosks the user sees, as listed in the archive, or `nil` for all kiosks.
  package let region: String?

  /// Whether the user may change something.
  var isOperator: Bool { role != .viewer }
  /// Whether the user may manage the users, which only a user of all kiosks may.
  var isAdmin: Bool { role == .admin && region == nil }

  package init(name: Name, role: Role, password: PasswordHash, region: String? = nil) {
    self.name = name
    self.role = role
    self.password = password
    self.region = region
  }

  /// Returns the name of a region by the rules of `juice-archive kiosks load`: 1 to 64 printable
  /// characters on one line; `nil` for any other text.
  package static func region(_ text: String) -> String? {
    let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let isValid =
      !words.isEmpty && words.unicodeScalars.count <= 64
      && !words.unicodeScalars.contains(where: \.isInvisible)
    return isValid ? words : nil
  }
}
