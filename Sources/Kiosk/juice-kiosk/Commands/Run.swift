import ArgumentParser
import CommandLineSupport
import Foundation
import JuiceDomain
import KioskDaemon
import KioskProtocol
import Ledger
import Logging
import ServiceLifecycle
import UnixSignals
import YAMLConfiguration

struct Run: PreparedCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run the kiosk.",
    discussion: """
      Connects to the broker and takes orders until SIGTERM or SIGINT. Then it finishes the current \
      orders, publishes that it is offline, and exits within two seconds. If the broker is \
      unreachable, it retries.

      On SIGHUP it reads the configuration again and applies it without a pause. If the configuration \
      has an error or needs a restart, it logs the reason and keeps the old one.
      """)

  @OptionGroup var options: ConfigurationOptions
  @OptionGroup var logging: LogOptions

  func prepare() throws -> @Sendable () async throws -> Void {
    let text = try options.text()
    // As root, the program switches to the owner of the ledger's folder. As this user, it reads the
    // files beside the ledger, the password and, at each reload, the configuration.
    let configuration = try text.withMenuAsOwner()
    return { try await serve(configuration, text) }
  }

  private func serve(
    _ configuration: KioskConfiguration, _ text: KioskConfiguration.Text
  ) async throws {
    let hangups = await UnixSignalsSequence(trapping: .sighup)
    let logger = try logging.makeLogger("juice-kiosk")
    let broker = configuration.broker
    let kiosk = configuration.kiosk
    logger.notice(
      "juice-kiosk \(Release.version): kiosk \(kiosk.id)\(kiosk.displayName.map { " (\($0))" } ?? ""), broker \(broker.host):\(broker.port), ledger \(configuration.ledgerPath)"
    )
    if let menu = configuration.desiredMenu {
      logger.notice("menu \(menu.version) of the chain is used instead of the file's menu")
    }
    if let warning = options.serviceLinksWarning { logger.warning("\(warning)") }
    for problem in configuration.usedCopies { logger.warning("\(problem)") }
    if let problem = configuration.menuProblem {
      logger.error("the menu of the chain cannot be used, the file's own menu is: \(problem)")
    }
    if let problem = configuration.settingsProblem {
      logger.error("the change of the settings cannot be used, the file's own are: \(problem)")
    }
    let uplinkProgress = configuration.uplink.map { _ in UplinkProgress() }
    let menus = MenuMailbox(
      version: configuration.desiredMenu?.version ?? 0, problem: configuration.menuProblem)
    let controller = try Controller.build(
      configuration, uplinkProgress: uplinkProgress, logger: logger)
    let uplink = try uplinkProgress.flatMap {
      try Uplink.build(configuration, uplinkProgress: $0, menus: menus, logger: logger)
    }
    let manager = ServiceManager()
    let reload = ReloadService(
      options: options, text: text, configuration: configuration, menus: menus,
      controller: controller, manager: manager, logger: logger, hangups: hangups)
    // Services stop in reverse order: the controller finishes its batch and disconnects first. This
    // ends a waiting reload, and the uplink can still send the kiosk's last entries.
    let services: [(any Service)?] = [
      reload, uplink.map { uplink in UntilShutdown { await uplink.run() } },
      UntilShutdown { await controller.run(clientID: broker.clientID) { manager?.report($0) } },
    ]
    try await ServiceGroup.run(services.compactMap(\.self), logger: logger)
  }
}
