package import Postgres

/// An error that ends the archiver's current session.
package enum ArchiveError: Error, Hashable, Sendable {
  /// The database failed. The archiver tries again.
  case database(DatabaseError)
  /// The schema has a migration that this version of the program does not contain.
  case newerSchema(Int)
}

extension ArchiveError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .database(let error): "\(error)"
    case .newerSchema(let version):
      "the archive's schema has version \(version), but this program supports only up to "
        + "\(ArchiveSchema.migrations.count): install the version of juice-archive that migrated it, or a later one"
    }
  }
}
