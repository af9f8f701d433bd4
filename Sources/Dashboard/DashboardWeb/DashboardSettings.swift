/// How the dashboard is reached.
package struct DashboardSettings: Sendable {
  package var host: String
  /// 0: any free port.
  package var port: Int
  /// PEM files; `nil`: not encrypted here.
  package var tls: TLS?
  /// A proxy in front of the dashboard encrypts, and passes on the visitor's address (`X-Forwarded-For`).
  package var isBehindProxy: Bool
  /// Holds the routes, and the messages that are still to be sent.
  package var stateFolder: String

  package init(
    host: String = "127.0.0.1", port: Int = 8080, tls: TLS? = nil, isBehindProxy: Bool = false,
    stateFolder: String = "/var/lib/juice-dashboard"
  ) {
    self.host = host
    self.port = port
    self.tls = tls
    self.isBehindProxy = isBehindProxy
    self.stateFolder = stateFolder
  }

  package struct TLS: Sendable {
    package let certificateFile: String
    package let keyFile: String

    package init(certificateFile: String, keyFile: String) {
      self.certificateFile = certificateFile
      self.keyFile = keyFile
    }
  }

  /// Whether browsers come by HTTPS: cookies then travel no other way.
  var isSecure: Bool { tls != nil || isBehindProxy }
}
