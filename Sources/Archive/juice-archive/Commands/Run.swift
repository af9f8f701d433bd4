import Archive
import ArgumentParser
import CommandLineSupport
import ServiceLifecycle
import YAMLConfiguration

struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Archive events.",
    discussion: """
      Goes on until SIGTERM or SIGINT. Of any number that run on one database, one is active, and \
      another goes on where it ends. A database or a broker that is away is waited for; meanwhile the \
      broker keeps the events.
      """)

  @OptionGroup var options: ConfigurationOptions
  @OptionGroup var logging: LogOptions

  func run() async throws {
    let configuration = try options.load()
    let logger = try logging.makeLogger("juice-archive")
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
