package import Postgres

/// An error of the archive's database or its schema.
package enum ArchiveError: Error, Hashable, Sendable {
  /// The database failed. The archiver tries again.
  case database(DatabaseError)
  /// The schema has a migration that this version of the program does not contain. The value is the
  /// number of the schema's last migration.
  case newerSchema(Int)
  /// The schema lacks a migration. The value is the number of the schema's last migration, 0 if
  /// there is no schema.
  case olderSchema(Int)
  /// PostgreSQL has no time zone with this name; or the name has no slash, and is not UTC or GMT.
  case unknownTimeZone(String)
  /// The database has an encoding that lacks characters which events contain.
  case encoding(String)
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
    case .encoding(let name):
      "the database has the encoding \(name), which lacks characters of events: create it with the encoding UTF8, "
        + "'createdb -E UTF8 -T template0 -O juice-archive juice'"
    }
  }
}
