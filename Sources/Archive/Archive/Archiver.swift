package import Logging
package import MessageBroker
import Postgres
import ServiceLifecycle

/// Brings the events of all kiosks into the database. Of any number that run, one is active: the one whose
/// session holds a lock of PostgreSQL. The others wait for it to end.
package struct Archiver: Service {
  private let settings: ArchiveSettings
  private let makeBroker: @Sendable () throws -> any BrokerClient
  private let logger: Logger
  private let pauses: ClosedRange<Duration>

  /// - Parameters:
  ///   - makeBroker: makes a connection, not connected yet, for each time that this one is active.
  ///   - pauses: the first and the longest before the database is tried again.
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

  /// Goes on until it is told to stop. A database or a broker that is away is waited for.
  ///
  /// - Throws: `ArchiveError.newerSchema`, and what `makeBroker` throws.
  package func run() async throws {
    try await cancelWhenGracefulShutdown {
      var lastError: DatabaseError?
      var pause = pauses.lowerBound
      while !Task.isCancelled {
        do {
          guard let store = try await activeStore() else { break }
          let ingester = EventIngester(
            broker: try makeBroker(), store: store, settings: settings,
            mustConfirmStorage: lastError?.state.isEmpty == false, logger: logger)
          let end = await ingester.run()
          // A database that only lets us in does not work yet.
          if await ingester.hasArchived { (lastError, pause) = (nil, pauses.lowerBound) }
          switch end {
          case .stopped: break
          case .database(let error): throw ArchiveError.database(error)
          case .brokerAway:
            logger.notice("the broker stays away: another archiver may try")
            try? await Task.sleep(for: Self.handoverDelay)
          }
        } catch ArchiveError.database(let error) {
          // The same may be said of another file each time.
          let isRepeated =
            error.state.isEmpty ? error == lastError : error.state == lastError?.state
          if !isRepeated { logger.error("\(error). Trying again until it works") }
          lastError = error
          try? await Task.sleep(for: pause)
          pause = min(pause * 2, pauses.upperBound)
        }
      }
      logger.notice("stopped")
    }
  }

  /// Waits until nobody else is active.
  ///
  /// - Returns: `nil` if the task was cancelled before.
  private func activeStore() async throws(ArchiveError) -> sending ArchiveStore? {
    let store: ArchiveStore
    do throws(DatabaseError) {
      store = try ArchiveStore(settings)
      var isWaiting = false
      while try !store.takeLock() {
        if !isWaiting { logger.notice("another archiver is active; waiting for its end") }
        isWaiting = true
        // PostgreSQL tells nobody that a lock is free, and who waits for it in a query keeps the rows
        // that are dead since then from being cleared away.
        guard (try? await Task.sleep(for: Self.handoverDelay / 5)) != nil else { return nil }
      }
    } catch {
      throw .database(error)
    }
    try store.open()
    return store
  }

  /// In which another archiver gets the lock for certain.
  private static let handoverDelay = Duration.seconds(5)
}
