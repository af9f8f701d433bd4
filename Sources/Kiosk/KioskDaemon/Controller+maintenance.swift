import KioskCore
import KioskProtocol
import Ledger
import MessageBroker

/// Housekeeping: what has its time after the orders.
extension Controller {
  /// Health is published this often.
  private static let healthInterval = Duration.seconds(30)

  /// Until displays or those who look at the sales are to be told something, or none if only orders
  /// that are here already come first; `nil`: not now.
  var wait: Duration? {
    guard isOnline else { return nil }
    if state.isBehind { return .zero }
    let now = clock.now().timestamp
    return [sales.wait(at: now), displays.wait(at: now), core.jobs.wait(at: clock.now())]
      .compactMap(\.self).min()
  }

  /// What the time has brought for machines.
  func fireTimers() async throws(LedgerError) {
    guard isOnline, core.jobs.wait(at: clock.now()) == .zero else { return }
    try await cycle([])
  }

  /// After the orders have been answered: nobody waits for it.
  func publishDisplays() async throws(LedgerError) {
    guard isOnline else { return }
    let now = clock.now().timestamp
    var messages = displays.due(at: now) { core.message(for: $0) }
    messages += try sales.due(at: now, reading: ledger, core: core)
    guard !messages.isEmpty else { return }
    await publish(messages)
    await broker.acknowledge()
  }

  func performMaintenance() async throws(LedgerError) {
    guard isOnline else { return }
    let now = clock.now().timestamp
    // guard: a kiosk that is there goes on giving signs of life
    ledger.recordHeartbeat(at: now)
    heartbeatAt = now
    if let current = topics.confirmed(through: await broker.confirmed) {
      try ledger.setTopics(current)
    }
    if let healthAt, (.zero..<Self.healthInterval).contains(now.since(healthAt)) { return }
    try saveConfirmation()
    await publish([health(at: now)])
    await broker.acknowledge()
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

  /// Each reason is logged once for a connection.
  func logRefusals(_ topics: [String: String]) {
    let known = refusals.reasons.count
    for (topic, reason) in refusals.note(topics) {
      let error = BrokerError.publishRefused(topic: topic, reason: reason)
      log.warn("\(error); `juice-kiosk doctor` names every topic")
    }
    // Now, and not in half a minute.
    if refusals.reasons.count > known { healthAt = nil }
  }

  func health(at now: Timestamp) -> Message {
    healthAt = now
    var counters = core.counters
    counters.reconnects = max(0, reconnects)
    counters.dropped = commandFilter.dropped
    let size = try? ledger.size
    let health = KioskHealth(
      at: now, uptime: Int(now.since(startedAt).components.seconds), counters: counters,
      memory: ProcessMemory.resident, queue: tracker.depth, service: core.service,
      low: core.alerts.values.count { $0 == .low }, out: core.alerts.values.count { $0 == .out },
      machinesDown: core.jobs.reports.count(where: \.report.state.isProblem),
      undecided: core.jobs.open.count(where: \.state.isUndecided),
      ledger: size, diskFree: ledger.freeSpace, refused: refusals.reasons)
    let payload = health.payload
    uplinkProgress?.health = payload
    return settings.topics.retained(settings.topics.health, payload)
  }
}
