import JuiceDomain
package import Postgres

/// The archive in its database, for the one session that may write to it.
package final class ArchiveStore {
  /// What has become of a batch.
  package struct Outcome: Equatable {
    /// New entries.
    package internal(set) var stored = 0
    /// Kiosks that told another content under the key of an earlier entry.
    var conflicts: Set<KioskID> = []
    /// Of those that could not be archived.
    var rejected: [EventBatch.Rejection] = []

    package static func == (left: Self, right: Self) -> Bool {
      left.stored == right.stored && left.conflicts == right.conflicts
        && left.rejected.map(\.reason) == right.rejected.map(\.reason)
    }
  }

  let database: PostgresConnection
  /// A session that adds up while batches are committed.
  let summing: PostgresConnection
  /// It does so now.
  var isSumming = false
  /// From when a gap is noticed until its kiosk is asked, in seconds.
  let gapDelay: Int64
  /// Whose days are summed up.
  let timeZone: String
  /// So many entries may have to be added to the sums. An earlier archiver may have left some.
  package internal(set) var unsummed = 1

  /// - Throws: `DatabaseError`: there is no such database, or it is away.
  package init(_ settings: ArchiveSettings) throws(DatabaseError) {
    database = try PostgresConnection(settings.database, password: settings.password)
    gapDelay = settings.gapDelay.components.seconds
    timeZone = settings.timeZone
    summing = try PostgresConnection(settings.database, password: settings.password)
    for session in [database, summing] {
      // Compiling a statement takes longer than what it saves here: 0.2 us for each row that is added up.
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

  /// Tries to become the one that archives. It is as long as its connection lives, so that nobody commits
  /// who is not.
  ///
  /// - Returns: whether nobody else is.
  package func takeLock() throws(DatabaseError) -> Bool {
    // Any number that nobody else takes (`juic`, 2).
    try database.run("SELECT pg_try_advisory_lock(\(0x6A75_6963_0002))").rows.first?.first == "t"
  }

  /// Makes ready for batches, with the lock.
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

  /// Whether the database is still there, and with it the lock.
  func probe() throws(DatabaseError) {
    try database.run("SELECT 1")
    if isSumming, try summing.isFinished() { try finishSums() }
  }
}
