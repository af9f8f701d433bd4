import DashboardWeb
import HummingbirdCore
import HummingbirdTLS
import NIOSSL

// Not in `DashboardWeb`: NIOSSL contains a copy of BoringSSL, which the tests of the pages need not
// compile.
extension DashboardSettings {
  /// Adds TLS 1.2 or later to the server if a certificate is configured.
  ///
  /// - Throws: The errors of NIOSSL about the certificate or its key.
  func encrypt(_ server: HTTPServerBuilder) throws -> HTTPServerBuilder {
    guard let tls else { return server }
    let chain = try NIOSSLCertificate.fromPEMFile(tls.certificateFile)
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(file: tls.keyFile, format: .pem)))
    configuration.minimumTLSVersion = .tlsv12
    return try .tls(server, tlsConfiguration: configuration)
  }
}
