import DashboardWeb
import HummingbirdCore
import HummingbirdTLS
import NIOSSL

// Here and not in `Dashboard`: NIOSSL brings a copy of BoringSSL, and the tests of the pages do without compiling it.
extension DashboardSettings {
  /// Makes the server speak TLS 1.2 or later, if there is a certificate.
  ///
  /// - Throws: what is wrong with the certificate or its key.
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
