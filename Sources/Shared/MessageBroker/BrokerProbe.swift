/// One short connection that finds out what a broker grants, and leaves nothing behind.
///
/// Always over MQTT 5: earlier versions tell nothing of what is asked here.
package struct BrokerProbe: Sendable {
  package var clientID: String
  /// Goes on with the session of this client id if there is one, and lets it live for so long after
  /// the visit. `nil` begins a session that ends with the visit.
  package var resuming: Duration?

  package init(clientID: String, resuming: Duration? = nil) {
    self.clientID = clientID
    self.resuming = resuming
  }

  /// What came of it.
  package struct Report: Sendable, Equatable {
    /// There was a session of this client id.
    package var hasResumed = false
    package var limits = BrokerLimits()

    package init() {}
  }
}

/// What a broker says of itself when it lets a client in (MQTT 5, 3.2.2.3). The defaults are what
/// it means when it says nothing.
package struct BrokerLimits: Sendable, Equatable {
  /// Messages of QoS 1 that may be on their way to it unacknowledged.
  package var receiveMaximum = 65_535
  package var maximumQoS = 2
  package var retainsMessages = true
  /// In bytes, of a whole packet; `nil`: as many as MQTT allows.
  package var maximumPacket: Int?
  /// In seconds, if it is another one than the client asked for.
  package var sessionExpiry: Int?

  package init() {}
}
