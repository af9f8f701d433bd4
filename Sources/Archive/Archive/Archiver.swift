package import Logging
package import MessageBroker
import Postgres
import ServiceLifecycle

/// Stores the events of all kiosks in the database. Any number of archivers may run; the one whose
/// session holds a lock in PostgreSQL is active, the others wait for the lock.
package struct Archiver: Service {
  private let settings: ArchiveSettings
  private let makeBroker: @Sendable () throws -> any BrokerClient
  private let logger: Logger
  private let pauses: ClosedRange<Duration>

  /// Creates an archiver.
  ///
  /// - Parameters:
  ///   - makeBroker: Creates an unconnected client each time this archiver becomes active.
  ///   - pauses: The first and the longest pause before a new attempt after a database error. The
  ///     pause doubles with each error.
  package init(
    settings: ArchiveSettings, logger: Logger,
    pauses: ClosedRange<Duration> = .seconds(1) ... .seconds(60),
    makeBroker: @escaping @Sendable () throws -> any BrokerClient
  ) {
    self.settings = settings
    self.makeBroker = makeBroker
    self.logger = logger
    self.pauses = pauses
  }

  /// Runs until the task is cancelled or a graceful shutdown begins. Tries again after an error of
  /// the database or of the broker.
  ///
  /// - Throws: `ArchiveError.newerSchema`, `ArchiveError.unknownTimeZone`, `ArchiveError.encoding`,
  ///   and the errors of `makeBroker`.
  package func run() async throws {
    try await cancelWhenGracefulShutdown {
      let worker = SumWorker(settings, logger: logger)
      var lastError: DatabaseError?
      var pause = pauses.lowerBound
      while !Task.isCancelled {
        do {
          let (end, hasArchived) = try await archive(
            with: worker, mustConfirmStorage: lastError?.state.isEmpty == false)
          // A database that accepts a connection but has stored nothing does not count as working.
          if hasArchived { (lastError, pause) = (nil, pauses.lowerBound) }
          switch end {
          case .stopped: break
          case .database(let error): throw ArchiveError.database(error)
          case .brokerAway:
            logger.notice("the broker is not reachable: another archiver may take over")
            // Throws only if the task is cancelled, which ends the loop.
            try? await Task.sleep(for: Self.handoverDelay)
          }
        } catch ArchiveError.database(let error) {
          // Errors with the same SQLSTATE are logged once: their texts may each name a different
          // file.
          let isRepeated =
            error.state.isEmpty ? error == lastError : error.state == lastError?.state
          if !isRepeated { logger.error("\(error). Trying again until it works") }
          lastError = error
          // Throws only if the task is cancelled, which ends the loop.
          try? await Task.sleep(for: pause)
          pause = min(pause * 2, pauses.upperBound)
        }
      }
      logger.notice("stopped")
    }
  }

  /// Waits until no other archiver is active, and archives until the ingester ends. Releases the
  /// lock when it returns.
  private func archive(
    with worker: SumWorker, mustConfirmStorage: Bool
  ) async throws -> (end: EventIngester.End, hasArchived: Bool) {
    guard let store = try await activeStore() else { return (.stopped, false) }
    let ingester = EventIngester(
      broker: try makeBroker(), store: store, settings: settings,
      mustConfirmStorage: mustConfirmStorage, logger: logger)
    // Not awaited: a statement of these tasks may block for hours, and this archiver must end, or
    // release its lock, at once.
    let others = [
      Task { await worker.run() }, Task { await IndexBuilder(settings, logger: logger).run() },
    ]
    let end = await ingester.run()
    for other in others { other.cancel() }
    return (end, await ingester.hasArchived)
  }

  /// Waits until no other archiver is active.
  ///
  /// - Returns: The opened store, or `nil` if the task was cancelled first.
  private func activeStore() async throws(ArchiveError) -> sending ArchiveStore? {
    let store: ArchiveStore
    do throws(DatabaseError) {
      store = try ArchiveStore(settings)
      var isWaiting = false
      while try !store.takeLock() {
        if !isWaiting { logger.notice("another archiver is active; waiting for its end") }
        isWaiting = true
        // Polls, because PostgreSQL sends no notification when a lock is released, and a query that
        // blocks on the lock would prevent VACUUM from removing dead rows. The sleep throws only if
        // the task is cancelled.
        guard (try? await Task.sleep(for: Self.handoverDelay / 5)) != nil else { return nil }
      }
    } catch {
      throw .database(error)
    }
    do throws(ArchiveError) { try await SchemaUpdate().run(settings, logger) } catch {
      // The update fails also because the task is cancelled.
      guard !Task.isCancelled else { return nil }
      throw error
    }
    do throws(DatabaseError) { try store.open() } catch { throw .database(error) }
    return store
  }

  /// Time for which an archiver without a broker leaves the lock to other archivers. A waiting
  /// archiver tries to take the lock five times in this time.
  private static let handoverDelay = Duration.seconds(5)
}
