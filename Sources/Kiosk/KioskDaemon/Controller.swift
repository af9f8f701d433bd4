import Devices
package import KioskCore
import KioskProtocol
package import Ledger
package import Logging
package import MessageBroker

/// Drives the cycle: read, decide, commit, answer, acknowledge.
///
/// It lives on its broker's executor, so that an order passes from the socket to the disk and back
/// without changing threads.
package actor Controller {
  package nonisolated var unownedExecutor: UnownedSerialExecutor { broker.unownedExecutor }

  package internal(set) var settings: KioskSettings
  let broker: any BrokerClient
  let ledger: KioskLedger
  /// `nil` if nobody carries the ledger up.
  let uplinkProgress: UplinkProgress?
  let clock: KioskClock
  let startedAt: Timestamp
  var log: KioskLog

  var commandFilter: CommandFilter
  var core: Kiosk
  var tracker: DeliveryTracker
  var state: StatePublisher
  var topics: PublishedTopics
  var displays: DisplayPublisher
  var sales: SalesPublisher
  /// Of the session; `nil` before there is one.
  private(set) var clientID: String?
  /// Settings that are to be taken over.
  var reload: Reload?
  private(set) var reconnects = -1
  private(set) var isOnline = false
  private(set) var hasStopped = false
  /// When this process last was.
  var heartbeatAt: Timestamp?
  /// There is a connection, and its subscriptions are granted.
  private var isConnected = false
  /// Why the last commit failed: what the core believes may not be what is written. While there is
  /// one, connections that come and go are a consequence, and not told.
  private(set) var failure: LedgerError?
  /// Why the kiosk is not online, as far as it is known.
  private var outage: BrokerError?
  var healthAt: Timestamp?
  var refusals = Refusals()

  /// So many entries come up twice at most after a crash, and those of half a minute.
  private static let maximumUnsavedEntries = 1000

  /// A turn of the cycle comes at least this often, whatever happens or does not.
  private static let maximumCycleInterval = Duration.seconds(10)

  /// - Throws: `LedgerError` if the ledger cannot be read, or not take the fruits that are new.
  ///
  /// - Parameter uplinkProgress: is told what the way up has to carry, and asked how far it has come.
  package init(
    settings: KioskSettings, broker: any BrokerClient, ledger: sending KioskLedger,
    uplinkProgress: UplinkProgress? = nil, clock: KioskClock, logger: Logger
  ) throws(LedgerError) {
    let now = clock.now()
    var log = KioskLog(logger: logger)
    var state = try ledger.state()
    if let opening = Kiosk.opening(settings: settings, state: state, at: now) {
      try ledger.commit(opening)
      for record in opening.records { log.entry(record.row.entry) }
      state = try ledger.state()
    }
    let settings = settings.keepingMachines(of: state.jobs)
    self.settings = settings
    self.broker = broker
    self.ledger = ledger
    self.uplinkProgress = uplinkProgress
    self.clock = clock
    self.log = log
    startedAt = now.timestamp
    commandFilter = CommandFilter(settings: settings)
    core = Kiosk(settings: settings, state: state)
    uplinkProgress?.recorded(through: state.seq)
    tracker = DeliveryTracker(state, lastAcknowledged: ledger.acknowledged)
    self.state = StatePublisher(lastPublished: core)
    topics = PublishedTopics(known: state.topics)
    displays = DisplayPublisher(settings.displays)
    sales = SalesPublisher(settings: settings)
  }

  /// Runs the kiosk until the task is cancelled, then takes its leave: within two seconds it has
  /// published `offline` and disconnected.
  ///
  /// - Parameters:
  ///   - clientID: of the kiosk's session with the broker.
  ///   - observe: is called after each turn of the cycle, every 10 seconds at least: when no more
  ///     calls come, something hangs.
  package func run(
    clientID: String, observe: @Sendable (KioskCondition) -> Void = { _ in }
  ) async {
    observe(condition)
    await broker.connect(sessionOptions(clientID: clientID, settings))
    self.clientID = clientID
    if let reload { await broker.update(sessionOptions(clientID: clientID, reload.settings)) }
    while !Task.isCancelled {
      // Often enough that the last sign of life is never much older than the kiosk's death.
      let maximumWait = min(settings.orders.maximumAge / 6, Self.maximumCycleInterval)
      let event = await broker.nextEvent(timeout: min(maximumWait, wait ?? maximumWait))
      tracker.confirm(through: await broker.confirmed)
      do throws(LedgerError) {
        try await handle(event)
      } catch {
        await fail(error)
      }
      if event == nil || state.isOverdue(at: clock.now().uptime) { await publishChanges() }
      observe(condition)
    }
    observe(.stopping)
    await shutDown()
  }

  private var condition: KioskCondition {
    if let failure { return .failing(failure) }
    if isOnline { return .online(core.service) }
    return outage.map { .offline($0) } ?? .connecting
  }

  func sessionOptions(clientID: String, _ settings: KioskSettings) -> SessionOptions {
    var options = SessionOptions(
      clientID: clientID,
      subscriptions: settings.subscriptions,
      // guard: a restart within that time resumes the session
      will: settings.topics.status(.offline), cleanStart: !wasOnlineRecently,
      // guard: what queued for too long does not pour
      sessionExpiry: settings.orders.maximumAge, absence: max(absence ?? .zero, .zero),
      receiveMaximum: UInt16(clamping: Fingerprint.kept), limits: .commands)
    options.retainAsPublished = Set(settings.commandFilters)
    return options
  }

  /// What queued while the kiosk was away for longer than an order may be old must not pour.
  private var wasOnlineRecently: Bool {
    absence.map { (.zero...settings.orders.maximumAge).contains($0) } ?? false
  }

  /// Since the kiosk was online, by a clock that may have been set since; `nil` if it never was.
  private var absence: Duration? {
    (heartbeatAt ?? ledger.lastHeartbeat).map { clock.now().timestamp.since($0) }
  }

  private func handle(_ event: BrokerEvent?) async throws(LedgerError) {
    switch event {
    case .deliveries(let deliveries):
      try await cycle(deliveries)
      if isOnline, settings.hasBirth(among: deliveries) { try await publishState() }
      displays.handle(deliveries)
    case .sessionBegan:
      // guard: a new session forgets the fingerprints of the old one
      tracker.sessionBegan()
      // guard: the fingerprints of an old session are forgotten before a new one delivers
      try deleteDeliveries()
    case .online:
      isConnected = true
    case .offline(let error):
      (isConnected, isOnline) = (false, false)
      outage = error
      tracker.connectionLost(isOurs: failure != nil)
      core.connectionLost()
      // What was written may not have arrived.
      ledger.recordAcknowledged(through: tracker.acknowledged)
      topics.connectionLost()
      displays.connectionLost()
      if failure == nil { log.warn("\(error)") }
    case .updated(let refusal):
      subscriptionsChanged(refusal)
    case .refused(let topics):
      logRefusals(topics)
    case .confirmed, nil:
      break
    }
    if isConnected, !isOnline { try await goOnline() }
    try await applyReload()
    try await fireTimers()
    try await performMaintenance()
    try await publishDisplays()
  }

  // MARK: The cycle

  func cycle(_ deliveries: [Delivery]) async throws(LedgerError) {
    try await resume()
    let now = clock.now()
    let parsedDeliveries = commandFilter.admit(deliveries, tracker: &tracker, at: now)
    try deleteDeliveries()
    // What comes again has been counted.
    let new = deliveries.count { $0.packetID > 0 && !$0.isRedelivery }
    // guard: an order is acknowledged only after the commit
    // guard: an answer leaves only after the commit
    // guard: a machine is told only what is committed
    let decision = try commit(parsedDeliveries, counting: new, at: now)
    if !decision.transaction.records.isEmpty || decision.machinesChanged {
      state.changed(at: now.uptime)
      displays.stateChanged()
    }
    ledgerRecovered()

    // Whoever has pressed waits for this much. While an entry is on trial nothing else is published:
    // the new ones have their turn behind it.
    if tracker.isCaughtUp {
      await publish(decision.answers + core.messagesForMachines(at: now))
    }
    // guard: an order is acknowledged at all
    // guard: only what the network has taken is noted as acknowledged
    let isAcknowledged = await broker.acknowledge()
    if isAcknowledged, tracker.allRedeliveriesReceived {
      ledger.recordAcknowledged(through: core.seq)
    }
    if tracker.isCaughtUp {
      let events = decision.transaction.records.map { settings.topics.event($0.row.entry) }
      await publish(events, through: core.seq)
    }

    for record in decision.transaction.records {
      sales.add(record.row.entry)
      log.entry(record.row.entry)
    }
    for (source, rejection) in decision.rejections {
      log.rejected(rejection.reason, from: source, detail: rejection.detail, at: now.timestamp)
    }
    if decision.machinesChanged { log.machines(core.jobs.reports, at: now.timestamp) }
  }

  /// Decides on a batch and commits it. A batch that the ledger can never hold is taken apart, and
  /// what is to blame is turned away.
  ///
  /// - Parameter deliveries: how many new ones the batch has, whatever they were.
  private func commit(
    _ parsedDeliveries: [ParsedDelivery], counting deliveries: Int = 0, at now: Moment
  ) throws(LedgerError) -> Decision {
    do {
      return try commitTogether(parsedDeliveries, counting: deliveries, at: now)
    } catch {
      guard error.remedy == .rejectCommand else { throw error }
      guard let only = parsedDeliveries.first, parsedDeliveries.count == 1 else {
        var decision = Decision()
        for parsed in parsedDeliveries { decision.append(try commit([parsed], at: now)) }
        return decision
      }
      return core.reject(unrecordable: only, "\(error)")
    }
  }

  private func commitTogether(
    _ parsedDeliveries: [ParsedDelivery], counting deliveries: Int, at now: Moment
  ) throws(LedgerError) -> Decision {
    var core = core
    let repeats = try ledger.repeats(of: parsedDeliveries.flatMap(\.repeatKeys))
    var decision = core.decide(parsedDeliveries, repeats: repeats, at: now)
    // guard: only what the broker has confirmed counts as told
    decision.transaction.confirmed = tracker.unsaved
    decision.transaction.uplinked = uplinkProgress?.unsaved(from: Self.maximumUnsavedEntries)
    decision.transaction.deliveries = deliveries
    try ledger.commit(decision.transaction)
    tracker.hasSaved()
    if let uplinked = decision.transaction.uplinked { uplinkProgress?.saved(through: uplinked) }
    self.core = core
    uplinkProgress?.recorded(through: core.seq)
    return decision
  }

  /// - Parameter seq: all entries up to this one are told then; 0: the messages are about none.
  func publish(_ messages: [Message], through seq: Int = 0) async {
    guard !messages.isEmpty else { return }
    do {
      let serial = try await broker.publish(messages)
      tracker.published(through: seq, serial: serial)
    } catch {
      log.unpublished(error, at: clock.now().timestamp)
    }
  }

  // MARK: Coming and going

  private func goOnline() async throws(LedgerError) {
    refusals = Refusals()
    try await resume()
    guard tracker.isCaughtUp else {
      await broker.acknowledge()
      return
    }
    if !wasOnlineRecently { core.reconnected(at: clock.now().timestamp) }
    try await publishState()
    isOnline = true
    reconnects += 1
    ledgerRecovered()
    log.note("online")
  }

  /// Publishes all that is retained, and clears what is not any more.
  func publishState() async throws(LedgerError) {
    let now = clock.now().timestamp
    // Before anybody reads that the kiosk is there: what is sent from now on must survive a crash.
    // guard: the first sign of life is written before online is published
    ledger.recordHeartbeat(at: now)
    var messages = settings.topics.state(of: core, at: now) + settings.announcements
    messages.append(
      settings.topics.retained(
        settings.topics.info, settings.info(startedAt: startedAt).payload))
    messages.append(health(at: now))
    messages.append(settings.topics.status(.online))
    let current = Set(messages.map(\.topic))
    let obsolete = topics.obsolete(comparedTo: current)
    try store(current)
    // guard: displays are told everything on each connection
    await publish(obsolete.map { settings.topics.retained($0, []) } + messages)
    state.published(core)
    topics.published(current, serial: tracker.lastSerial)
    sales.reset()
    await broker.acknowledge()
  }

  /// Publishes what has changed since it was told.
  private func publishChanges() async {
    guard isOnline, state.isBehind else { return }
    await publish(state.due(core, settings.topics, at: clock.now().timestamp))
  }

  /// Before what a menu brings is published by a batch that comes before the kiosk is online: a crash,
  /// or another menu, must not leave it behind.
  func storeTopics() throws(LedgerError) {
    try store(Set(settings.topics.state(of: core, at: clock.now().timestamp).map(\.topic)))
  }

  private func store(_ current: Set<String>) throws(LedgerError) {
    guard let known = topics.topicsToStore(current) else { return }
    try ledger.setTopics(known)
    topics.stored(known)
  }

  func ledgerRecovered() {
    if failure != nil { log.note("the ledger works again") }
    failure = nil
  }

  /// The ledger has failed: nothing is answered, nothing acknowledged. The broker delivers again
  /// what is in hand; until the ledger works, each connection ends here.
  private func fail(_ error: LedgerError) async {
    // guard: what could not be committed is not acknowledged
    await broker.abandon()
    isConnected = false
    tracker.ledgerFailed()
    sales.ledgerFailed()
    if error != failure {
      let advice =
        error.remedy == .needsOperator
        ? "No trying helps: somebody has to look" : "Trying again until it works"
      log.fail("\(error). \(advice)")
    }
    failure = error
  }

  private func shutDown() async {
    hasStopped = true
    reload?.end(.stopped)
    await publishChanges()
    if isOnline {
      let lastMessages = settings.displays.filter(\.showsStatus)
        .compactMap { core.message(for: $0, status: .offline) }
      await publish([settings.topics.status(.offline)] + lastMessages)
    }
    await broker.disconnect(grace: .milliseconds(1500))
    tracker.confirm(through: await broker.confirmed)
    try? saveConfirmation()
    log.note("stopped")
  }
}
