import Archive
import ArgumentParser
import ConfigurationFiles
import Foundation
import Program
import ServiceLifecycle

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
    let settings: ArchiveSettings
    var broker = configuration.broker
    do throws(ConfigurationErrors) {
      settings = ArchiveSettings(configuration, password: try configuration.readPassword())
      try broker.keepPassword()
    } catch {
      throw Failure(error)
    }
    let archiver = Archiver(settings: settings, logger: logger) { [broker] in
      try broker.makeBroker()
    }
    NotifySocket()?.send("READY=1")
    do {
      try await ServiceGroup.run([archiver], logger: logger)
    } catch let error as ArchiveError {
      throw Failure.badConfiguration("\(error)")
    }
  }
}

extension ArchiveSettings {
  fileprivate init(_ configuration: ArchiveConfiguration, password: String?) {
    self.init(
      database: configuration.database, password: password, root: configuration.root,
      clientID: configuration.broker.clientID, batch: configuration.batch,
      sessionExpiry: .seconds(configuration.sessionDays * 86_400),
      timeZone: configuration.timeZone.identifier)
  }
}
