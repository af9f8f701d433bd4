package import Foundation

/// A certificate authority for one test, with a certificate for a broker and one for a client.
package struct Certificates: Sendable {
  package let folder: URL

  package var ca: String { path("ca.crt") }
  package var certificate: String { path("server.crt") }
  package var key: String { path("server.key") }
  package var clientCertificate: String { path("client.crt") }
  package var clientKey: String { path("client.key") }

  /// - Parameter host: The subject alternative names of the broker, such as `IP:127.0.0.1` or
  ///   `DNS:kiosk`.
  package init(for host: String = "DNS:localhost,IP:127.0.0.1") throws {
    folder = FileManager.default.temporaryDirectory.appending(
      path: "certificates-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Command.run(
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
      "-nodes", "-keyout", path("ca.key"), "-out", ca, "-subj", "/CN=Test CA", "-days", "2")
    try issue("server", extensions: ["-addext", "subjectAltName=\(host)"])
    try issue("client", extensions: [])
  }

  package func tearDown() { try? FileManager.default.removeItem(at: folder) }

  private func issue(_ name: String, extensions: [String]) throws {
    try Command.run(
      [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-keyout", path("\(name).key"), "-out", path("\(name).crt"), "-CA", ca,
        "-CAkey", path("ca.key"), "-subj", "/CN=\(name)", "-days", "2",
        "-addext", "basicConstraints=critical,CA:FALSE",
      ] + extensions)
  }

  private func path(_ name: String) -> String { folder.appending(path: name).path }
}
