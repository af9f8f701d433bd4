import InMemoryBroker
import KioskController
import KioskCore
import MessageBroker

/// Another configuration.
extension World {
  func reload(_ house: House) throws {
    // As signals do, the next one waits until this one is served.
    guard !isReloading else { return }
    try house.furnish(&settings)
    auditor.file = house
    guard let kiosk else { return }
    guard sabotage != .ignoresReload else {
      auditor.model.house = house
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
  func kioskTurned(_ client: MemoryClient) {
    guard let kiosk, kiosk.client === client else { return }
    // What a message's sender asked for is known until the next turn.
    if hasWork { read(kiosk.ledger) }
    auditor.batchIsOver()
    noteHouse(kiosk)
  }

  /// What the kiosk does from now on, it does by the rules that it has now.
  func noteHouse(_ kiosk: Process) {
    let quantity = kiosk.controller.assumeIsolated { $0.settings.orders.maximumQuantity }
    guard let house = House.allCases.first(where: { $0.maximumQuantity == quantity }),
      house != auditor.model.house
    else { return }
    read(kiosk.ledger)
    auditor.model.house = house
  }
}
