import Logging
import Postgres

/// Updates the schema before an archiver becomes active, on a thread of its own: a migration may
/// last for hours, and until its end the archiver must react to signals.
actor SchemaUpdate {
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  private let thread = DatabaseThread(label: "schema")

  /// Migrates the schema, and logs the progress. If the task is cancelled, PostgreSQL undoes the
  /// migration.
  func run(_ settings: ArchiveSettings, _ logger: Logger) throws(ArchiveError) {
    try ArchiveStore.migrate(
      settings, log: { logger.notice("\($0)") },
      whileWaiting: { process, waited throws(DatabaseError) in
        guard !Task.isCancelled else { throw DatabaseError("the archiver ends") }
        settings.logProgress(of: "a change of the schema", by: process, waited, to: logger)
      })
  }
}

extension ArchiveSettings {
  /// Logs once a minute for how long a statement has run, and the sessions for which it waits.
  ///
  /// - Parameters:
  ///   - process: The process of the session that runs the statement.
  ///   - waited: The time since the statement began; called about once a second.
  func logProgress(
    of work: String, by process: Int, _ waited: Duration, to logger: Logger
  ) {
    let seconds = waited.components.seconds
    guard seconds == 5 || seconds > 0 && seconds.isMultiple(of: 60) else { return }
    let cause: String
    do throws(DatabaseError) {
      let blockers = try PostgresConnection(archive: self).run(
        """
        SELECT application_name || ' (process ' || pid || ')' FROM pg_stat_activity
        WHERE pid = ANY (pg_blocking_pids($1::int))
        """, ["\(process)"]
      ).rows.compactMap { $0[0] }
      cause = blockers.isEmpty ? "" : "; it waits for \(blockers.joined(separator: ", "))"
    } catch {
      cause = "; its cause is unknown: \(error)"
    }
    logger.notice("\(work) has run for \(seconds) s\(cause)")
  }
}
