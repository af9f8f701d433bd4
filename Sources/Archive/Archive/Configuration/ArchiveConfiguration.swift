package import Foundation
import JuiceDomain
import KioskProtocol
package import YAMLConfiguration

/// Where the archive's database is, and where its events come from; read from a file of its own, as
/// strictly as `KioskConfiguration`, and with the same variables above it.
///
/// - `archive.root` (topic levels, `kiosk`): what the topics of all kiosks start with.
/// - `archive.database` (text, `dbname=juice`): a connection string of libpq, without a password.
/// - `archive.password_file` (path, none): holds the password of the database's user.
/// - `archive.batch` (1...65535, `5000`): so many events at most are committed at once.
/// - `archive.session_days` (1...365, `30`): for so long the broker keeps events while no archiver runs.
/// - `archive.gap_delay_seconds` (1...86400, `60`): so long an entry is waited for before its kiosk is asked for it.
/// - `archive.time_zone` (IANA name, `UTC`): whose days the sales are summed up by.
/// - `broker` (section): see `KioskConfiguration`; the session's name is `juice-archive`. It is a level of
///   topics, too.
package struct ArchiveConfiguration: ConfigurationFile, Sendable, Equatable {
  package static let defaultPath = "/etc/juice-archive/archive.yaml"

  package var root = "kiosk"
  package var database = "dbname=juice"
  package var passwordFile: String?
  package var batch = 5000
  package var sessionDays = 30
  package var gapDelaySeconds = 60
  package var timeZone = TimeZone.gmt
  package var broker = BrokerConfiguration()

  /// All defaults.
  package init() {}

  /// The password of the database's user; `nil` if there is no file that holds one.
  ///
  /// - Throws: as `BrokerConfiguration.readPassword()`.
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
      section.read("time_zone", .timeZone, into: &timeZone)
    }
    broker = root.section("broker") { section in
      let broker = BrokerConfiguration(clusterOf: &section, clientID: "juice-archive")
      if Request.ID(broker.clientID) == nil {
        let diagnostic = Diagnostic(
          "is a level of the topics on which kiosks answer",
          hint: "write 1 to 64 of A-Z a-z 0-9 _ -")
        section.report(diagnostic, at: "client_id")
      }
      return broker
    }
  }
}
