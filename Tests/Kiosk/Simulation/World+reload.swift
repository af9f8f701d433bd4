import InMemoryBroker
import KioskCore
import KioskDaemon
import MessageBroker

/// Another configuration.
extension World {
  func reload(_ variant: ConfigurationVariant) throws {
    // As signals do, the next one waits until this one is served.
    guard !isReloading else { return }
    try variant.apply(to: &settings)
    auditor.file = variant
    guard let kiosk else { return }
    guard injectedBug != .ignoresReload else {
      auditor.model.variant = variant
      return
    }
    isReloading = true
    // The task runs only while the executor does, on this thread.
    nonisolated(unsafe) let world = self
    let (client, controller, settings) = (kiosk.client, kiosk.controller, settings)
    Task(executorPreference: executor) {
      _ = await controller.reload(settings)
      if world.kiosk?.client === client { world.isReloading = false }
    }
  }

  /// What was decided in a turn was decided before the rules changed.
  func kioskCycleEnded(_ client: MemoryClient) {
    guard let kiosk, kiosk.client === client else { return }
    // What a message's sender asked for is known until the next turn.
    if hasWork { read(kiosk.ledger) }
    auditor.batchIsOver()
    noteVariant(kiosk)
  }

  /// What the kiosk does from now on, it does by the rules that it has now.
  func noteVariant(_ kiosk: Process) {
    let quantity = kiosk.controller.assumeIsolated { $0.settings.orders.maximumQuantity }
    guard
      let variant = ConfigurationVariant.allCases.first(where: { $0.maximumQuantity == quantity }),
      variant != auditor.model.variant
    else { return }
    read(kiosk.ledger)
    auditor.model.variant = variant
  }
}
