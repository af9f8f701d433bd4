package import MessageBroker

extension MosquittoClient {
  /// The broker's addresses, the protocol version, the account and TLS.
  package struct Configuration: Sendable {
    package enum ProtocolVersion: Int32, Sendable {
      case v311 = 4
      case v5 = 5
    }

    /// Settings of TLS 1.2 or later. The broker's certificate and host name are always verified.
    package struct TLS: Sendable {
      /// Path of the trusted certificates, in PEM.
      package var caFile: String
      /// Paths of the client's certificate and key, in PEM, the key without a passphrase. Both or
      /// neither are set.
      package var certificateFile: String?
      package var keyFile: String?

      package init(caFile: String, certificateFile: String? = nil, keyFile: String? = nil) {
        self.caFile = caFile
        self.certificateFile = certificateFile
        self.keyFile = keyFile
      }
    }

    /// Addresses of one broker, or of the nodes of a cluster; never empty. The first attempt to
    /// connect starts with a random address, each later attempt with the next address.
    package var addresses: [BrokerAddress]
    package var protocolVersion: ProtocolVersion
    package var username: String?
    package var password: String?
    package var tls: TLS?
    /// Maximum duration of name resolution and TCP connect, for all addresses together. The TLS and
    /// MQTT handshakes may take three times as long, and longer after failures.
    package var connectTimeout: Duration = .seconds(10)
    /// The longest delay before the second attempt to connect, and before any later attempt.
    package var reconnectDelays = Session.reconnectDelays

    package init(
      host: String, port: UInt16 = 1883, protocolVersion: ProtocolVersion = .v5,
      username: String? = nil, password: String? = nil, tls: TLS? = nil
    ) {
      addresses = [BrokerAddress(host: host, port: port)]
      self.protocolVersion = protocolVersion
      self.username = username
      self.password = password
      self.tls = tls
    }

    /// The first address, for connections that use only one.
    var address: BrokerAddress { addresses.first ?? BrokerAddress(host: "", port: 0) }
  }
}
