/// The address of the server, its encryption, and its state folder.
package struct DashboardSettings: Sendable {
  package var host: String
  /// The port, or 0 for any free port.
  package var port: Int
  /// The PEM files for TLS, or `nil` to serve without encryption.
  package var tls: TLS?
  /// Whether a proxy in front of the dashboard terminates TLS and passes the visitor's address in
  /// `X-Forwarded-For`.
  package var isBehindProxy: Bool
  /// The path below which the proxy serves the pages.
  package var basePath: BasePath
  /// The folder for routes, notifications, the history, and the links of users and displays.
  package var stateFolder: String
  /// The folder with the owner's own pictures of juices, or `nil` if there is none.
  package var picturesFolder: String?
  /// The lines by which kiosk.yaml names the dashboard's broker.
  package var brokerLines: [String] = []

  package init(
    host: String = "127.0.0.1", port: Int = 8080, tls: TLS? = nil, isBehindProxy: Bool = false,
    basePath: BasePath = .none,
    stateFolder: String = "/var/lib/juice-dashboard", picturesFolder: String? = nil
  ) {
    self.host = host
    self.port = port
    self.tls = tls
    self.isBehindProxy = isBehindProxy
    self.basePath = basePath
    self.stateFolder = stateFolder
    self.picturesFolder = picturesFolder
  }

  package struct TLS: Sendable {
    package let certificateFile: String
    package let keyFile: String

    package init(certificateFile: String, keyFile: String) {
      self.certificateFile = certificateFile
      self.keyFile = keyFile
    }
  }

  /// Whether browsers connect by HTTPS, unless the proxy sends `X-Forwarded-Proto: http`.
  var isSecure: Bool { tls != nil || isBehindProxy }
}
