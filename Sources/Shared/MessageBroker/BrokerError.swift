/// A problem of a connection to a broker, with a cause that a person can act on.
package enum BrokerError: Error, Hashable, Sendable {
  /// The address is unknown, the broker does not answer, or no thread or descriptor is left.
  case unreachable(String)
  /// The broker refused the login: user name, password or client certificate.
  case loginRefused(String)
  /// The broker refused the connection for another reason, or the client id is invalid.
  case connectionRefused(String)
  /// The broker does not support the requested protocol version.
  case protocolRefused(String)
  /// The broker refused the subscription, usually by its access list; or the filter is invalid.
  case subscriptionRefused(filter: String)
  /// The TLS handshake failed, or a certificate or key is missing or unreadable.
  case tls(String)
  /// An established connection was lost.
  case connectionLost(String)
  /// The client library closed the connection because it rejects a packet that the broker
  /// delivered.
  case malformedPacket(String)
  /// Another client has connected with the same client id.
  case sessionTakenOver
  /// The broker refused a published message for the given reason.
  case publishRefused(topic: String, reason: String)
  /// The messages on these topics break a rule of the protocol or of the broker.
  case cannotPublish(topics: [String], reason: String)

  /// Whether a retry can succeed without a change of the configuration.
  package var isTransient: Bool {
    switch self {
    case .unreachable, .connectionRefused, .connectionLost, .malformedPacket: true
    case .loginRefused, .protocolRefused, .subscriptionRefused, .tls, .sessionTakenOver,
      .publishRefused, .cannotPublish:
      false
    }
  }
}

extension BrokerError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .unreachable(let detail):
      "the broker cannot be reached: \(detail)"
    case .loginRefused(let detail):
      "the broker refused the login (\(detail)): check user name, password and certificate"
    case .connectionRefused(let detail):
      "the broker refused the connection: \(detail)"
    case .protocolRefused(let detail):
      "the broker does not support this MQTT version (\(detail)): set broker.protocol to the other one"
    case .subscriptionRefused(let filter):
      "the broker refused the subscription to \(filter): allow it for this account in its ACL"
    case .tls(let detail):
      "no secure connection to the broker: \(detail)"
    case .connectionLost(let detail):
      "the connection to the broker was lost: \(detail)"
    case .malformedPacket(let detail):
      "the broker delivered a message that cannot be read (\(detail)); if this repeats, the next connection uses MQTT 3.1.1, which delivers it without properties, for an hour"
    case .sessionTakenOver:
      "another client has connected with the same client id: give each its own"
    case .publishRefused(let topic, let reason):
      "the broker refused the message to \(topic) (\(reason)): check its ACL for this account"
    case .cannotPublish(let topics, let reason):
      "cannot publish to \(topics.prefix(3).map { $0.prefix(100) }.joined(separator: ", ")): \(reason)"
    }
  }
}
