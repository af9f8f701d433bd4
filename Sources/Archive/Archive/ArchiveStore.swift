import JuiceDomain
package import Postgres

/// The database of the archive, opened by the one archiver that may write to it.
///
/// A store holds two sessions of PostgreSQL: one commits batches, the other one adds up daily sums
/// at the same time.
///
/// ```swift
/// let store = try ArchiveStore(settings)
/// guard try store.takeLock() else { return }  // Another archiver is active.
/// try store.open()  // Migrates the schema.
/// let outcome = try store.archive(EventBatch(deliveries, root: settings.root))
/// try store.addSums()
/// ```
///
/// | extension | tables of the schema `juice` |
/// |---|---|
/// | merge | `event`, `ledger`, `conflict`, `presence` |
/// | gaps | `gap`: missing entries, requested from kiosks |
/// | sums | `sales_day`, `takings_day`, `fruit_day`, `cup_day`, `stockout`, ... |
/// | menus | `kiosk_menu`, `rollout_kiosk`: reports about menus |
/// | quarantine | `quarantine`: messages that cannot be archived |
package final class ArchiveStore {
  /// The result of storing a batch.
  package struct Outcome: Equatable {
    /// Number of new entries.
    package internal(set) var stored = 0
    /// Kiosks that sent different content under the key of a stored entry.
    var conflicts: Set<KioskID> = []
    /// The messages that could not be archived.
    var rejected: [EventBatch.Rejection] = []

    package static func == (left: Self, right: Self) -> Bool {
      left.stored == right.stored && left.conflicts == right.conflicts
        && left.rejected.map(\.reason) == right.rejected.map(\.reason)
    }
  }

  let database: PostgresConnection
  /// The session that adds up sums while batches are committed.
  let summing: PostgresConnection
  /// Whether `summing` is running a statement.
  var isSumming = false
  /// Time between the detection of a gap and the request to its kiosk, in seconds.
  let gapDelay: Int64
  /// The time zone whose days are summed.
  let timeZone: String
  /// Upper bound of the number of entries that the sums do not include. It starts at 1, because an
  /// earlier archiver may have left some.
  package internal(set) var unsummed = 1

  /// - Throws: `DatabaseError` if the database does not exist or is not reachable.
  package init(_ settings: ArchiveSettings) throws(DatabaseError) {
    database = try PostgresConnection(settings.database, password: settings.password)
    gapDelay = settings.gapDelay.components.seconds
    timeZone = settings.timeZone
    summing = try PostgresConnection(settings.database, password: settings.password)
    for session in [database, summing] {
      // Compiling a statement (JIT) takes longer than the 0.2 us that it saves for each summed row.
      try session.run(
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

  /// Tries to become the active archiver. PostgreSQL holds the lock for as long as the session
  /// exists, and a commit needs the same session, so only the active archiver can commit.
  ///
  /// - Returns: `false` if another archiver is active.
  package func takeLock() throws(DatabaseError) -> Bool {
    // A key that no other lock in the database uses (`juic`, 2).
    try database.run("SELECT pg_try_advisory_lock(\(0x6A75_6963_0002))").rows.first?.first == "t"
  }

  /// Migrates the schema and creates the temporary tables. Requires the lock.
  package func open() throws(ArchiveError) {
    try ArchiveSchema.migrate(database)
    do throws(DatabaseError) {
      try database.run("CREATE TEMP TABLE arrival (LIKE event) ON COMMIT DELETE ROWS")
      for session in [database, summing] { try session.run(Self.scratch) }
    } catch {
      throw .database(error)
    }
  }

  var rollouts: RolloutTable { RolloutTable(database) }

  /// Checks that the sessions, and with them the lock, still exist.
  ///
  /// - Throws: `DatabaseError` if they do not.
  func probe() throws(DatabaseError) {
    try database.run("SELECT 1")
    if isSumming, try summing.isFinished() { try finishSums() }
  }
}
