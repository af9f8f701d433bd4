package import KioskCore
import KioskProtocol
import Ledger
package import MessageBroker

/// Other settings while the kiosk runs.
extension Controller {
  /// What has come of a `reload`.
  package enum ReloadOutcome: Sendable, Equatable {
    case taken
    /// By the broker; all is as before.
    case refused(BrokerError)
    /// The kiosk has taken its leave.
    case stopped
  }

  struct Reload {
    var settings: KioskSettings
    let outcome: AsyncStream<ReloadOutcome>.Continuation
    /// The broker has granted what is new among the subscriptions.
    var isGranted = false

    func end(_ outcome: ReloadOutcome) {
      self.outcome.yield(outcome)
      self.outcome.finish()
    }
  }

  /// The retained topics that may hold something of this kiosk.
  package var retainedTopics: Set<String> { topics.known }

  /// Goes on with other settings: on the same session, and between two batches, so that each order is
  /// decided by the old ones or by the new ones. Fruits that have left the menu stay in the ledger.
  ///
  /// Without a broker the settings are taken at once. A ledger that cannot take the fruits which are
  /// new is waited for.
  ///
  /// - Parameter settings: of the same kiosk, in the same time zone.
  /// - Returns: when it is done; call it again after that.
  package func reload(_ settings: KioskSettings) async -> ReloadOutcome {
    guard !hasStopped else { return .stopped }
    let (outcomes, outcome) = AsyncStream.makeStream(of: ReloadOutcome.self)
    let settings = settings.keepingMachines(of: core.jobs.open)
    reload = Reload(settings: settings, outcome: outcome)
    if let clientID { await broker.update(sessionOptions(clientID: clientID, settings)) }
    for await outcome in outcomes { return outcome }
    return .stopped
  }

  func subscriptionsChanged(_ refusal: BrokerError?) {
    if let refusal {
      reload?.end(.refused(refusal))
      reload = nil
    } else {
      reload?.isGranted = true
    }
  }

  /// Takes settings over whose subscriptions are granted.
  func applyReload() async throws(LedgerError) {
    guard var reload, reload.isGranted else { return }
    var state = try ledger.state()
    let settings = reload.settings.keepingMachines(of: state.jobs)
    guard settings.machines == reload.settings.machines else {
      // It has got a job while the broker was asked.
      (reload.settings, reload.isGranted) = (settings, false)
      self.reload = reload
      if let clientID { await broker.update(sessionOptions(clientID: clientID, settings)) }
      return
    }
    let opening = Kiosk.opening(settings: reload.settings, state: state, at: clock.now())
    if let opening {
      try ledger.commit(opening)
      state = try ledger.state()
      uplinkProgress?.recorded(through: state.seq)
      ledgerRecovered()
    }
    self.settings = settings
    core.adopt(settings, state: state)
    commandFilter.adopt(settings)
    displays = DisplayPublisher(settings.displays)
    sales = SalesPublisher(settings: settings)
    self.reload = nil
    defer { reload.end(.taken) }

    let entries = opening?.records.map(\.row.entry) ?? []
    for entry in entries { log.entry(entry) }
    // On another connection all that is not confirmed is published.
    if tracker.isCaughtUp {
      try storeTopics()
      await publish(entries.map(settings.topics.event), through: core.seq)
    }
    // What the broker has refused may be allowed by now.
    refusals = Refusals()
    if isOnline { try await publishState() }
  }
}
