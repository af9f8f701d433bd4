package import Foundation
package import YAMLConfiguration

/// How the dashboard is reached, and where it finds the kiosks; read from a file of its own, as
/// strictly as `KioskConfiguration`, and with the same variables above it.
///
/// - `dashboard.root` (topic levels, `kiosk`): what the topics of all kiosks start with.
/// - `dashboard.host` (text, `127.0.0.1`): the address at which it listens.
/// - `dashboard.port` (1...65535, `8080`)
/// - `dashboard.users_file` (path, `/var/lib/juice-dashboard/users`): who may log in; written by
///   `juice-dashboard user`.
/// - `dashboard.state_folder` (path, `/var/lib/juice-dashboard`): what the dashboard keeps itself.
/// - `dashboard.behind_proxy` (`true` or `false`, `false`): a proxy does the encryption and tells in
///   `X-Forwarded-For` who asks.
/// - `dashboard.tls.certificate_file`, `dashboard.tls.key_file` (paths, none): encrypts by itself.
/// - `notify.link` (address of the web, none): where the pages are, for the links in messages.
/// - `notify.language` (`en` or `ko`, `en`)
/// - `notify.offline_minutes` (0...1440, `5`): for how long a kiosk, a machine or the broker has to be
///   away until it is told.
/// - `notify.quiet_seconds` (1...3600, `60`): for how long nothing is told after a start, a trouble has
///   to be over, and two messages are apart.
/// - `notify.email.host` (host, none), `notify.email.tls` (`starttls`, `implicit` or `none`; `starttls`),
///   `notify.email.port` (1...65535; 587, 465 or 25 by `tls`): the server that takes the mail.
/// - `notify.email.ca_file` (path, none): the authority to trust instead of the system's.
/// - `notify.email.from` (e-mail address), `notify.email.to` (list of them)
/// - `notify.email.username` (text, none), `notify.email.password_file` (path, none): both or neither.
/// - `notify.post` (list): of each `url` (address of the web) or `url_file` (path of a file that holds
///   it), `format` (`text` or `json`, `text`), `token_file` (path, none), `ca_file` (path, none).
/// - `archive.database` (text, `dbname=juice`): a connection string of libpq, without a password.
/// - `archive.password_file` (path, none): holds the password of the database's user.
/// - `archive.time_zone` (IANA name, `UTC`): whose days the archive sums up by.
/// - `archive.timeout_seconds` (1...60, `5`): for how long a page waits for an answer.
/// - `broker` (section): see `KioskConfiguration`; the session's name is always a new one.
package struct DashboardConfiguration: ConfigurationFile, Sendable, Equatable {
  package static let defaultPath = "/etc/juice-dashboard/dashboard.yaml"

  package var root = "kiosk"
  package var host = "127.0.0.1"
  package var port = 8080
  package var usersFile = "/var/lib/juice-dashboard/users"
  package var stateFolder = "/var/lib/juice-dashboard"
  package var isBehindProxy = false
  /// `nil`: not encrypted.
  package var tls: TLS?
  /// `nil`: nobody is told.
  package var notify: Notify?
  /// `nil`: there is no chain.
  package var archive: Archive?
  package var broker = BrokerConfiguration()

  /// All defaults.
  package init() {}

  /// The certificate that browsers see, and its key, in PEM.
  package struct TLS: Sendable, Equatable {
    package var certificateFile: String
    package var keyFile: String
  }

  /// The database that `juice-archive` fills.
  package struct Archive: Sendable, Equatable {
    package var database = "dbname=juice"
    package var passwordFile: String?
    package var timeZone = TimeZone.gmt
    package var timeoutSeconds = 5

    /// As `ArchiveConfiguration.readPassword()`.
    package func readPassword() throws(ConfigurationErrors) -> String? {
      guard let passwordFile else { return nil }
      return try PasswordFile.read(passwordFile, key: "archive.password_file")
    }
  }

  package mutating func read(_ root: inout Section) {
    root.section("dashboard") { section in
      section.read("root", .topic, into: &self.root)
      section.read("host", .host, into: &host)
      section.read("port", .integer(1...65535), into: &port)
      section.read("users_file", .path, into: &usersFile)
      section.read("state_folder", .path, into: &stateFolder)
      section.read("behind_proxy", .boolean, into: &isBehindProxy)
      tls = section.section("tls") { TLS(&$0) }
      if section.has("tls"), tls == nil {
        let diagnostic = Diagnostic("needs both 'certificate_file' and 'key_file'")
        section.report(diagnostic, at: "tls")
      }
    }
    notify = root.optional("notify") { Notify(&$0) }
    archive = root.optional("archive") { Archive(&$0) }
    broker = root.section("broker") {
      BrokerConfiguration(clusterOf: &$0, clientID: "juice-dashboard")
    }
  }
}

extension DashboardConfiguration.TLS {
  fileprivate init?(_ section: inout Section) {
    // Asked for one by one, so that both are known keys.
    let certificateFile = section.read("certificate_file", .path)
    let keyFile = section.read("key_file", .path)
    guard let certificateFile, let keyFile else { return nil }
    self.init(certificateFile: certificateFile, keyFile: keyFile)
  }
}

extension DashboardConfiguration.Archive {
  fileprivate init(_ section: inout Section) {
    section.readDatabase(into: &database)
    section.read("password_file", .path, into: &passwordFile)
    section.read("time_zone", .timeZone, into: &timeZone)
    section.read("timeout_seconds", .integer(1...60), into: &timeoutSeconds)
  }
}
