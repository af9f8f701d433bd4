import Postgres

/// A connection to the archive with its own `DatabaseThread`, because the calls of libpq block.
actor ArchiveReader {
  private let thread: DatabaseThread
  private let settings: ChainSettings
  private var connection: PostgresConnection?

  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  init(_ settings: ChainSettings, number: Int) {
    self.settings = settings
    thread = DatabaseThread(label: "archive \(number)")
  }

  func query<Value: Sendable>(
    _ regions: [String], by deadline: ContinuousClock.Instant,
    _ question: @Sendable (ChainQuery) throws(DatabaseError) -> Value
  ) throws(DatabaseError) -> Value {
    func run(_ connection: PostgresConnection) throws(DatabaseError) -> Value {
      try question(ChainQuery(connection, regions: regions, deadline: deadline))
    }
    if let connection {
      let start = ContinuousClock.now
      do throws(DatabaseError) { return try run(connection) } catch {
        guard error.state.isEmpty else { throw error }
        self.connection = nil
        // A connection that fails immediately was lost earlier, and the server may be reachable
        // now: open a new one.
        guard ContinuousClock.now - start < .milliseconds(100) else { throw error }
      }
    }
    guard ContinuousClock.now < deadline else { throw .timedOut }
    let new = try open()
    let value = try run(new)
    connection = new
    return value
  }

  private func open() throws(DatabaseError) -> PostgresConnection {
    let connection = try PostgresConnection(
      settings.database, password: settings.password, name: "juice-dashboard",
      timeout: settings.timeout)
    // The server cancels a statement before the client times out. JIT is off, because compiling
    // these queries takes longer than running them.
    let limit = max(1, settings.timeout / .milliseconds(1) * 0.9)
    try connection.run(
      """
      SET default_transaction_read_only = on; SET statement_timeout = \(Int(limit)); SET jit = off;
      SET TimeZone = 'UTC'
      """)
    return connection
  }
}

extension DatabaseError {
  /// The error thrown if earlier queries have used up the time of a page.
  static var timedOut: Self { Self(state: "57014", "earlier queries used up the time") }
}
