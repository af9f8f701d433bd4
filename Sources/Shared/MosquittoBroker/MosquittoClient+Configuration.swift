package import MessageBroker

extension MosquittoClient {
  /// Where the broker is and how to get in.
  package struct Configuration: Sendable {
    package enum ProtocolVersion: Int32, Sendable {
      case v311 = 4
      case v5 = 5
    }

    /// TLS 1.2 or later; the broker's certificate and host name are always verified.
    package struct TLS: Sendable {
      /// The certificates that are trusted, in PEM.
      package var caFile: String
      /// The client's certificate and its key, in PEM and without a passphrase; both or none.
      package var certificateFile: String?
      package var keyFile: String?

      package init(caFile: String, certificateFile: String? = nil, keyFile: String? = nil) {
        self.caFile = caFile
        self.certificateFile = certificateFile
        self.keyFile = keyFile
      }
    }

    /// Of one broker, or of the nodes of a cluster; each attempt to connect goes to the next of them,
    /// the first to any. Never empty.
    package var addresses: [BrokerAddress]
    package var protocolVersion: ProtocolVersion
    package var username: String?
    package var password: String?
    package var tls: TLS?
    /// How long name resolution and TCP may take, with all addresses. The handshakes of TLS and MQTT may take three
    /// times as long, and longer after failures.
    package var connectTimeout: Duration = .seconds(10)
    /// The longest wait before the second attempt to connect, and before the last ones.
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

    /// For those who go to one only.
    var address: BrokerAddress { addresses.first ?? BrokerAddress(host: "", port: 0) }
  }
}
