import Archive
import ArgumentParser
import ConfigurationFiles
import Foundation
import Postgres
import Program

@main
struct JuiceArchive: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "juice-archive",
    abstract: "Keeps what all kiosks tell in a PostgreSQL database.",
    discussion: """
      It reads the configuration file given with --config, else \
      /etc/juice-archive/archive.yaml, else none, which means the defaults: a broker on \
      127.0.0.1:1883, and the database juice on this machine. Variables such as KIOSK_BROKER_HOST and \
      KIOSK_ARCHIVE_DATABASE override what the file says.
      """,
    version: Release.version,
    subcommands: [Run.self, KioskCommands.self, FleetCommands.self])

  static func main() { runToTheEnd() }
}

extension ArchiveConfiguration: ConfigurationFile {
  package static let defaultPath = "/etc/juice-archive/archive.yaml"
}

typealias ConfigurationOptions = ConfigurationFileOptions<ArchiveConfiguration>

extension ArchiveSettings {
  /// - Throws: `Failure`: a password that cannot be read.
  init(_ configuration: ArchiveConfiguration) throws(Failure) {
    let password: String?
    do throws(ConfigurationErrors) { password = try configuration.readPassword() } catch {
      throw Failure(error)
    }
    self.init(
      database: configuration.database, password: password, root: configuration.root,
      clientID: configuration.broker.clientID, batch: configuration.batch,
      sessionExpiry: .seconds(configuration.sessionDays * 86_400),
      patience: .seconds(configuration.patienceSeconds),
      timeZone: configuration.timeZone.identifier)
  }
}
