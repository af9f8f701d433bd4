import ArgumentParser
import CommandLineSupport
import Logging
import ServiceLifecycle
import YAMLConfiguration

struct Run: PreparedCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run the payment device.",
    discussion: """
      Runs until SIGTERM or SIGINT. While the terminal or the broker is not reachable, it tries \
      again; the kiosk sends charges again.
      """)

  @OptionGroup var options: ConfigurationOptions
  @OptionGroup var logging: LogOptions

  func prepare() throws -> @Sendable () async throws -> Void {
    var configuration = try options.load()
    let logger = try logging.makeLogger("juice-zvt")
    if let warning = options.serviceLinksWarning { logger.warning("\(warning)") }
    try configuration.broker.loadPassword()
    try FolderOwner(ofFolderOf: configuration.journal).switchUser()
    return { [configuration] in
      let device = try DeviceService(configuration, logger)
      NotifySocket()?.send("READY=1")
      try await ServiceGroup.run([UntilShutdown { try await device.run() }], logger: logger)
    }
  }
}
