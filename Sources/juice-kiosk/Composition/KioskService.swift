import KioskController
import ServiceLifecycle

/// The controller as a service: a shutdown lets it finish the batch in hand and say goodbye.
struct KioskService: Service {
  let controller: Controller
  let clientID: String
  let manager: ServiceManager?

  func run() async {
    await cancelWhenGracefulShutdown {
      await controller.run(clientID: clientID) { manager?.turn($0) }
    }
  }
}
