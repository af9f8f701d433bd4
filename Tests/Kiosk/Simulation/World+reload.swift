import InMemoryBroker
import KioskCore
import KioskDaemon
import MessageBroker

/// Changes of the configuration.
extension World {
  func reload(_ variant: ConfigurationVariant) throws {
    // Like a pending signal, the next reload waits until the current one is finished.
    guard !isReloading else { return }
    try variant.apply(to: &settings, hasDates: auditor.rules.hasDates)
    auditor.file = variant
    guard let kiosk else { return }
    guard injectedBug != .ignoresReload else {
      auditor.model.variant = variant
      return
    }
    isReloading = true
    let (client, controller, settings) = (kiosk.client, kiosk.controller, settings)
    Task(executorPreference: executor) {
      _ = await controller.reload(settings)
      if self.kiosk?.client === client { self.isReloading = false }
    }
  }

  /// Reads the entries of a finished cycle before the model adopts a new variant, because the kiosk
  /// decided them by the old one.
  func kioskCycleEnded(_ client: MemoryClient) {
    guard let kiosk, kiosk.client === client else { return }
    // The current batch explains these entries; the next cycle replaces it.
    if hasWork { read(kiosk.ledger) }
    auditor.batchIsOver()
    noteVariant(kiosk)
  }

  /// Applies the variant that the kiosk uses now to the model.
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
