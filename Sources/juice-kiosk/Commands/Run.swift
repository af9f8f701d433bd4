import ArgumentParser
import JuiceMaker
import KioskConfiguration
import KioskController
import Logging
import ServiceLifecycle

struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run the kiosk.",
    discussion: """
      Connects to the broker, takes orders, and goes on until SIGTERM or SIGINT: then it finishes \
      what it has in hand, publishes that it is offline, and exits within two seconds. A broker \
      that goes away is waited for.
      """)

  @OptionGroup var options: ConfigurationOptions
  @OptionGroup var logging: LogOptions

  func run() async throws {
    let configuration = try options.load()
    let logger = try logging.makeLogger()
    let broker = configuration.broker
    logger.notice(
      "juice-kiosk \(JuiceKiosk.version): kiosk \(configuration.kiosk.id), broker \(broker.host):\(broker.port), ledger \(configuration.ledger.path)"
    )
    let service = KioskService(
      controller: try KioskController.build(configuration, logger: logger),
      clientID: broker.clientID)
    try await ServiceGroup.run([service], logger: logger)
  }
}
