import CommandLineSupport
import DashboardWeb
import HummingbirdCore

// This file is not in `DashboardWeb`, because NIOSSL contains a copy of BoringSSL, which the tests
// of the pages need not compile.

#if TLS
import HummingbirdTLS
import NIOCore
import NIOSSL
import Synchronization

/// The certificate of the server, which can be replaced while the server runs. Existing connections
/// keep the earlier one.
final class ServerCertificate: Sendable {
  private let current: Mutex<NIOSSLContextConfigurationOverride>

  /// Reads the certificate and its key.
  ///
  /// - Throws: The errors of NIOSSL about the certificate or its key.
  init(_ files: DashboardSettings.TLS) throws {
    current = Mutex(try Self.read(files))
  }

  /// Reads the files again. After an error, the earlier certificate remains.
  func reload(_ files: DashboardSettings.TLS) throws {
    let new = try Self.read(files)
    current.withLock { $0 = new }
  }

  /// Adds TLS 1.2 or later to the server.
  func encrypt(_ server: HTTPServerBuilder) throws -> HTTPServerBuilder {
    try .tls(server, tlsConfiguration: try configuration)
  }

  private var configuration: TLSConfiguration {
    get throws {
      let first = current.withLock(\.self)
      guard let chain = first.certificateChain, let key = first.privateKey else {
        throw NIOSSLError.failedToLoadCertificate
      }
      var configuration = Self.configuration(chain, key)
      configuration.sslContextCallback = { [self] _, promise in
        promise.succeed(current.withLock(\.self))
      }
      return configuration
    }
  }

  private static func configuration(
    _ chain: [NIOSSLCertificateSource], _ key: NIOSSLPrivateKeySource
  ) -> TLSConfiguration {
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain, privateKey: key)
    configuration.minimumTLSVersion = .tlsv12
    return configuration
  }

  private static func read(
    _ files: DashboardSettings.TLS
  ) throws -> NIOSSLContextConfigurationOverride {
    let chain = try NIOSSLCertificate.fromPEMFile(files.certificateFile)
    var override = NIOSSLContextConfigurationOverride()
    let certificates = chain.map { NIOSSLCertificateSource.certificate($0) }
    let key = NIOSSLPrivateKeySource.privateKey(
      try NIOSSLPrivateKey(file: files.keyFile, format: .pem))
    // Throws if the key does not belong to the certificate.
    _ = try NIOSSLContext(configuration: configuration(certificates, key))
    (override.certificateChain, override.privateKey) = (certificates, key)
    return override
  }
}

#else

/// Has no values: a program that is built without the trait `TLS` cannot encrypt.
enum ServerCertificate {
  init(_ files: DashboardSettings.TLS) throws {
    throw Failure.badConfiguration(
      """
      'dashboard.tls' is set, but this program is built without TLS: build it with \
      deploy/build juice-dashboard, or use a proxy with TLS and 'behind_proxy'
      """)
  }

  func reload(_ files: DashboardSettings.TLS) throws {}
  func encrypt(_ server: HTTPServerBuilder) throws -> HTTPServerBuilder { server }
}
#endif
