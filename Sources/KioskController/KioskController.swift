import KioskMessages
package import Ledger
package import Logging
package import MessageBroker
import Panels

/// Drives the cycle: read, decide, commit, answer, acknowledge.
///
/// It lives on its broker's executor, so that an order passes from the socket to the disk and back
/// without changing threads.
package actor KioskController {
  package nonisolated var unownedExecutor: UnownedSerialExecutor { broker.unownedExecutor }

  private let settings: KioskSettings
  private let broker: any MessageBroker
  private let ledger: Ledger
  private let clock: KioskClock
  private let startedAt: Timestamp
  private var log: KioskLog

  private var door: KioskDoor
  private var core: KioskCore
  private var feed: ResultFeed
  private var topics: PublishedTopics
  private var displays: DisplayFeed
  private var reconnects = -1
  private var isOnline = false
  /// When this process last was.
  private var aliveAt: Timestamp?
  /// Whether results and events of earlier connections are on their way on this one.
  private var hasResumed = false
  /// The ledger remembers deliveries of an earlier session: under the same packet ids come others now.
  private var isSessionNew = false
  /// Why the last commit failed: what the core believes may not be what is written. While there is
  /// one, connections that come and go are a consequence, and not told.
  private var failure: LedgerError?
  private var healthAt: Timestamp?

  /// Health is published this often.
  private static let healthInterval = Duration.seconds(30)
  /// So many entries at most are published again. More do not stay unconfirmed where a broker
  /// confirms at all, and all at once they would be more than may be on their way.
  private static let resumed = 10_000

  /// - Throws: `LedgerError` if the ledger cannot be read, or not take the fruits that are new.
  package init(
    settings: KioskSettings, broker: any MessageBroker, ledger: sending Ledger, clock: KioskClock,
    logger: Logger
  ) throws(LedgerError) {
    let now = clock.now()
    var log = KioskLog(logger: logger)
    var state = try ledger.state()
    if let opening = KioskCore.opening(settings: settings, state: state, at: now) {
      try ledger.commit(opening)
      for record in opening.records { log.entry(record.entry) }
      state = try ledger.state()
    }
    self.settings = settings
    self.broker = broker
    self.ledger = ledger
    self.clock = clock
    self.log = log
    startedAt = now.timestamp
    door = KioskDoor(settings: settings)
    core = KioskCore(settings: settings, state: state)
    feed = ResultFeed(
      confirmed: state.confirmed,
      acknowledged: min(ledger.acknowledged ?? state.confirmed, state.seq))
    topics = PublishedTopics(known: state.topics)
    displays = DisplayFeed(settings.displays)
  }

  /// Runs the kiosk until the task is cancelled, then takes its leave: within two seconds it has
  /// published `offline` and disconnected.
  ///
  /// - Parameter clientID: of the kiosk's session with the broker.
  package func run(clientID: String) async {
    await broker.connect(sessionOptions(clientID: clientID))
    // Often enough that the last sign of life is never much older than the kiosk's death.
    let beat = settings.orders.maximumAge / 6
    while !Task.isCancelled {
      let event = await broker.nextEvent(timeout: min(beat, displayWait ?? beat))
      feed.confirm(through: await broker.confirmed)
      do throws(LedgerError) {
        try await handle(event)
      } catch {
        await fail(error)
      }
    }
    await leave()
  }

  private func sessionOptions(clientID: String) -> SessionOptions {
    SessionOptions(
      clientID: clientID,
      subscriptions: settings.subscriptions,
      will: settings.topics.status(.offline), cleanStart: !wasAliveRecently,
      sessionExpiry: settings.orders.maximumAge, absence: max(absence ?? .zero, .zero),
      receiveMaximum: UInt16(clamping: Ledger.fingerprintCount))
  }

  /// What queued while the kiosk was away for longer than an order may be old must not pour.
  private var wasAliveRecently: Bool {
    absence.map { (.zero...settings.orders.maximumAge).contains($0) } ?? false
  }

  /// Since the kiosk was online, by a clock that may have been set since; `nil` if it never was.
  private var absence: Duration? {
    (aliveAt ?? ledger.lastAlive).map { clock.now().timestamp.since($0) }
  }

  private func handle(_ event: BrokerEvent?) async throws(LedgerError) {
    switch event {
    case .deliveries(let deliveries):
      try await cycle(deliveries)
      if isOnline, settings.hasBirth(among: deliveries) { try await publishState() }
      displays.hear(deliveries)
    case .online(let resumed):
      if !resumed { isSessionNew = true }
      try await comeOnline()
    case .offline(let error):
      isOnline = false
      hasResumed = false
      feed.connectionLost()
      // What was written may not have arrived.
      ledger.noteAcknowledged(through: feed.acknowledged)
      topics.connectionLost()
      displays.connectionLost()
      if failure == nil { log.warn("\(error)") }
    case .confirmed, nil:
      break
    }
    try await keepHouse()
    await showDisplays()
  }

  // MARK: The cycle

  private func cycle(_ deliveries: [Delivery]) async throws(LedgerError) {
    try await resume()
    let now = clock.now()
    let admissions = door.admit(deliveries, at: now)
    var core = core
    let recalled = try ledger.recall(Set(admissions.flatMap(\.repeatKeys)))
    var decision = core.decide(admissions, recalling: recalled, at: now)
    if feed.saved != feed.confirmed { decision.transaction.confirmed = feed.confirmed }
    try ledger.commit(decision.transaction)
    if !decision.transaction.records.isEmpty { displays.stateChanged() }
    self.core = core
    feed.markSaved()
    ledgerWorks()

    let events = decision.transaction.records.map { settings.topics.event($0.entry) }
    let isCurrent = door.redeliveries.areOver
    await publish(
      decision.publications + events, through: core.seq, acknowledging: isCurrent)
    await broker.settle()
    if isCurrent { ledger.noteAcknowledged(through: core.seq) }

    for record in decision.transaction.records { log.entry(record.entry) }
    for (source, rejection) in decision.rejections {
      log.rejected(rejection.reason, from: source, detail: rejection.detail, at: now.timestamp)
    }
  }

  private func publish(
    _ messages: [Message], through seq: Int? = nil, acknowledging: Bool = false
  ) async {
    guard !messages.isEmpty else { return }
    do {
      let serial = try await broker.publish(messages)
      feed.published(through: seq ?? 0, serial: serial, acknowledging: acknowledging)
    } catch {
      log.warn("\(error)")
    }
  }

  // MARK: Coming and going

  private func comeOnline() async throws(LedgerError) {
    try await resume()
    if !wasAliveRecently { core.cameBack(at: clock.now().timestamp) }
    try await publishState()
    isOnline = true
    reconnects += 1
    ledgerWorks()
    log.note("online")
  }

  /// Publishes all that is retained, and clears what is not any more.
  private func publishState() async throws(LedgerError) {
    let now = clock.now().timestamp
    // Before anybody reads that the kiosk is there: what is sent from now on must survive a crash.
    ledger.beat(at: now)
    var state = settings.topics.state(of: core, at: now) + settings.announcements
    state.append(
      settings.topics.retained(
        settings.topics.info, KioskInfo(version: settings.version, startedAt: startedAt).payload))
    state.append(health(at: now))
    state.append(settings.topics.status(.online))
    let current = Set(state.map(\.topic))
    let obsolete = topics.obsolete(comparedTo: current)
    if let known = topics.toRemember(current) { try ledger.setTopics(known) }
    await publish(obsolete.map { settings.topics.retained($0, []) } + state)
    topics.published(current, serial: feed.publishedSerial)
    await broker.settle()
  }

  private func ledgerWorks() {
    if failure != nil { log.note("the ledger works again") }
    failure = nil
  }

  /// Publishes again what the broker has not confirmed on earlier connections.
  private func resume() async throws(LedgerError) {
    if isSessionNew { try ledger.forgetDeliveries() }
    isSessionNew = false
    guard !hasResumed else { return }
    if failure != nil {
      core = KioskCore(settings: settings, state: try ledger.state(), counters: core.counters)
      // A full disk can still be read: who cannot write is not online.
      try saveConfirmation(always: true)
    }
    var published = max(feed.confirmed, core.seq - Self.resumed)
    if published > feed.confirmed {
      log.warn("the broker confirms nothing: entries up to #\(published) are not published again")
    }
    door.redeliveries = Redeliveries(
      unacknowledged: try ledger.deliveries(after: feed.acknowledged))
    while published < core.seq {
      let page = try ledger.entries(after: published)
      guard let last = page.last else { break }
      let messages = page.flatMap { entry, answer in
        let repeated = answer.map { Message($0.repeated) }
        return [repeated, settings.topics.event(entry)].compactMap(\.self)
      }
      await publish(messages, through: last.entry.seq)
      published = last.entry.seq
    }
    hasResumed = true
  }

  /// The ledger has failed: nothing is answered, nothing acknowledged. The broker delivers again
  /// what is in hand; until the ledger works, each connection ends here.
  private func fail(_ error: LedgerError) async {
    await broker.abandon()
    hasResumed = false
    if error != failure { log.fail("\(error). Trying again until it works") }
    failure = error
  }

  private func leave() async {
    if isOnline {
      let farewells = settings.displays.filter(\.showsStatus)
        .compactMap { core.message(for: $0, status: .offline) }
      await publish([settings.topics.status(.offline)] + farewells)
    }
    await broker.disconnect(grace: .milliseconds(1500))
    feed.confirm(through: await broker.confirmed)
    try? saveConfirmation()
    log.note("stopped")
  }

  // MARK: Housekeeping

  private var displayWait: Duration? {
    isOnline ? displays.wait(at: clock.now().timestamp) : nil
  }

  /// After the orders have been answered: nobody waits for it.
  private func showDisplays() async {
    guard isOnline else { return }
    let messages = displays.due(at: clock.now().timestamp) { core.message(for: $0) }
    guard !messages.isEmpty else { return }
    await publish(messages)
    await broker.settle()
  }

  private func keepHouse() async throws(LedgerError) {
    guard isOnline else { return }
    let now = clock.now().timestamp
    ledger.beat(at: now)
    aliveAt = now
    if let current = topics.confirmed(through: await broker.confirmed) {
      try ledger.setTopics(current)
    }
    if let healthAt, (.zero..<Self.healthInterval).contains(now.since(healthAt)) { return }
    try saveConfirmation()
    await publish([health(at: now)])
    await broker.settle()
  }

  private func saveConfirmation(always: Bool = false) throws(LedgerError) {
    guard always || feed.saved != feed.confirmed else { return }
    var transaction = LedgerTransaction()
    transaction.confirmed = feed.confirmed
    try ledger.commit(transaction)
    feed.markSaved()
  }

  private func health(at now: Timestamp) -> Message {
    healthAt = now
    var counters = core.counters
    counters.reconnects = max(0, reconnects)
    counters.dropped = door.dropped
    let health = KioskHealth(
      at: now, uptime: Int(now.since(startedAt).components.seconds), counters: counters,
      memory: ProcessMemory.resident, queue: feed.depth)
    return settings.topics.retained(settings.topics.health, health.payload)
  }
}

extension KioskTopics {
  fileprivate func status(_ status: KioskStatus) -> Message {
    Message(topic: self.status, text: status.rawValue, retain: true)
  }

  fileprivate func event(_ entry: LedgerEntry) -> Message {
    Message(topic: events, payload: entry.payload)
  }
}

extension Answer {
  /// The answer again, to a sender who may have it already.
  fileprivate var repeated: Answer {
    Answer(
      topic: topic, correlationData: correlationData, payload: CommandResult.repeating(payload))
  }
}
