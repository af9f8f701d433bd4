import Logging
import Postgres

/// The archiver's second task: computes the daily sums while `EventIngester` stores batches. Has
/// its own session and its own thread, because a statement blocks its thread. So a batch never
/// waits for sums.
actor SumWorker {
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  private let thread = DatabaseThread(label: "sums")
  private let settings: ArchiveSettings
  private let logger: Logger
  private var lastError: DatabaseError?

  init(_ settings: ArchiveSettings, logger: Logger) {
    self.settings = settings
    self.logger = logger
  }

  /// Runs until the task is cancelled. Connects again after an error of the database.
  func run() async {
    var pause = Self.pauses.lowerBound
    while !Task.isCancelled {
      do throws(DatabaseError) {
        let sums = try DailySums(settings)
        // Another session may still compute, after its archiver has lost the lock for batches.
        while try !sums.takeLock(), await wait(Self.interval) {}
        if !Task.isCancelled, try sums.adoptTimeZone() {
          logger.notice("archive.time_zone has changed: all days are summed up again")
        }
        try await compute(sums, reset: &pause)
      } catch {
        if lastError?.state != error.state { logger.warning("the sums wait: \(error.message)") }
        lastError = error
        _ = await wait(pause)
        pause = min(pause * 2, Self.pauses.upperBound)
      }
    }
  }

  private func compute(
    _ sums: DailySums, reset pause: inout Duration
  ) async throws(DatabaseError) {
    var retiredAt: ContinuousClock.Instant?
    while !Task.isCancelled {
      let count = try sums.step()
      if count > 0 {
        if lastError != nil { logger.notice("the sums are computed again") }
        (lastError, pause) = (nil, Self.pauses.lowerBound)
      }
      if retiredAt.map({ ContinuousClock.now - $0 > Self.retentionInterval }) ?? true {
        retiredAt = .now
        retire(sums)
      }
      // One step computes the entries of a second together. The worker polls, because a mark can
      // also become due again without an event.
      let delay = count < DailySums.maximumMarks ? Self.interval : try sums.pause()
      guard await wait(delay) else { return }
    }
  }

  private func retire(_ sums: DailySums) {
    do throws(DatabaseError) {
      let count = try sums.retire()
      if count > 0 { logger.notice("entries older than archive.keep_days are deleted") }
    } catch {
      // A reader holds a lock, for example. The next attempt is after `retentionInterval`.
      logger.warning("old entries are not deleted yet: \(error)")
    }
  }

  /// Suspends the task for a duration.
  ///
  /// - Returns: `false` if the task is cancelled.
  private func wait(_ duration: Duration) async -> Bool {
    (try? await Task.sleep(for: duration)) != nil
  }

  private static let interval = Duration.seconds(1)
  private static let pauses = Duration.seconds(1) ... .seconds(60)
  private static let retentionInterval = Duration.seconds(3600)
}
