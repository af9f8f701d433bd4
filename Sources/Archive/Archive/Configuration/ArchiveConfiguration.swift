package import Foundation
import JuiceDomain
import KioskProtocol
package import YAMLConfiguration

/// The archive's configuration: its database and the source of its events. It is read from a file
/// of its own, as strictly as `KioskConfiguration`; the same environment variables override it.
///
/// - `archive.root` (topic levels, `kiosk`): the first topic levels of all kiosks.
/// - `archive.database` (text, `dbname=juice`): a connection string of libpq, without a password.
/// - `archive.password_file` (path, none): the file with the password of the database's user.
/// - `archive.batch` (1...65535, `5000`): maximum number of events committed in one transaction.
/// - `archive.session_days` (1...365, `30`): days for which the broker keeps events while no
///   archiver is connected.
/// - `archive.gap_delay_seconds` (1...86400, `60`): seconds between the detection of a missing
///   entry and the request to its kiosk.
/// - `archive.time_zone` (region of the IANA database, `UTC`): the time zone whose days are summed.
/// - `archive.keep_days` (10...36500, none): days for which entries are kept after their arrival.
/// - `broker` (section): see `KioskConfiguration`. The default of `client_id` is `juice-archive`;
///   it is also a level of the topics on which kiosks answer.
package struct ArchiveConfiguration: ConfigurationFile, Sendable, Equatable {
  package static let defaultPath = "/etc/juice-archive/archive.yaml"

  package var root = "kiosk"
  package var database = "dbname=juice"
  package var passwordFile: String?
  package var batch = 5000
  package var sessionDays = 30
  package var gapDelaySeconds = 60
  package var timeZone = TimeZone.gmt
  package var keepDays: Int?
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
      section.read("root", .topic, into: &self.root)
      section.readDatabase(into: &database)
      section.read("password_file", .path, into: &passwordFile)
      section.read("batch", .integer(1...65535), into: &batch)
      section.read("session_days", .integer(1...365), into: &sessionDays)
      section.read("gap_delay_seconds", .integer(1...86_400), into: &gapDelaySeconds)
      section.read("time_zone", .timeZoneRegion, into: &timeZone)
      section.read("keep_days", .integer(10...36_500), into: &keepDays)
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
