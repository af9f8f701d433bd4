import Logging
import Postgres

/// Creates the indexes of `ArchiveSchema.indexes` that the table `event` lacks, partition by
/// partition and without blocking the archiver: the index of a large partition takes hours.
actor IndexBuilder {
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  private let thread = DatabaseThread(label: "indexes")
  private let settings: ArchiveSettings
  private let logger: Logger

  init(_ settings: ArchiveSettings, logger: Logger) {
    self.settings = settings
    self.logger = logger
  }

  /// Runs until all indexes exist or the task is cancelled. Tries again a second after the first
  /// error and at most a minute after each further one: the session of an archiver that has ended
  /// can hold the lock for a moment.
  func run() async {
    var pause = Duration.seconds(1)
    while !Task.isCancelled {
      do throws(DatabaseError) { return try build() } catch {
        if !Task.isCancelled { logger.warning("an index cannot be created yet: \(error)") }
        // Throws only if the task is cancelled, which ends the loop.
        try? await Task.sleep(for: pause)
        pause = min(pause * 2, .seconds(60))
      }
    }
  }

  private func build() throws(DatabaseError) {
    let database = try PostgresConnection(
      archive: settings, timeout: PostgresConnection.longTimeout)
    // The session of an archiver that has lost its lock may still create an index.
    guard
      try database.run("SELECT pg_try_advisory_lock(\(0x6A75_6963_0004))").rows.first?.first == "t"
    else { throw DatabaseError(state: "55P03", "another session creates it") }
    let process = database.processID
    database.whileWaiting = { [settings, logger] waited throws(DatabaseError) in
      guard !Task.isCancelled else { throw DatabaseError("the archiver ends") }
      settings.logProgress(of: "the creation of an index", by: process, waited, to: logger)
    }
    for index in ArchiveSchema.indexes {
      try database.run("SET client_min_messages = warning")
      try database.run("CREATE INDEX IF NOT EXISTS \(index.name) ON ONLY event \(index.definition)")
      while let partition = try firstPartition(without: index.name, in: database) {
        let name = "\(partition)_\(index.name)"
        logger.notice("the index \(name) is created")
        // A creation that was interrupted leaves an invalid index.
        try database.run("DROP INDEX CONCURRENTLY IF EXISTS \(name)")
        try database.run("CREATE INDEX CONCURRENTLY \(name) ON \(partition) \(index.definition)")
        try database.run("ALTER INDEX \(index.name) ATTACH PARTITION \(name)")
        logger.notice("the index \(name) exists")
      }
    }
  }

  /// Returns a partition of `event` that has no part of an index, or `nil` if each has one.
  private func firstPartition(
    without index: String, in database: PostgresConnection
  ) throws(DatabaseError) -> String? {
    try database.run(
      """
      SELECT part.inhrelid::regclass FROM pg_inherits part WHERE part.inhparent = 'event'::regclass
        AND NOT EXISTS (
          SELECT FROM pg_inherits child JOIN pg_index ON indexrelid = child.inhrelid
          WHERE child.inhparent = '\(index)'::regclass AND indrelid = part.inhrelid)
      ORDER BY part.inhrelid LIMIT 1
      """
    ).rows.first?.first.flatMap(\.self)
  }
}
