import CMosquitto
import MessageBroker

/// Maps reason codes and errors of libmosquitto to `BrokerError`.
extension BrokerError {
  /// The broker closed the connection without a reason.
  ///
  /// mosquitto 2.0.11 and MQTT 3.1.1 do not report that another client has taken over the session.
  static let closedByBroker = BrokerError.connectionLost(
    "the broker closed it; if this repeats, another client uses the same client id")

  /// Returns the end of a message about a handshake that the broker did not finish; empty for
  /// 3.1.1. A broker without MQTT 5 should report that in its CONNACK (3.1.1: 3.1.2.2), but some do
  /// not answer, or close the connection.
  static func hint(_ version: MosquittoClient.Configuration.ProtocolVersion) -> String {
    version == .v5 ? "; if it supports only MQTT 3.1.1, set broker.protocol: 3.1.1" : ""
  }

  /// Creates the error for a CONNACK that refuses the connection (3.1.1: 3.2.2.3; MQTT 5: 3.2.2.2).
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

  /// Creates the error for a DISCONNECT sent by the broker (MQTT 5, 3.14.2.1).
  init(disconnect code: Int32, reason: String?) {
    if code == MQTT_RC_SESSION_TAKEN_OVER.rawValue {
      self = .sessionTakenOver
    } else {
      self = .connectionLost("the broker ended it: \(Self.tidy(Self.text(for: code), reason))")
    }
  }

  /// Creates the error from the lines that libmosquitto logged when TLS failed, without its
  /// prefixes.
  init(tlsErrors lines: [String]) {
    var details: [String] = []
    for line in lines {
      // For example "OpenSSL Error[0]: error:0A000086:SSL routines::certificate verify failed".
      let detail =
        line.hasPrefix("OpenSSL")
        ? String(line.split(separator: ":").last ?? "") : line.replacing("Error: ", with: "")
      if !detail.isEmpty, !details.contains(detail) { details.append(detail) }
    }
    // A refused client certificate may show only as a reset connection: TLS 1.3 lets the client
    // write its CONNECT before the broker's alert arrives, and a failed write reports no alert.
    let guess = "the broker ended the TLS handshake; it may require a client certificate"
    self = .tls(details.isEmpty ? guess : details.joined(separator: "; "))
  }

  /// Returns the text of an MQTT 5 reason code.
  static func text(for code: Int32) -> String {
    mosquitto_reason_string(code).map { String(cString: $0) } ?? "code \(code)"
  }

  /// Strips prefix and final period: "Connection Refused: bad user name or password." becomes "bad
  /// user name or password". Appends the broker's reason, if any.
  private static func tidy(_ text: String, _ reason: String?) -> String {
    var text = text.split(separator: ": ").last.map(String.init) ?? text
    if text.hasSuffix(".") { text.removeLast() }
    return reason.map { "\(text): \($0)" } ?? text
  }
}
