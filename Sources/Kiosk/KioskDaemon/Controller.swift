import Devices
package import KioskCore
package import KioskProtocol
package import Ledger
package import Logging
package import MessageBroker

/// Drives the cycle of the kiosk: read, decide, commit, answer, acknowledge.
///
/// | step | calls | effect |
/// |---|---|---|
/// | read | `BrokerClient.nextEvent` | returns the deliveries that have arrived: one batch |
/// | decide | `CommandFilter`, `Kiosk.decide` | checks and decides each command, without I/O |
/// | commit | `KioskLedger.commit` | writes one transaction with one fsync for the batch |
/// | answer | `BrokerClient.publish` | queues the answers, and the jobs for machines |
/// | acknowledge | `BrokerClient.acknowledge` | writes the answers and the PUBACKs to the network |
/// | publish | `BrokerClient.publish` | queues the events, later the changed retained state |
///
/// If the commit fails, the controller neither answers nor acknowledges the batch. It drops the
/// connection, and the broker redelivers the batch on the next connection.
///
/// ```swift
/// let controller = try Controller(
///   settings: settings, broker: broker, ledger: ledger, clock: clock, logger: logger)
/// await controller.run(clientID: "juice-kiosk-k1")  // until the task is cancelled
/// ```
///
/// The controller runs on the executor of its broker client, so an order passes from the socket to
/// the disk and back without a thread switch.
package actor Controller {
  package nonisolated var unownedExecutor: UnownedSerialExecutor { broker.unownedExecutor }

  package internal(set) var settings: KioskSettings
  let broker: any BrokerClient
  let ledger: KioskLedger
  /// The progress of the uplink, or `nil` if the kiosk has no uplink.
  let uplinkProgress: UplinkProgress?
  let clock: KioskClock
  /// The uptime at the start of this process.
  let startUptime: Duration
  /// The start of this process by the wall clock. After the clock was set, `publishState` corrects it.
  private var startedAt: Timestamp
  var log: KioskLog

  var commandFilter: CommandFilter
  var core: Kiosk
  var tracker: DeliveryTracker
  var state: StatePublisher
  var topics: PublishedTopics
  /// The filters that the session may contain, as the ledger has recorded them.
  private(set) var subscriptions: Set<TopicFilter>
  var displays: DisplayPublisher
  var sales: SalesPublisher
  var reports: SalesResponder
  var clockWatch: ClockWatch
  /// The client identifier of the session, or `nil` until `run` has started the first connection.
  private(set) var clientID: String?
  /// The admitted changes of the settings. The receiver calls `answer` for each, unless the kiosk stops.
  package nonisolated let settingsChanges: AsyncStream<ParsedDelivery>
  private let settingsChange: AsyncStream<ParsedDelivery>.Continuation
  /// The number of changes of the settings without an answer.
  private var unansweredChanges = 0
  /// A reload that has not ended yet.
  var reload: Reload?
  private(set) var reconnects = -1
  private(set) var isOnline = false
  private(set) var hasStopped = false
  /// The uptime at which `performMaintenance` last called `recordHeartbeat`, or `nil` before the first time. The
  /// lock file can contain an earlier time.
  var heartbeatAt: Duration?
  /// Whether there is a connection on which the broker has granted all subscriptions.
  private var isConnected = false
  /// The error of the ledger, or `nil` if the ledger works. While there is an error, the core may
  /// differ from the ledger, and the controller does not log lost connections, because it ends them
  /// itself.
  private(set) var failure: LedgerError?
  /// The error that last ended a connection or a connection attempt, or `nil` before the first error.
  private var outage: BrokerError?
  /// Whether a birth message has arrived since the last call of `publishState`.
  private var hasBirth = false
  /// The uptime of the last answer to a birth message, or `nil` before the first.
  private var birthAnsweredAt: Duration?
  var healthAt: Timestamp?
  var refusals = Refusals()

  /// Minimum number of unrecorded upstream confirmations with which the commit of a batch records the
  /// progress. `saveConfirmation` also records a smaller number, every 30 seconds while the kiosk is online.
  /// After a crash the uplink publishes the entries without a recorded confirmation again.
  private static let maximumUnsavedEntries = 1000

  /// Minimum time between two answers to birth messages. Anyone who may publish them could otherwise make
  /// the kiosk publish a hundred messages for each.
  private static let birthInterval = Duration.seconds(1)

  /// Maximum number of changes of the settings without an answer.
  private static let maximumUnansweredChanges = 16

  /// Maximum time for which a turn of the loop in `run` blocks until an event arrives.
  private static let maximumCycleInterval = Duration.seconds(10)

  /// Reads the ledger, and commits the transaction of `Kiosk.opening`.
  ///
  /// - Parameter uplinkProgress: The progress shared with the `Uplink`, or `nil` if the kiosk has no uplink.
  /// - Throws: `LedgerError` if the ledger cannot be read or written.
  package init(
    settings: KioskSettings, broker: any BrokerClient, ledger: sending KioskLedger,
    uplinkProgress: UplinkProgress? = nil, clock: KioskClock, logger: Logger
  ) throws(LedgerError) {
    let now = clock.now()
    var log = KioskLog(logger: logger)
    var state = try ledger.state()
    clockWatch = ClockWatch(after: state.seq, at: now)
    if let opening = Kiosk.opening(settings: settings, state: state, at: now) {
      try ledger.commit(opening)
      for record in opening.records { log.entry(record.row.entry) }
      state = try ledger.state()
    }
    let settings = settings.keepingMachines(of: state.jobs, state.makers)
      .keepingPayment(of: state.charges)
    try ledger.createIndexes(ofCharges: settings.payment != nil)
    log.disabledMachines(of: settings)
    let filters = state.subscriptions.union(settings.subscriptions.map(\.text))
    if filters != state.subscriptions { try ledger.setSubscriptions(filters) }
    subscriptions = Set(filters.map(TopicFilter.init(unchecked:)))
    self.settings = settings
    self.broker = broker
    self.ledger = ledger
    self.uplinkProgress = uplinkProgress
    self.clock = clock
    self.log = log
    (startUptime, startedAt) = (now.uptime, now.timestamp)
    commandFilter = CommandFilter(settings: settings)
    core = Kiosk(settings: settings, state: state)
    core.begin(at: now)
    (settingsChanges, settingsChange) = AsyncStream.makeStream()
    uplinkProgress?.recorded(through: state.seq)
    tracker = DeliveryTracker(state, lastAcknowledged: ledger.acknowledged)
    self.state = StatePublisher(lastPublished: core.copy())
    topics = PublishedTopics(known: state.topics)
    displays = DisplayPublisher(settings.displays)
    sales = SalesPublisher(settings: settings)
    reports = SalesResponder(settings: settings)
  }

  /// Runs the kiosk until the task is cancelled. Then publishes `offline` and disconnects, within
  /// two seconds.
  ///
  /// - Parameters:
  ///   - clientID: The client identifier of the kiosk's session with the broker.
  ///   - observe: Receives the condition at the start, after each turn of the loop, and before the shutdown.
  ///     A turn blocks for at most 10 seconds: a much longer time without a call means that the kiosk hangs.
  package func run(
    clientID: String, observe: @Sendable (KioskCondition) -> Void = { _ in }
  ) async {
    observe(condition)
    await broker.connect(sessionOptions(clientID: clientID, settings))
    self.clientID = clientID
    if let reload { await broker.update(sessionOptions(clientID: clientID, reload.settings)) }
    while !Task.isCancelled {
      // Limits the age of the recorded heartbeat after a kill; `LedgerLock` can add 100 ms.
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
    options.formerSubscriptions = subscriptions
    return options
  }

  /// Whether the kiosk is known to have been online within the maximum age of an order. Otherwise orders
  /// in the session's queue may be too old, and the first connection of `run` begins a new session.
  private var wasOnlineRecently: Bool {
    absence.map { (.zero...settings.orders.maximumAge).contains($0) } ?? false
  }

  /// The time since the kiosk was last online, or `nil` if that time is unknown. By the uptime if this process was
  /// online, so that setting the clock changes nothing. Otherwise it can be negative after the clock was set back.
  private var absence: Duration? {
    let now = clock.now()
    if let heartbeatAt { return now.uptime - heartbeatAt }
    return ledger.lastHeartbeat.map { now.timestamp.since($0) }
  }

  private func handle(_ event: BrokerEvent?) async throws(LedgerError) {
    switch event {
    case .deliveries(let deliveries):
      try ledger.checkFile()
      try await cycle(deliveries)
      if settings.hasBirth(among: deliveries) { hasBirth = true }
      // guard: the state of payment that another client has cleared is published again
      if isOnline, settings.hasClearedPayment(among: deliveries) {
        await publish(settings.topics.payments(of: core))
      }
      displays.handle(deliveries)
      reports.handle(deliveries)
    case .sessionBegan:
      // guard: a new session deletes the fingerprints of the old one
      tracker.sessionBegan()
      // guard: the fingerprints of an old session are deleted before a new one delivers
      try deleteDeliveries()
    case .online:
      isConnected = true
    case .offline(let error):
      (isConnected, isOnline) = (false, false)
      outage = error
      tracker.connectionLost(isOurs: failure != nil)
      core.connectionLost()
      // The broker may not have received the acknowledgements that were written to this connection.
      ledger.recordAcknowledged(through: tracker.acknowledged)
      topics.connectionLost()
      displays.connectionLost()
      reports.reset()
      if failure == nil { log.warn("\(error)") }
    case .updated(let refusal):
      subscriptionsChanged(refusal)
    case .refused(let topics):
      logRefusals(topics)
    case .confirmed, nil:
      break
    }
    try ledger.checkFile()
    if isConnected, !isOnline { try await goOnline() }
    try await answerBirth()
    try recordClockStep()
    // guard: a program at closing is due also if the kiosk is offline until it opens
    if !isOnline { core.noteHours(at: clock.now()) }
    try await applyReload()
    try await fireTimers()
    try await performMaintenance()
    try await publishDisplays()
  }

  // MARK: The cycle

  func cycle(_ deliveries: [Delivery]) async throws(LedgerError) {
    try await resume()
    try recordClockStep()
    let now = clock.now()
    let parsedDeliveries = commandFilter.admit(deliveries, tracker: &tracker, at: now)
    try deleteDeliveries()
    // A redelivery was usually counted when it was first delivered.
    let new = deliveries.count { $0.packetID > 0 && !$0.isRedelivery }
    let (serviceBefore, hadDates) = (core.service, core.batches.isActive)
    // guard: an order is acknowledged only after the commit
    // guard: an answer leaves only after the commit
    // guard: a machine gets a request only after the commit
    let decision = try commit(parsedDeliveries, counting: new, at: now)
    if !decision.transaction.records.isEmpty || decision.transaction.changes(.batch)
      || decision.machinesChanged || decision.paymentChanged || decision.sensorsChanged
      || core.service != serviceBefore
    {
      state.changed(at: now.uptime)
      displays.stateChanged()
    }
    ledgerRecovered()

    // Each step before this line delays the answer to the sender. While `resume` publishes
    // unconfirmed entries singly, to find a poison message, the new entries follow later.
    if tracker.isCaughtUp {
      await publish(
        decision.answers + core.messagesForMachines(at: now)
          + core.messagesForPaymentDevices(at: now))
    }
    // guard: an order is acknowledged at all
    // guard: only what the network has taken is noted as acknowledged
    let isAcknowledged = await broker.acknowledge()
    if isAcknowledged, tracker.allRedeliveriesReceived {
      ledger.recordAcknowledged(through: core.seq)
    }
    if tracker.isCaughtUp {
      let events = decision.events.map(settings.topics.event)
      await publish(events, through: core.seq)
    }

    for record in decision.transaction.records {
      sales.add(record.row.entry)
      log.entry(record.row.entry)
    }
    for (source, rejection) in decision.rejections {
      log.rejected(rejection.reason, from: source, detail: rejection.detail, at: now.timestamp)
    }
    for sensor in decision.sensorsIgnored { log.ignored(sensor, at: now.timestamp) }
    if decision.machinesChanged { log.machines(core.machineReports, at: now.timestamp) }
    // With the first fruit that has a date, the kiosk publishes on further topics.
    if core.batches.isActive, !hadDates, isOnline { try await publishState() }
    for parsed in decision.settings {
      unansweredChanges += 1
      guard unansweredChanges <= Self.maximumUnansweredChanges else {
        await answer(parsed, CommandResult(parsed.rejection(.rateLimited, "too many changes wait")))
        continue
      }
      settingsChange.yield(parsed)
    }
  }

  /// Answers a change of the settings, and logs a rejection.
  package func answer(_ parsed: ParsedDelivery, _ result: CommandResult) async {
    unansweredChanges -= 1
    if let reason = result.reason {
      log.rejected(
        reason, from: parsed.source, detail: result.detail, at: clock.now().timestamp)
    }
    // Another task may call this method before a batch is committed: so the method must not acknowledge.
    await publish([parsed.answer(result)])
  }

  /// Decides a batch and commits it. If the ledger can never store the batch, decides its
  /// deliveries one at a time and rejects those that cannot be stored.
  ///
  /// - Parameter deliveries: The number of new deliveries of any kind in the batch.
  private func commit(
    _ parsedDeliveries: [ParsedDelivery], counting deliveries: Int = 0, at now: Moment
  ) throws(LedgerError) -> Decision {
    do {
      return try commitTogether(parsedDeliveries, counting: deliveries, at: now)
    } catch {
      guard error.remedy == .rejectCommand else { throw error }
      guard let only = parsedDeliveries.first, parsedDeliveries.count == 1 else {
        var decision = Decision(at: now)
        for parsed in parsedDeliveries { decision.append(try commit([parsed], at: now)) }
        return decision
      }
      return core.reject(unrecordable: only, "\(error)", at: now)
    }
  }

  private func commitTogether(
    _ parsedDeliveries: [ParsedDelivery], counting deliveries: Int, at now: Moment
  ) throws(LedgerError) -> Decision {
    var core = core.copy()
    let repeats = try ledger.repeats(of: parsedDeliveries.flatMap(\.repeatKeys))
    var decision = core.decide(parsedDeliveries, repeats: repeats, at: now)
    // guard: only what the broker has confirmed counts as published
    decision.transaction.confirmed = tracker.unsaved
    decision.transaction.uplinked = uplinkProgress?.unsaved(from: Self.maximumUnsavedEntries)
    decision.transaction.deliveries = deliveries
    decision.events = try ledger.commit(decision.transaction)
    tracker.hasSaved()
    if let uplinked = decision.transaction.uplinked { uplinkProgress?.saved(through: uplinked) }
    uplinkProgress?.recorded(through: core.seq)
    self.core = core
    return decision
  }

  /// Publishes messages. Logs a warning if some of them are invalid, and publishes the others.
  ///
  /// - Parameter seq: The entry up to which this call completes the publication of answers and
  ///   events, or 0 if it completes no entry.
  func publish(_ messages: [Message], through seq: Int = 0) async {
    guard !messages.isEmpty else { return }
    do {
      let serial = try await broker.publish(messages)
      tracker.published(through: seq, serial: serial)
    } catch {
      log.unpublished(error, at: clock.now().timestamp)
    }
  }

  // MARK: Connection and state

  private func goOnline() async throws(LedgerError) {
    refusals = Refusals()
    try await resume()
    guard tracker.isCaughtUp else {
      await broker.acknowledge()
      return
    }
    if !wasOnlineRecently { core.reconnected(at: clock.now()) }
    // The broker has granted these, after it has received the UNSUBSCRIBE of the others.
    try record(Set(settings.subscriptions + (reload?.settings.subscriptions ?? [])))
    try await publishState()
    isOnline = true
    reconnects += 1
    ledgerRecovered()
    log.note("online")
  }

  /// Records the filters that the session may contain. A later process unsubscribes from those that it does not use:
  /// a press on a filter of its own and one of theirs would count twice.
  func record(_ subscriptions: Set<TopicFilter>) throws(LedgerError) {
    guard subscriptions != self.subscriptions else { return }
    try ledger.setSubscriptions(Set(subscriptions.map(\.text)))
    self.subscriptions = subscriptions
  }

  /// Publishes all retained topics after a birth message, unless the last answer was just before.
  private func answerBirth() async throws(LedgerError) {
    let uptime = clock.now().uptime
    guard isOnline, birthWait(at: uptime) == .zero else { return }
    birthAnsweredAt = uptime
    try await publishState(isForBirth: true)
  }

  /// Returns the time until the answer to a birth message, or `nil` if none is due.
  func birthWait(at uptime: Duration) -> Duration? {
    guard hasBirth else { return nil }
    return birthAnsweredAt.map { max(.zero, $0 + Self.birthInterval - uptime) } ?? .zero
  }

  /// Publishes all retained topics, and clears the obsolete ones. Sales reports follow in later turns.
  func publishState(isForBirth: Bool = false) async throws(LedgerError) {
    hasBirth = false
    let moment = clock.now()
    let now = moment.timestamp
    // Most computers without a hardware clock set their clock after the start of the kiosk.
    let passed = (moment.uptime - startUptime).milliseconds
    let start = Timestamp(milliseconds: now.milliseconds - passed)
    // The two clocks differ by some milliseconds all the time.
    if !start.isWithin(.seconds(1), of: startedAt), !startedAt.isWithin(.seconds(1), of: start) {
      startedAt = start
    }
    // A sender may publish a command as soon as it reads `online`. If the kiosk then crashes, the
    // next process resumes the session and executes the command, because of this heartbeat.
    // guard: the first heartbeat is written before online is published
    ledger.recordHeartbeat(at: now)
    var messages = settings.topics.state(of: core, at: now) + core.announcements
    messages.append(
      settings.topics.retained(
        settings.topics.info, settings.info(startedAt: startedAt).payload))
    messages.append(health(at: now))
    messages.append(settings.topics.status(.online))
    // The texts of displays follow in later turns.
    let current = Set(messages.map(\.topic) + settings.retainedDisplayTopics)
    let obsolete = topics.obsolete(comparedTo: current)
    try store(current)
    // guard: each connection publishes the complete state
    await publish(obsolete.map { settings.topics.retained($0, []) } + messages)
    state.published(core)
    topics.published(current, serial: tracker.lastSerial, at: clock.now().uptime)
    sales.reset(keepingInterval: isForBirth)
    await broker.acknowledge()
  }

  /// Publishes the state that has changed since the last publication.
  private func publishChanges() async {
    guard isOnline, state.isBehind else { return }
    await publish(state.due(core, settings.topics, at: clock.now().timestamp))
  }

  /// Records the topics of the current state before the kiosk publishes on them. If the kiosk then
  /// crashes and starts with another menu, it can clear the retained messages on these topics.
  func storeTopics() throws(LedgerError) {
    let state = settings.topics.state(of: core, at: clock.now().timestamp)
    try store(Set(state.map(\.topic) + settings.retainedDisplayTopics))
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

  /// Drops the connection after an error of the ledger, without answering or acknowledging the
  /// batch. The broker redelivers the batch. Each further connection ends in the same way until a
  /// commit succeeds.
  private func fail(_ error: LedgerError) async {
    // guard: what could not be committed is not acknowledged
    await broker.abandon()
    isConnected = false
    tracker.ledgerFailed()
    sales.ledgerFailed()
    if error != failure {
      let advice =
        error.remedy == .needsOperator
        ? "Trying again does not help: correct the cause" : "Trying again until it works"
      log.fail("\(error). \(advice)")
    }
    failure = error
  }

  private func shutDown() async {
    hasStopped = true
    settingsChange.finish()
    reload?.end(.stopped)
    await publishChanges()
    if isOnline {
      let lastMessages = settings.displays.filter(\.showsStatus)
        .compactMap { core.message(for: $0, status: .offline) }
      await publish([settings.topics.status(.offline)] + lastMessages)
    }
    await broker.disconnect(grace: .milliseconds(1500))
    tracker.confirm(through: await broker.confirmed)
    // If the commit fails, the next start publishes the last entries again. Receivers must expect repeats.
    try? saveConfirmation()
    log.note("stopped")
  }
}
