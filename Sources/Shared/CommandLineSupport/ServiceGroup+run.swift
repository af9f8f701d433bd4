package import Logging
package import ServiceLifecycle
import UnixSignals

/// A service whose work is cancelled on graceful shutdown.
package struct UntilShutdown: Service {
  private let work: @Sendable () async throws -> Void

  package init(_ work: @escaping @Sendable () async throws -> Void) { self.work = work }

  package func run() async throws { try await cancelWhenGracefulShutdown { try await work() } }
}

extension ServiceGroup {
  /// Runs the services until one of them ends or fails, or the process receives SIGTERM or SIGINT.
  package static func run(_ services: [any Service], logger: Logger) async throws {
    // The group's own log, about tasks that start and stop, is of no interest to kiosk owners.
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .error)
    var configuration = ServiceGroupConfiguration(
      services: services.map {
        .init(service: $0, successTerminationBehavior: .gracefullyShutdownGroup)
      },
      gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet)
    // Services end one after the other. After this time all others are cancelled: they store their
    // state before systemd kills the program, which it does after 10 seconds.
    configuration.maximumGracefulShutdownDuration = .seconds(6)
    try await ServiceGroup(configuration: configuration).run()
  }
}
