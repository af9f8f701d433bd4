package import Archive
import ArgumentParser
package import CommandLineSupport
import Foundation
package import Postgres
import TimeZones
import YAMLConfiguration

@main
struct JuiceArchive: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "juice-archive",
    abstract: "Stores the events of all kiosks in a PostgreSQL database.",
    discussion: """
      It reads the configuration file given with --config, or else \
      /etc/juice-archive/archive.yaml. Without a file, the defaults apply: a broker on \
      127.0.0.1:1883, and the database juice on this computer. Environment variables such as \
      KIOSK_BROKER_HOST and KIOSK_ARCHIVE_DATABASE override the file.
      """,
    version: Release.version,
    subcommands: [Run.self, Check.self, KioskCommands.self, FleetCommands.self])

  static func main() { runAndExit() }
}

typealias ConfigurationOptions = ConfigurationFileOptions<ArchiveConfiguration>

extension ConfigurationOptions {
  /// Runs the part of a command that uses the database. If the connection fails and there is no
  /// configuration file, the error message states that the file is missing.
  func withSettings<Result>(_ body: (ArchiveSettings) throws -> Result) throws -> Result {
    let settings = try ArchiveSettings(load())
    do { return try body(settings) } catch ArchiveError.database(let error)
      where error.state.isEmpty && file == nil
    {
      throw Failure.unavailable(
        "\(error); there is no \(ArchiveConfiguration.defaultPath): give the archive's file with --config"
      )
    }
  }
}

extension ArchiveSettings {
  /// Creates settings from a configuration, and reads the password.
  ///
  /// - Throws: `ConfigurationErrors` if the password cannot be read.
  init(_ configuration: ArchiveConfiguration) throws(ConfigurationErrors) {
    self.init(
      database: configuration.database, password: try configuration.readPassword(),
      root: configuration.root,
      clientID: configuration.broker.clientID, batch: configuration.batch,
      sessionExpiry: .seconds(configuration.sessionDays * 86_400),
      gapDelay: .seconds(configuration.gapDelaySeconds),
      timeZone: configuration.timeZone.name, keepDays: configuration.keepDays,
      timeout: .seconds(configuration.timeoutSeconds))
  }
}

extension DatabaseError: ExitCodeConvertible {
  package var failure: Failure { .unavailable("\(self)") }
}

extension ArchiveError: ExitCodeConvertible {
  package var failure: Failure {
    switch self {
    case .database(let error): error.failure
    case .olderSchema: .unavailable("\(self)")
    case .newerSchema, .unknownTimeZone, .encoding: .badConfiguration("\(self)")
    }
  }
}

extension RolloutError: ExitCodeConvertible {
  package var failure: Failure { .badData("\(self)") }
}
