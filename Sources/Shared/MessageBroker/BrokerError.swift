/// What stands between a client and its broker, each with a cause that a person can act on.
package enum BrokerError: Error, Hashable, Sendable {
  /// The address could not be resolved or nothing answers there.
  case unreachable(String)
  /// The broker refused the login: user name, password or client certificate.
  case loginRefused(String)
  /// The broker refused the connection for another reason, which it gave.
  case connectionRefused(String)
  /// The broker does not speak the protocol version that was asked for.
  case protocolRefused(String)
  /// The broker refused to deliver what this filter selects: its access rules are the place to look.
  case subscriptionRefused(filter: String)
  /// A certificate or key is unreadable or not trusted, or the host name does not match it.
  case tls(String)
  /// The connection was there and is gone.
  case connectionLost(String)
  /// Another client has connected with the same client id.
  case sessionTakenOver
  /// The broker did not take something that was published, for the reason that it gave.
  case publishRefused(topic: String, reason: String)
  /// The messages on these topics break a rule of the protocol or of the broker.
  case cannotPublish(topics: [String], reason: String)

  /// Whether trying again can help without somebody changing a setting.
  package var isTransient: Bool {
    switch self {
    case .unreachable, .connectionRefused, .connectionLost: true
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
      "the broker does not speak this MQTT version (\(detail)): set broker.protocol to the other one"
    case .subscriptionRefused(let filter):
      "the broker refused the subscription to \(filter): allow it for this account in its ACL"
    case .tls(let detail):
      "no secure connection to the broker: \(detail)"
    case .connectionLost(let detail):
      "the connection to the broker was lost: \(detail)"
    case .sessionTakenOver:
      "another client has connected with the same client id: give each its own"
    case .publishRefused(let topic, let reason):
      "the broker did not take what was published to \(topic) (\(reason)): look at its ACL for this "
        + "account"
    case .cannotPublish(let topics, let reason):
      "cannot publish to \(topics.prefix(3).map { $0.prefix(100) }.joined(separator: ", ")): \(reason)"
    }
  }
}
