package import Postgres

/// Why the archive does not go on.
package enum ArchiveError: Error, Hashable, Sendable {
  /// Tried again.
  case database(DatabaseError)
  /// The schema has a migration that this program does not know.
  case newerSchema(Int)
}

extension ArchiveError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .database(let error): "\(error)"
    case .newerSchema(let version):
      "the archive's schema has version \(version), and this program knows \(ArchiveSchema.migrations.count): "
        + "install the juice-archive that has migrated it, or a later one"
    }
  }
}
