import KioskController
import ServiceLifecycle
import Synchronization

/// The controller as a service: a shutdown lets it finish the batch in hand and say goodbye.
struct KioskService: Service {
  let controller: KioskController
  let clientID: String
  let manager: ServiceManager?

  func run() async {
    let isStarted = Atomic(false)
    await cancelWhenGracefulShutdown {
      await controller.run(clientID: clientID) { condition in
        manager?.turn(condition)
        if case .online = condition, !isStarted.exchange(true, ordering: .relaxed) {
          ProgramText.unmap()
        }
      }
    }
  }
}
