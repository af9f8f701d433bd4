import JuiceDomain
package import Postgres

/// The database session in which the active archiver stores batches.
///
/// ```swift
/// let store = try ArchiveStore(settings)
/// guard try store.takeLock() else { return }  // Another archiver is active.
/// try store.open()  // Migrates the schema.
/// let outcome = try store.archive(EventBatch(deliveries, root: settings.root))
/// ```
///
/// | extension | tables of the schema `juice` |
/// |---|---|
/// | merge | `event`, `ledger`, `gap`, `conflict`, `presence`, `dirty_day` |
/// | gaps | `gap`, `ledger`: missing entries, requested from kiosks |
/// | menus | `kiosk_menu`, `rollout_kiosk`: reports about menus |
/// | quarantine | `quarantine`: messages that cannot be archived |
///
/// `DailySums` computes the sums in a session of its own.
package final class ArchiveStore {
  /// The result of storing a batch.
  package struct Outcome: Equatable {
    /// Number of new entries.
    package internal(set) var stored = 0
    /// Kiosks of the conflicts that were stored: different content under the key of a stored entry.
    var conflicts: Set<KioskID> = []
    /// The messages that could not be archived.
    var rejected: [EventBatch.QuarantinedMessage] = []

    package static func == (left: Self, right: Self) -> Bool {
      left.stored == right.stored && left.conflicts == right.conflicts
        && left.rejected.map(\.reason) == right.rejected.map(\.reason)
    }
  }

  let database: PostgresConnection
  /// `ArchiveSettings.gapDelay` in seconds; also the base of the delays in `postpone`.
  let gapDelay: Int64
  /// The time zone whose days are summed.
  let timeZone: String
  /// The error that the database reported for the rows in the last `merge`, or `nil`.
  var rowsError: DatabaseError?

  /// Connects to the archive's database.
  ///
  /// - Throws: `DatabaseError` if the database does not exist or the connection fails.
  package init(_ settings: ArchiveSettings) throws(DatabaseError) {
    database = try PostgresConnection(archive: settings)
    gapDelay = settings.gapDelay.components.seconds
    timeZone = settings.timeZone
  }

  /// Tries to become the active archiver. PostgreSQL holds the lock for as long as the session
  /// exists, and a commit needs the same session, so only the active archiver can commit.
  ///
  /// - Returns: `false` if another archiver is active.
  package func takeLock() throws(DatabaseError) -> Bool {
    try database.run("SELECT pg_try_advisory_lock(\(Self.lock))").rows.first?.first == "t"
  }

  /// The key of the lock (`juic`, 2). No other lock in the database may use it.
  static let lock = 0x6A75_6963_0002

  /// Checks the time zone, migrates the schema, and creates the temporary table `arrival`. The
  /// caller must hold the lock.
  package func open() throws(ArchiveError) {
    try Self.checkTimeZone(timeZone, in: database)
    try ArchiveSchema.migrate(database)
    do throws(DatabaseError) {
      try database.run(
        """
        CREATE TEMP TABLE arrival ON COMMIT DELETE ROWS
          AS SELECT \(EventRow.columnList) FROM event LIMIT 0
        """)
    } catch {
      throw .database(error)
    }
  }

  /// Checks that the database has the time zone, and no archive or one that this program can use.
  ///
  /// - Returns: Whether the database has no archive yet.
  package static func check(_ settings: ArchiveSettings) throws(ArchiveError) -> Bool {
    let database: PostgresConnection
    do throws(DatabaseError) {
      database = try PostgresConnection(archive: settings)
    } catch {
      throw .database(error)
    }
    try checkTimeZone(settings.timeZone, in: database)
    do throws(ArchiveError) { try ArchiveSchema.check(database) } catch {
      guard error == .olderSchema(0) else { throw error }
      return true
    }
    return false
  }

  private static func checkTimeZone(
    _ name: String, in database: PostgresConnection
  ) throws(ArchiveError) {
    let isKnown: Bool
    do throws(DatabaseError) {
      // PostgreSQL reads some names without a slash as abbreviations: IST is Israel's time there.
      isKnown = try !database.run(
        """
        SELECT name FROM pg_timezone_names
        WHERE name = $1 AND (name IN ('UTC', 'GMT') OR name LIKE '%/%')
        """, [name]
      ).rows.isEmpty
    } catch {
      throw .database(error)
    }
    guard isKnown else { throw .unknownTimeZone(name) }
  }

  var rollouts: RolloutTable { RolloutTable(database) }

  /// Checks that the session, and with it the lock, still exists.
  ///
  /// - Throws: `DatabaseError` if it does not.
  func probe() throws(DatabaseError) { try database.run("SELECT 1") }
}

extension PostgresConnection {
  /// Connects to the archive's database, and selects the schema `juice` and the time zone UTC.
  convenience init(
    archive settings: ArchiveSettings, timeout: Duration = .seconds(60)
  ) throws(DatabaseError) {
    try self.init(settings.database, password: settings.password, timeout: timeout)
    // Compiling a statement (JIT) takes longer than it saves.
    try run(
      """
      SET jit = off;
      SET search_path = juice, pg_temp;
      SET TimeZone = 'UTC';
      SET work_mem = '64MB';
      SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') = 'off'
      """)
  }
}
