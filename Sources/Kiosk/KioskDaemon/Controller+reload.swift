package import JuiceDomain
package import KioskCore
import KioskProtocol
package import Ledger
package import MessageBroker

/// Replaces the settings while the kiosk runs.
extension Controller {
  /// The outcome of a `reload`.
  package enum ReloadOutcome: Sendable, Equatable {
    case taken
    /// The broker has refused a subscription, or ended the connection before it granted all
    /// subscriptions. The settings are unchanged.
    case refused(BrokerError)
    /// The kiosk is stopping or has stopped.
    case stopped
  }

  struct Reload {
    var settings: KioskSettings
    let outcome: AsyncStream<ReloadOutcome>.Continuation
    /// Whether the broker has granted the new subscriptions, or there was no connection to request them.
    var isGranted = false

    func end(_ outcome: ReloadOutcome) {
      self.outcome.yield(outcome)
      self.outcome.finish()
    }
  }

  /// The retained topics that may hold a message of this kiosk.
  package var retainedTopics: Set<String> { topics.known }

  package var stock: FruitAmounts { core.stock }

  /// Maximum number of fruits in the ledger, where a former fruit stays, with those that a menu adds.
  private static let maximumFruits = 1_000

  /// Returns the reason why a menu of an operator or of the chain adds too much, or `nil`. Each of them
  /// could otherwise fill the ledger, and let a connection begin with more messages than may be unconfirmed.
  package func objection(to menu: Menu) throws(LedgerError) -> String? {
    let fruits = try ledger.fruits()
    let added = menu.fruits.count { !fruits.contains($0.id.text) }
    if added > 0, fruits.count + added > Self.maximumFruits {
      return "the ledger has \(fruits.count) fruits, also former ones; with \(added) more it would "
        + "have more than \(Self.maximumFruits)"
    }
    let used =
      menu.fruits.map { settings.topics.stock(of: $0.id) }
      + menu.juices.map { settings.topics.servings(of: $0.id) }
    return topics.objection(to: used)
  }

  /// Replaces the settings in the same session and between two batches: either the old or the new
  /// settings apply to an order. Fruits that are not on the new menu stay in the ledger.
  ///
  /// Without a connection the controller applies the settings at once. After an error of the ledger,
  /// the call returns only when a later attempt succeeds or the kiosk stops.
  ///
  /// - Parameter settings: Settings of the same kiosk in the same time zone.
  /// - Returns: The outcome. Do not call `reload` again before this call has returned.
  package func reload(_ settings: KioskSettings) async -> ReloadOutcome {
    guard !hasStopped else { return .stopped }
    let (outcomes, outcome) = AsyncStream.makeStream(of: ReloadOutcome.self)
    let settings = settings.keepingMachines(of: core.jobs.open, self.settings.makers())
      .keepingPayment(of: core.charges.open)
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

  /// Applies the settings of the reload if it `isGranted`.
  func applyReload() async throws(LedgerError) {
    guard var reload, reload.isGranted else { return }
    var state = try ledger.state()
    let settings = reload.settings.keepingMachines(of: state.jobs, state.makers)
      .keepingPayment(of: state.charges)
    guard settings.machines == reload.settings.machines,
      settings.payment == reload.settings.payment
    else {
      // Since the subscriptions were requested, the open jobs of removed machines or the open
      // charges of removed payment devices have changed.
      (reload.settings, reload.isGranted) = (settings, false)
      self.reload = reload
      if let clientID { await broker.update(sessionOptions(clientID: clientID, settings)) }
      return
    }
    let opening = Kiosk.opening(settings: reload.settings, state: state, at: clock.now())
    var events: [[UInt8]] = []
    if let opening {
      events = try ledger.commit(opening)
      state = try ledger.state()
      uplinkProgress?.recorded(through: state.seq)
      ledgerRecovered()
    }
    // Before any setting takes effect, because the disk may fail.
    try record(subscriptions.union(settings.subscriptions))
    try ledger.createIndexes(ofCharges: settings.payment != nil)
    if settings.machines != self.settings.machines { log.disabledMachines(of: settings) }
    self.settings = settings
    core.adopt(settings, state: state)
    core.updateHours(at: clock.now())
    commandFilter.adopt(settings)
    displays = DisplayPublisher(settings.displays)
    sales = SalesPublisher(settings: settings)
    reports = SalesResponder(settings: settings)
    self.reload = nil
    defer { reload.end(.taken) }

    for record in opening?.records ?? [] { log.entry(record.row.entry) }
    // If the tracker has not caught up, `resume` publishes these entries later.
    if tracker.isCaughtUp {
      try storeTopics()
      await publish(events.map(settings.topics.event), through: core.seq)
    }
    // The broker may now accept topics that it refused before the reload.
    refusals = Refusals()
    if isOnline { try await publishState() }
  }
}
