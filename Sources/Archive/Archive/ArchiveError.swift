package import Postgres

/// An error that ends the archiver's current session.
package enum ArchiveError: Error, Hashable, Sendable {
  /// The database failed. The archiver tries again.
  case database(DatabaseError)
  /// The schema has a migration that this version of the program does not contain.
  case newerSchema(Int)
  /// The schema lacks a migration, or does not exist.
  case olderSchema(Int)
  /// PostgreSQL does not know the time zone, or knows another one by that name.
  case unknownTimeZone(String)
}

extension ArchiveError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .database(let error): "\(error)"
    case .newerSchema(let version):
      "the archive's schema has version \(version), but this program supports only up to "
        + "\(ArchiveSchema.migrations.count): install the version of juice-archive that migrated it, or a later one"
    case .olderSchema(0): "the database has no archive yet: start 'juice-archive run' once"
    case .olderSchema(let version):
      "the archive's schema has version \(version), and this program needs \(ArchiveSchema.migrations.count): "
        + "restart 'juice-archive run' with this release"
    case .unknownTimeZone(let name):
      "archive.time_zone: the database does not know \(name) as a region: write it like 'Asia/Seoul' or 'UTC'; "
        + "SELECT name FROM pg_timezone_names lists them"
    }
  }
}
