import JuiceDomain
package import Postgres

/// The database session in which the active archiver stores batches.
///
/// ```swift
/// let store = try ArchiveStore(settings)
/// guard try store.takeLock() else { return }  // Another archiver is active.
/// try ArchiveStore.migrate(settings)
/// try store.open()
/// let outcome = try store.archive(EventBatch(deliveries, root: settings.root))
/// ```
///
/// | extension | tables of the schema `juice` |
/// |---|---|
/// | merge | `event`, `ledger`, `gap`, `conflict`, `presence` |
/// | marks | `dirty_day`, `misdated`: days to sum up |
/// | gaps | `gap`, `ledger`: missing entries, requested from kiosks |
/// | menus | `kiosk_menu`, `rollout_kiosk`: reports about menus |
/// | quarantine | `quarantine`: messages that cannot be archived |
/// | quota | `over_quota`: kiosks that send too much |
///
/// `DailySums` computes the sums in a session of its own.
package final class ArchiveStore {
  /// The result of storing a batch.
  package struct Outcome: Equatable {
    /// Number of new entries.
    package internal(set) var stored = 0
    /// Kiosks of the conflicts that were stored: different content under the key of a stored entry.
    var conflicts: Set<KioskID> = []
    /// Kiosks of which entries were not stored, because they exceed a quota.
    var overQuota: Set<KioskID> = []
    /// The messages that could not be archived.
    var rejected: [EventBatch.QuarantinedMessage] = []

    package static func == (left: Self, right: Self) -> Bool {
      left.stored == right.stored && left.conflicts == right.conflicts
        && left.overQuota == right.overQuota
        && left.rejected.map(\.reason) == right.rejected.map(\.reason)
    }
  }

  let database: PostgresConnection
  /// `ArchiveSettings.gapDelay` in seconds; also the base of the delays in `postpone`.
  let gapDelay: Int64
  /// The time zone whose days are summed.
  let timeZone: String
  var quotas = QuotaTracker()
  /// Ledgers that the table `ledger` has, and which therefore are within the quota of ledgers.
  var seenLedgers: Set<LedgerKey> = []
  /// The time at which each kiosk with the maximum number of gaps last opened another one.
  var extraGaps: [KioskID: ContinuousClock.Instant] = [:]
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

  /// Updates the schema in a session of its own. The caller must hold the lock.
  ///
  /// - Parameters:
  ///   - log: Called with a line before each change.
  ///   - whileWaiting: See `PostgresConnection.whileWaiting`; called with the session's process.
  package static func migrate(
    _ settings: ArchiveSettings, log: (String) -> Void = { _ in },
    whileWaiting: @escaping (Int, Duration) throws(DatabaseError) -> Void = { _, _ in }
  ) throws(ArchiveError) {
    let database: PostgresConnection
    do throws(DatabaseError) {
      database = try PostgresConnection(
        archive: settings, timeout: PostgresConnection.longTimeout)
    } catch {
      throw .database(error)
    }
    let process = database.processID
    database.whileWaiting = { waited throws(DatabaseError) in try whileWaiting(process, waited) }
    try check(database, settings)
    try ArchiveSchema.migrate(database, log: log)
  }

  /// Creates the temporary table `arrival`, and records that no broker is connected yet. The caller
  /// must hold the lock, and have migrated the schema.
  package func open() throws(DatabaseError) {
    try database.run(
      """
      CREATE TEMP TABLE arrival ON COMMIT DELETE ROWS
        AS SELECT \(EventRow.columnList) FROM event LIMIT 0
      """)
    try noteConnection(false)
  }

  /// Checks that the database has the time zone and the encoding UTF8, and no archive or one that
  /// this program can use.
  ///
  /// - Returns: Whether the database has no archive yet.
  package static func check(_ settings: ArchiveSettings) throws(ArchiveError) -> Bool {
    let database: PostgresConnection
    do throws(DatabaseError) {
      database = try PostgresConnection(archive: settings)
    } catch {
      throw .database(error)
    }
    try check(database, settings)
    do throws(ArchiveError) { try ArchiveSchema.check(database) } catch {
      guard error == .olderSchema(0) else { throw error }
      return true
    }
    return false
  }

  private static func check(
    _ database: PostgresConnection, _ settings: ArchiveSettings
  ) throws(ArchiveError) {
    let (encoding, isKnown): (String?, Bool)
    do throws(DatabaseError) {
      encoding = try database.run("SHOW server_encoding").rows.first?.first?.flatMap(\.self)
      // PostgreSQL reads some names without a slash as abbreviations: IST is Israel's time there.
      isKnown = try !database.run(
        """
        SELECT name FROM pg_timezone_names
        WHERE name = $1 AND (name IN ('UTC', 'GMT') OR name LIKE '%/%')
        """, [settings.timeZone]
      ).rows.isEmpty
    } catch {
      throw .database(error)
    }
    guard encoding == "UTF8" else { throw .encoding(encoding ?? "") }
    guard isKnown else { throw .unknownTimeZone(settings.timeZone) }
  }

  var rollouts: RolloutTable { RolloutTable(database) }

  /// Checks that the session, and with it the lock, still exists, and records that the archiver is
  /// well.
  ///
  /// - Throws: `DatabaseError` if it does not.
  func probe() throws(DatabaseError) { try database.run("UPDATE reception SET checked = now()") }

  /// Records whether the archiver is connected to its broker.
  func noteConnection(_ isConnected: Bool) throws(DatabaseError) {
    try database.run(
      """
      UPDATE reception SET checked = now(), is_connected = \(isConnected),
        since = CASE WHEN is_connected = \(isConnected) THEN since ELSE now() END
      """)
  }
}

extension PostgresConnection {
  /// Connects to the archive's database, and selects the schema `juice` and the time zone UTC.
  ///
  /// - Parameter timeout: By default that of the settings.
  convenience init(
    archive settings: ArchiveSettings, timeout: Duration? = nil
  ) throws(DatabaseError) {
    try self.init(
      settings.database, password: settings.password, timeout: timeout ?? settings.timeout)
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

  /// The timeout of a session whose statements change or delete large tables.
  static let longTimeout = Duration.seconds(86_400)
}
