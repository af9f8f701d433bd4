import Dispatch
import Postgres

/// One connection to the archive, which blocks a thread of its own and nobody else's.
actor ArchiveReader {
  private let thread: OwnThread
  private let settings: ChainSettings
  private var connection: PostgresConnection?

  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  init(_ settings: ChainSettings, number: Int) {
    self.settings = settings
    thread = OwnThread(label: "archive \(number)")
  }

  func ask<Value: Sendable>(
    _ region: String?, by deadline: ContinuousClock.Instant,
    _ question: @Sendable (ChainQuery) throws(DatabaseError) -> Value
  ) throws(DatabaseError) -> Value {
    func ask(_ connection: PostgresConnection) throws(DatabaseError) -> Value {
      try question(ChainQuery(connection, region: region, deadline: deadline))
    }
    if let connection {
      let start = ContinuousClock.now
      do throws(DatabaseError) { return try ask(connection) } catch {
        guard error.state.isEmpty else { throw error }
        self.connection = nil
        // Who fails at once was lost before: the server may have been started anew since.
        guard ContinuousClock.now - start < .milliseconds(100) else { throw error }
      }
    }
    guard ContinuousClock.now < deadline else { throw .late }
    let new = try open()
    let value = try ask(new)
    connection = new
    return value
  }

  private func open() throws(DatabaseError) -> PostgresConnection {
    let connection = try PostgresConnection(
      settings.database, password: settings.password, name: "juice-dashboard",
      patience: settings.timeout)
    // The server gives a statement up before we give the server up. JIT compilation would take longer than
    // any of these.
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
  /// Too many waited before.
  static var late: Self { Self(state: "57014", "there was no time left to ask") }
}

/// Runs the jobs of an actor one after the other, away from the threads that serve pages.
private final class OwnThread: SerialExecutor {
  private let queue: DispatchQueue

  init(label: String) { queue = DispatchQueue(label: label) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
