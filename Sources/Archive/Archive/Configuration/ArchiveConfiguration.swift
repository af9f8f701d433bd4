import JuiceDomain
import KioskProtocol
package import TimeZones
package import YAMLConfiguration

/// The archive's configuration: its database and the source of its events. It is read from a
/// separate file by the same strict rules as `KioskConfiguration`, and environment variables
/// override it in the same way.
///
/// config/archive.yaml explains each key, with its range and its default.
package struct ArchiveConfiguration: ConfigurationFile, Sendable, Equatable {
  package static let defaultPath = "/etc/juice-archive/archive.yaml"

  package var root = "kiosk"
  package var database = "dbname=juice"
  package var passwordFile: String?
  package var batch = 5000
  package var sessionDays = 30
  package var gapDelaySeconds = 60
  package var timeZone = WallClock.utc
  package var keepDays: Int?
  package var timeoutSeconds = 60
  package var broker = BrokerConfiguration()

  /// Creates a configuration with all defaults.
  package init() {}

  /// Returns the password of the database's user, or `nil` if no file is configured.
  ///
  /// - Throws: The same errors as `BrokerConfiguration.readPassword()`.
  package func readPassword() throws(ConfigurationErrors) -> String? {
    guard let passwordFile else { return nil }
    return try PasswordFile.read(passwordFile, key: "archive.password_file")
  }

  package mutating func read(_ root: inout Section) {
    root.section("archive") { section in
      section.read("root", .root, into: &self.root)
      section.readDatabase(into: &database)
      section.read("password_file", .path, into: &passwordFile)
      section.read("batch", .integer(1...65535), into: &batch)
      section.read("session_days", .integer(1...365), into: &sessionDays)
      section.read("gap_delay_seconds", .integer(1...86_400), into: &gapDelaySeconds)
      section.read("time_zone", .timeZoneRegion, into: &timeZone)
      section.read("keep_days", .integer(10...36_500), into: &keepDays)
      section.read("timeout_seconds", .integer(2...3600), into: &timeoutSeconds)
    }
    broker = root.section("broker") { section in
      let broker = BrokerConfiguration(clusterOf: &section, clientID: "juice-archive")
      if Request.ID(broker.clientID) == nil {
        let diagnostic = Diagnostic(
          "must be valid as a topic level, because kiosks answer on topics with it",
          hint: "write 1 to 64 of A-Z a-z 0-9 _ -")
        section.report(diagnostic, at: "client_id")
      }
      return broker
    }
  }
}
