package import TimeZones
package import YAMLConfiguration

/// The dashboard's configuration: its address, its users, and the source of its data. A file with
/// an error is rejected. Environment variables override keys: `KIOSK_DASHBOARD_PORT` overrides
/// `dashboard.port`.
///
/// config/dashboard.yaml explains each key, with its range and its default.
package struct DashboardConfiguration: ConfigurationFile, Sendable, Equatable {
  package static let defaultPath = "/etc/juice-dashboard/dashboard.yaml"

  package var root = "kiosk"
  package var host = "127.0.0.1"
  package var port = 8080
  package var usersFile = "/var/lib/juice-dashboard/users"
  package var stateFolder = "/var/lib/juice-dashboard"
  /// The folder with the owner's own pictures of juices, or `nil` if there is none.
  package var picturesFolder: String?
  package var isBehindProxy = false
  package var basePath = BasePath.none
  /// The certificate for TLS, or `nil` to serve without encryption.
  package var tls: TLS?
  /// The receivers of notifications, or `nil` if notifications are disabled.
  package var notify: Notify?
  /// The archive's database, or `nil` if the dashboard has no pages of a chain.
  package var archive: Archive?
  package var broker = BrokerConfiguration()

  /// Creates a configuration with all defaults.
  package init() {}

  /// The PEM files of the server's certificate and its key.
  package struct TLS: Sendable, Equatable {
    package var certificateFile: String
    package var keyFile: String
  }

  /// The database that `juice-archive` fills.
  package struct Archive: Sendable, Equatable {
    package var database = "dbname=juice"
    package var passwordFile: String?
    package var timeZone = WallClock.utc
    package var timeoutSeconds = 5

    /// Returns the password of the database's user, or `nil` if no file is configured.
    package func readPassword() throws(ConfigurationErrors) -> String? {
      guard let passwordFile else { return nil }
      return try PasswordFile.read(passwordFile, key: "archive.password_file")
    }
  }

  package mutating func read(_ root: inout Section) {
    root.section("dashboard") { section in
      section.read("root", .root, into: &self.root)
      section.read("host", .host, into: &host)
      section.read("port", .integer(1...65535), into: &port)
      section.read("users_file", .path, into: &usersFile)
      section.read("state_folder", .path, into: &stateFolder)
      picturesFolder = section.read("pictures_folder", .path)
      section.read("behind_proxy", .boolean, into: &isBehindProxy)
      section.read("base_path", .basePath, into: &basePath)
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

extension Format where Value == BasePath {
  fileprivate static let basePath = Format { scalar throws(Diagnostic) in
    let text = try scalar.string()
    guard let path = BasePath(text) else {
      throw Diagnostic("\(text.quoted) is not the path of a proxy", hint: "write it like '/juice'")
    }
    return path
  }
}

extension DashboardConfiguration.TLS {
  fileprivate init?(_ section: inout Section) {
    // Read separately, so that both keys count as known even if one is missing.
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
    section.read("time_zone", .timeZoneRegion, into: &timeZone)
    section.read("timeout_seconds", .integer(1...60), into: &timeoutSeconds)
  }
}
