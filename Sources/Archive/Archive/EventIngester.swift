import JuiceDomain
import KioskProtocol
import Logging
import MessageBroker
import Postgres

/// The archiver's cycle while it is active: reads events from the broker and stores them.
///
/// | step | implemented by |
/// |---|---|
/// | read a batch of deliveries | `BrokerClient.nextEvent` |
/// | decode it | `EventBatch` |
/// | commit it in one transaction | `ArchiveStore.archive` |
/// | acknowledge it | `BrokerClient.acknowledge` |
/// | once a second: request missing entries, send menus | `ReplayScheduler`, `RolloutTable` |
/// | every 5 seconds: probe the database | `ArchiveStore` |
///
/// If the process or the database fails before the acknowledgement, the broker redelivers the
/// batch, and the store recognizes by its key each entry that was committed before. The actor runs
/// on the executor of its broker client.
actor EventIngester {
  /// The reason why `run()` returned.
  enum End {
    case stopped
    /// The database failed. The lock may be lost.
    case database(DatabaseError)
    /// The broker was not reachable for `maximumOutage`; an archiver on another computer may reach
    /// it.
    case brokerAway
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { broker.unownedExecutor }

  private let broker: any BrokerClient
  private let store: ArchiveStore
  private let settings: ArchiveSettings
  private let logger: Logger
  /// Whether the start is logged only after the first commit, because after an error that
  /// PostgreSQL reported, a new connection does not prove that it can store a batch.
  private var mustConfirmStorage: Bool
  /// Whether a batch was committed and acknowledged.
  private(set) var hasArchived = false
  private var offlineSince: ContinuousClock.Instant? = .now
  private var lastProbeAt = ContinuousClock.now
  private var replayScheduler = ReplayScheduler()
  private var lastReplayRequestAt = ContinuousClock.now
  /// Keys of logged warnings, so that each one is logged at most once: conflicts by kiosk, rejected
  /// messages by topic.
  private var logged: Set<String> = []

  /// Creates an ingester.
  ///
  /// - Parameters:
  ///   - store: The store, which holds the lock.
  ///   - mustConfirmStorage: Whether PostgreSQL reported the last database error, and the archiver
  ///     has stored no batch since.
  init(
    broker: any BrokerClient, store: sending ArchiveStore, settings: ArchiveSettings,
    mustConfirmStorage: Bool, logger: Logger
  ) {
    self.broker = broker
    self.store = store
    self.settings = settings
    self.mustConfirmStorage = mustConfirmStorage
    self.logger = logger
  }

  func run() async -> End {
    await broker.connect(options)
    var end = End.stopped
    while !Task.isCancelled {
      let event = await broker.nextEvent(timeout: .seconds(1))
      do throws(DatabaseError) {
        try await handle(event)
      } catch {
        // A batch that was not committed is not acknowledged: the broker redelivers it.
        await broker.abandon()
        end = .database(error)
        break
      }
      if let offlineSince, ContinuousClock.now - offlineSince > Self.maximumOutage {
        end = .brokerAway
        break
      }
    }
    await broker.disconnect(grace: .seconds(1))
    return end
  }

  private var options: SessionOptions {
    var limits = MessageLimits.reports
    limits.payload = 1 << 17
    limits.topic = 512
    return SessionOptions(
      clientID: settings.clientID,
      subscriptions: ["events", "status", "health", "menu/reported", answers].map {
        TopicFilter(unchecked: "\(settings.root)/+/\($0)")
      },
      keepAlive: 60,
      // Keeps the messages that the broker queued while no archiver was active.
      cleanStart: false, sessionExpiry: settings.sessionExpiry,
      receiveMaximum: UInt16(clamping: settings.batch), limits: limits)
  }

  private func handle(_ event: BrokerEvent?) async throws(DatabaseError) {
    switch event {
    case .deliveries(let deliveries):
      let isAnswer = { [answers] (delivery: Delivery) in
        delivery.message.topic.utf8.suffix(answers.utf8.count).elementsEqual(answers.utf8)
      }
      let outcome = try store.archive(
        EventBatch(deliveries.filter { !isAnswer($0) }, root: settings.root))
      for answer in deliveries where isAnswer(answer) { try handleReplayResult(answer.message) }
      // A delivery is acknowledged only after its commit.
      await broker.acknowledge()
      hasArchived = true
      if mustConfirmStorage { logger.notice("archiving again") }
      mustConfirmStorage = false
      log(outcome)
    case .online:
      offlineSince = nil
      try store.noteConnection(true)
      try store.rollouts.extendTimeouts()
      if !mustConfirmStorage { logger.notice("archiving") }
    case .offline(let error):
      if offlineSince == nil { offlineSince = .now }
      logger.warning("\(error); waiting for it")
      // Another archiver may have taken over the MQTT session; in that case the lock is lost.
      try store.noteConnection(false)
    case .sessionBegan, .updated, .refused, .confirmed, nil:
      break
    }
    try probe()
    guard offlineSince == nil, ContinuousClock.now - lastReplayRequestAt >= .seconds(1) else {
      return
    }
    lastReplayRequestAt = .now
    try await requestReplays()
    try await publishMenus()
  }

  // MARK: Missing entries

  /// The end of the topics on which kiosks answer replay requests.
  private var answers: String { "replay/\(settings.clientID)/result" }

  /// Requests missing entries from kiosks. The rate is limited, because after a large loss all
  /// kiosks would replay at the same time.
  private func requestReplays() async throws(DatabaseError) {
    let now = ContinuousClock.now
    for replay in replayScheduler.removeTimedOut(at: now) {
      try store.postpone(replay.ledger, replay.range, .later("the kiosk does not answer"))
    }
    var due = replayScheduler.takeDueForRetry(at: now)
    if replayScheduler.capacity > 0 {
      let gaps = try store.dueGaps(without: replayScheduler.kiosks, limit: replayScheduler.capacity)
      due += replayScheduler.schedule(gaps, at: now)
    }
    guard !due.isEmpty, let name = Request.ID(settings.clientID) else { return }
    let requests = due.map { replay in
      let topics = KioskTopics(root: settings.root, kiosk: replay.ledger.kiosk)
      return Message(
        topic: topics.replay(by: name), payload: replay.request.payload, qos: .atMostOnce)
    }
    // A request that is lost is sent again.
    _ = try? await broker.publish(requests)
    await broker.acknowledge()
  }

  private func handleReplayResult(_ message: Message) throws(DatabaseError) {
    // An unreadable result is ignored: the request is sent again until it is answered or times out.
    guard let kiosk = EventBatch.kiosk(of: message.topic, answers, root: settings.root),
      let result = try? ReplayResult(payload: message.payload),
      let replay = replayScheduler.receive(result, from: kiosk, at: .now)
    else { return }
    switch result {
    case .replaying(_, _, let range, let before):
      // The ledger begins at the latest with the entry after the gap.
      try store.begin(
        replay.ledger, low: replay.range.lowerBound,
        with: min(range.lowerBound, replay.range.upperBound + 1), before: before)
    case .done(_, _, let range):
      // The kiosk chooses the range, and the archive postpones no gap for which it has not asked.
      try store.postpone(
        replay.ledger,
        range.overlaps(replay.range) ? range.clamped(to: replay.range) : replay.range, .incomplete)
    case .rejected(_, .busy, let detail):
      try store.postpone(replay.ledger, replay.range, .later(detail))
    case .rejected(_, let reason, let detail):
      try store.postpone(replay.ledger, replay.range, .never("\(reason.rawValue): \(detail)"))
    }
  }

  // MARK: Menus

  /// Executes the next step of the rollout, and publishes the menus that are due. QoS 0 is enough,
  /// since the archiver sends a menu again until the kiosk reports on it.
  private func publishMenus() async throws(DatabaseError) {
    let (menus, end) = try store.rollouts.proceed()
    if let end {
      logger.notice(
        "menu \(end.version) is \(end.state.rawValue): \(end.counts.taken) of \(end.counts.sent) kiosks have it"
      )
    }
    guard !menus.isEmpty else { return }
    do throws(BrokerError) {
      try await broker.publish(
        menus.map { kiosk, menu in
          Message(
            topic: KioskTopics(root: settings.root, kiosk: kiosk).desiredMenu,
            payload: menu.payload, qos: .atMostOnce)
        })
    } catch {
      logger.error("\(error)")
    }
    await broker.acknowledge()
  }

  /// Probes the database, so that its status shows an archiver that works.
  private func probe() throws(DatabaseError) {
    guard ContinuousClock.now - lastProbeAt > Self.probeInterval else { return }
    try store.probe()
    lastProbeAt = .now
  }

  private func log(_ outcome: ArchiveStore.Outcome) {
    for kiosk in outcome.conflicts.sorted() where logged.insert("conflict \(kiosk)").inserted {
      logger.warning(
        "\(kiosk) sent different entries with numbers that are already stored: see the table conflict"
      )
    }
    for kiosk in outcome.overQuota.sorted() where logged.insert("quota \(kiosk)").inserted {
      logger.warning("\(kiosk) is over its quota, and entries are not stored: see over_quota")
    }
    for rejection in outcome.rejected {
      guard logged.count < Self.maximumLogged, logged.insert(rejection.message.topic).inserted
      else {
        continue
      }
      logger.warning(
        "a message on \(rejection.message.topic) cannot be archived (\(rejection.reason)): see the table quarantine"
      )
    }
  }

  private static let maximumOutage = Duration.seconds(60)
  private static let probeInterval = Duration.seconds(5)
  private static let maximumLogged = 10_000
}
