import Archive
import ArgumentParser
import CommandLineSupport
import Logging
import ServiceLifecycle
import YAMLConfiguration

struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Archive events.",
    discussion: """
      Runs until SIGTERM or SIGINT. If several archivers use one database, one is active; when it ends, \
      another one takes over. While the database or the broker is not reachable, the archiver tries \
      again, and the broker keeps the events.
      """)

  @OptionGroup var options: ConfigurationOptions
  @OptionGroup var logging: LogOptions

  func run() async throws {
    let configuration = try options.load()
    let logger = try logging.makeLogger("juice-archive")
    if let warning = options.serviceLinksWarning { logger.warning("\(warning)") }
    let settings = try ArchiveSettings(configuration)
    var broker = configuration.broker
    try broker.loadPassword()
    let archiver = Archiver(settings: settings, logger: logger) { [broker] in
      try broker.makeBroker()
    }
    NotifySocket()?.send("READY=1")
    try await ServiceGroup.run([archiver], logger: logger)
  }
}
