package import MessageBroker
import MosquittoBroker
package import YAMLConfiguration

extension BrokerConfiguration {
  /// Returns an unconnected client for this broker.
  package func makeBroker() throws(Failure) -> any BrokerClient {
    let connection = try connection()
    do throws(BrokerError) { return try MosquittoClient(connection) } catch {
      throw error.failure
    }
  }

  /// Probes the first address of this broker.
  ///
  /// - Throws: `Failure` if the password cannot be read.
  package func run(
    _ probe: BrokerProbe, timeout: Duration
  ) async throws(Failure) -> Result<BrokerProbe.Report, BrokerError> {
    var connection = try connection()
    connection.connectTimeout = timeout
    do throws(BrokerError) { return .success(try await connection.run(probe)) } catch {
      return .failure(error)
    }
  }

  private func connection() throws(Failure) -> MosquittoClient.Configuration {
    let password: String?
    do throws(ConfigurationErrors) { password = try readPassword() } catch { throw error.failure }
    var connection = MosquittoClient.Configuration(
      host: host, port: UInt16(clamping: port),
      protocolVersion: `protocol` == .v5 ? .v5 : .v311, username: username,
      password: password,
      tls: tls.map { tls in
        MosquittoClient.Configuration.TLS(
          caFile: tls.caFile ?? Self.systemAuthorities, certificateFile: tls.certificateFile,
          keyFile: tls.keyFile)
      })
    connection.addresses += others.map {
      BrokerAddress(host: $0.host, port: UInt16(clamping: $0.port))
    }
    return connection
  }

  /// Path of the certificates that the system trusts (Debian's ca-certificates).
  private static let systemAuthorities = "/etc/ssl/certs/ca-certificates.crt"
}
