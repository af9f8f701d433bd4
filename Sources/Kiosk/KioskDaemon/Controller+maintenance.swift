import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger
import MessageBroker

/// Performs periodic work outside the cycle.
extension Controller {
  /// Usual interval between two publications of `health`.
  private static let healthInterval = Duration.seconds(30)

  /// The time until sales, a display, or a timer of a machine, a payment device, a sensor or a batch
  /// of fruit is due; `health` and the opening hours do not count. It is zero if changed state or a
  /// requested report must be published, and `nil` if the kiosk is offline.
  var wait: Duration? {
    guard isOnline else { return nil }
    if state.isBehind || !reports.isIdle { return .zero }
    let now = clock.now()
    return [
      sales.wait(at: now.timestamp), displays.wait(at: now.timestamp), core.wait(at: now),
      birthWait(at: now.uptime),
    ].compactMap(\.self).min()
  }

  /// Runs a cycle if a timer of a machine, a payment device, a sensor or a batch of fruit has
  /// expired, or if the opening hours have begun or ended. Does nothing while the kiosk is offline.
  func fireTimers() async throws(LedgerError) {
    guard isOnline, core.isDue(at: clock.now()) else { return }
    try await cycle([])
  }

  /// Publishes the due messages for displays, the due sales reports and one requested report.
  /// `handle` calls this method after the cycle, so that answers to orders are published first.
  func publishDisplays() async throws(LedgerError) {
    guard isOnline else { return }
    let now = clock.now().timestamp
    var messages = displays.due(at: now) { core.message(for: $0) }
    messages += try sales.due(at: now, reading: ledger, core: core)
    messages += try reports.due(reading: ledger, core: core)
    guard !messages.isEmpty else { return }
    await publish(messages)
    await broker.acknowledge()
  }

  func performMaintenance() async throws(LedgerError) {
    guard isOnline else { return }
    let moment = clock.now()
    let now = moment.timestamp
    // guard: a kiosk that is online goes on recording heartbeats
    ledger.recordHeartbeat(at: now)
    heartbeatAt = moment.uptime
    if let current = topics.confirmed(
      through: await broker.confirmed, at: clock.now().uptime)
    {
      try ledger.setTopics(current)
    }
    if let healthAt, (.zero..<Self.healthInterval).contains(now.since(healthAt)) { return }
    if log.lacksMachine { log.machines(core.machineReports, at: now) }
    try saveConfirmation()
    await publish([health(at: now)])
    await broker.acknowledge()
  }

  /// Records a change of the wall clock by a minute or more, before the ledger records an entry with the
  /// new time. The queries for sales then correct the times of the earlier entries of this process.
  func recordClockStep() throws(LedgerError) {
    let now = clock.now()
    core.updateClock(at: now)
    clockWatch.check(now, seq: core.seq)
    guard let step = clockWatch.pending else { return }
    var transaction = LedgerTransaction()
    transaction.clockStep = step
    try ledger.commit(transaction)
    clockWatch.recorded()
    sales.clockSet()
  }

  func saveConfirmation() throws(LedgerError) {
    var transaction = LedgerTransaction()
    transaction.confirmed = tracker.unsaved
    transaction.uplinked = uplinkProgress?.unsaved()
    guard !transaction.isEmpty else { return }
    try ledger.commit(transaction)
    tracker.hasSaved()
    if let uplinked = transaction.uplinked { uplinkProgress?.saved(through: uplinked) }
  }

  /// Records refused topics for `health`, and logs one new topic for each new reason.
  func logRefusals(_ topics: [String: String]) {
    let known = refusals.reasons.count
    for (topic, reason) in refusals.note(topics) {
      let error = BrokerError.publishRefused(topic: topic, reason: reason)
      log.warn("\(error); `juice-kiosk doctor` names every topic")
    }
    // Makes `performMaintenance` publish `health` in this turn, and not after the interval.
    if refusals.reasons.count > known { healthAt = nil }
  }

  private var programsDue: Int? {
    guard settings.machines.contains(where: { !$0.programs.isEmpty }) else { return nil }
    return core.machineReports.reduce(0) { $0 + $1.report.programs.count(where: \.needsAttention) }
  }

  func health(at now: Timestamp) -> Message {
    healthAt = now
    var counters = core.counters
    counters.reconnects = max(0, reconnects)
    counters.dropped = commandFilter.dropped
    // If the ledger cannot be read, the report has no size and no position. The next commit reports
    // the error.
    let size = try? ledger.size
    let position = try? ledger.position(of: core.seq)
    let health = KioskHealth(
      at: now, uptime: Int((clock.now().uptime - startUptime).components.seconds),
      counters: counters,
      memory: ProcessMemory.resident, queue: tracker.depth, service: core.service,
      low: core.fruits(at: .low), out: core.fruits(at: .out),
      machinesDown: core.machineReports.count(where: \.report.state.isProblem),
      undecided: core.jobs.open.count(where: \.state.isUndecided)
        + core.charges.open.count { $0.state == .undecided },
      programsDue: programsDue,
      expired: core.batches.isActive ? core.batches.expiredAmounts.count : nil,
      clockBehind: core.batches.isActive ? Int(core.batches.clockBehind / 1000) : nil,
      payment: core.settings.payment.map { _ in
        KioskHealth.Payment(
          core.charges.reports.map(\.report),
          open: core.charges.open.count { $0.state != .captured },
          in: core.settings.menu.juices.lazy.compactMap(\.price?.currency).first)
      },
      sensors: core.sensors.reports.isEmpty ? nil : KioskHealth.Sensors(core.sensors.reports),
      ledger: size, diskFree: ledger.freeSpace,
      uplinkDropped: uplinkProgress?.droppedRequests, position: position,
      refused: refusals.reasons)
    uplinkProgress?.health = health
    return settings.topics.retained(settings.topics.health, health.payload)
  }
}

extension KioskHealth.Payment {
  /// Adds up the reports of payment devices. The sums have no currency, so they include only the
  /// devices whose amounts are in the currency of the menu: after a change of the currency, a device
  /// has amounts in the old one until its next capture or total.
  init(_ reports: [PaymentReport], open: Int, in currency: Currency?) {
    let counted = reports.filter { $0.captured?.currency == currency }
    self.init(
      down: reports.count { $0.state == .off }, open: open,
      difference: counted.reduce(0) { $0 &+ Int(clamping: $1.difference.magnitude) },
      taken: counted.reduce(0) { $0 &+ ($1.captured?.units ?? 0) &- ($1.refunded?.units ?? 0) })
  }
}
