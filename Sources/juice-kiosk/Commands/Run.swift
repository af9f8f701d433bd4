import ArgumentParser
import JuiceMaker
import KioskConfiguration
import KioskController
import Logging
import Program
import ServiceLifecycle
import UnixSignals

struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run the kiosk.",
    discussion: """
      Connects to the broker, takes orders, and goes on until SIGTERM or SIGINT: then it finishes \
      what it has in hand, publishes that it is offline, and exits within two seconds. A broker \
      that goes away is waited for.

      On SIGHUP it reads the configuration again and goes on with that, without a pause; if something \
      is wrong with it, or needs a restart, it says so and goes on as before.
      """)

  @OptionGroup var options: ConfigurationOptions
  @OptionGroup var logging: LogOptions

  func run() async throws {
    // First of all: until then a SIGHUP ends the program.
    let hangups = await UnixSignalsSequence(trapping: .sighup)
    let configuration = try options.load()
    let logger = try logging.makeLogger("juice-kiosk")
    let broker = configuration.broker
    logger.notice(
      "juice-kiosk \(Release.version): kiosk \(configuration.kiosk.id), broker \(broker.host):\(broker.port), ledger \(configuration.ledger.path)"
    )
    let controller = try KioskController.build(configuration, logger: logger)
    let manager = ServiceManager()
    let kiosk = KioskService(
      controller: controller, clientID: broker.clientID, manager: manager)
    let reload = ReloadService(
      options: options, configuration: configuration, controller: controller, manager: manager,
      logger: logger, hangups: hangups)
    // The last one ends first: a reload that waits for the kiosk hears that it has gone.
    try await ServiceGroup.run([reload, kiosk], logger: logger)
  }
}
