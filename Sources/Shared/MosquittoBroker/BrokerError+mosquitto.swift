import CMosquitto
import MessageBroker

/// Names the causes in the port's terms.
extension BrokerError {
  /// mosquitto 2.0.11 and MQTT 3.1.1 do not tell that another client has taken the session over.
  static let closedByBroker = BrokerError.connectionLost(
    "the broker closed it; if it does so again and again, another client has the same client id")

  /// A CONNACK that refuses (3.1.1: 3.2.2.3; MQTT 5: 3.2.2.2).
  init(refusal: Inbox.ConnectAck, _ version: MosquittoClient.Configuration.ProtocolVersion) {
    let code = version == .v5 || refusal.code > 5 ? refusal.code : 0
    let known =
      code == 0
      ? mosquitto_connack_string(refusal.code).map { String(cString: $0) } ?? ""
      : Self.text(for: refusal.code)
    let detail = Self.tidy(known, refusal.reason)
    self =
      switch (code, refusal.code) {
      case (0, 1), (Int32(MQTT_RC_UNSUPPORTED_PROTOCOL_VERSION.rawValue), _):
        .protocolRefused(detail)
      case (0, 4), (0, 5), (Int32(MQTT_RC_BAD_USERNAME_OR_PASSWORD.rawValue), _),
        (Int32(MQTT_RC_NOT_AUTHORIZED.rawValue), _), (Int32(MQTT_RC_BANNED.rawValue), _),
        (Int32(MQTT_RC_BAD_AUTHENTICATION_METHOD.rawValue), _):
        .loginRefused(detail)
      default: .connectionRefused(detail)
      }
  }

  /// A DISCONNECT that the broker sent (MQTT 5, 3.14.2.1).
  init(disconnect code: Int32, reason: String?) {
    if code == MQTT_RC_SESSION_TAKEN_OVER.rawValue {
      self = .sessionTakenOver
    } else {
      self = .connectionLost("the broker ended it: \(Self.tidy(Self.text(for: code), reason))")
    }
  }

  /// What libmosquitto logged when TLS failed, without what only it needs to know.
  init(tlsErrors lines: [String]) {
    var details: [String] = []
    for line in lines {
      // "OpenSSL Error[0]: error:0A000086:SSL routines::certificate verify failed"
      let detail =
        line.hasPrefix("OpenSSL")
        ? String(line.split(separator: ":").last ?? "") : line.replacing("Error: ", with: "")
      if !detail.isEmpty, !details.contains(detail) { details.append(detail) }
    }
    // A refused client certificate may be known by a reset connection only: TLS 1.3 lets the client
    // write its CONNECT before it has heard, and a failed write is told without the alert.
    let guess = "the broker ended the TLS handshake, perhaps for want of a client certificate"
    self = .tls(details.isEmpty ? guess : details.joined(separator: "; "))
  }

  /// Of a reason code of MQTT 5.
  static func text(for code: Int32) -> String {
    mosquitto_reason_string(code).map { String(cString: $0) } ?? "code \(code)"
  }

  /// "Connection Refused: bad user name or password." -> "bad user name or password"
  private static func tidy(_ text: String, _ reason: String?) -> String {
    var text = text.split(separator: ": ").last.map(String.init) ?? text
    if text.hasSuffix(".") { text.removeLast() }
    return reason.map { "\(text): \($0)" } ?? text
  }
}
