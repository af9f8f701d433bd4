import KioskController
import Logging
import ServiceLifecycle
import UnixSignals

/// The controller as a service: a shutdown lets it finish the batch in hand and say goodbye.
struct KioskService: Service {
  let controller: KioskController
  let clientID: String

  func run() async {
    await cancelWhenGracefulShutdown { await controller.run(clientID: clientID) }
  }
}

extension ServiceGroup {
  /// Runs the services until one fails or SIGTERM or SIGINT arrives.
  static func run(_ services: [any Service], logger: Logger) async throws {
    // The group's own log is about starting and stopping tasks, which no kiosk owner asks for.
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .error)
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: services.map {
          .init(service: $0, successTerminationBehavior: .gracefullyShutdownGroup)
        },
        gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet))
    try await group.run()
  }
}
