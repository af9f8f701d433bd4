/// A short connection that reads a broker's limits and leaves no new session behind.
///
/// Always uses MQTT 5, because earlier versions do not report limits.
package struct BrokerProbe: Sendable {
  package var clientID: String
  /// The session expiry to set when resuming the session of this client id, or `nil` to begin a
  /// session that ends with the probe. If no session exists, the probe leaves none behind.
  package var resuming: Duration?

  package init(clientID: String, resuming: Duration? = nil) {
    self.clientID = clientID
    self.resuming = resuming
  }

  /// The result of a probe.
  package struct Report: Sendable, Equatable {
    /// Whether the probe has resumed a session of this client id.
    package var hasResumed = false
    package var limits = BrokerLimits()

    package init() {}
  }
}

/// The limits in a CONNACK (MQTT 5, 3.2.2.3). The defaults apply where the broker reports none.
package struct BrokerLimits: Sendable, Equatable {
  /// Maximum number of unacknowledged QoS 1 messages in transit to the broker.
  package var receiveMaximum = 65_535
  package var maximumQoS = 2
  package var retainsMessages = true
  /// Maximum size of a packet in bytes, or `nil` for the maximum of MQTT.
  package var maximumPacket: Int?
  /// The session expiry in seconds, or `nil` if the broker accepted the requested one.
  package var sessionExpiry: Int?

  package init() {}
}
