/// An application message, published or received.
package struct Message: Sendable, Hashable {
  package var topic: String
  package var payload: [UInt8]
  package var qos: QoS
  /// Whether the broker retains the message for later subscribers. In a received message: whether
  /// the broker had retained it before the subscription; but see `retainAsPublished`.
  package var retain: Bool
  /// The expiry interval in seconds; in a received message, the remaining time. MQTT 5 only.
  package var expiry: UInt32?
  /// The topic for a response; MQTT 5 only.
  package var responseTopic: String?
  /// Data that identifies the request in a response; MQTT 5 only.
  package var correlationData: [UInt8]?

  package init(
    topic: String, payload: [UInt8], qos: QoS = .atLeastOnce, retain: Bool = false,
    expiry: UInt32? = nil, responseTopic: String? = nil, correlationData: [UInt8]? = nil
  ) {
    self.topic = topic
    self.payload = payload
    self.qos = qos
    self.retain = retain
    self.expiry = expiry
    self.responseTopic = responseTopic
    self.correlationData = correlationData
  }

  package init(topic: String, text: String, qos: QoS = .atLeastOnce, retain: Bool = false) {
    self.init(topic: topic, payload: Array(text.utf8), qos: qos, retain: retain)
  }
}

/// The quality of service. QoS 2 is not used: with command ids, QoS 1 suffices to execute each
/// command exactly once.
package enum QoS: UInt8, Sendable, Comparable {
  case atMostOnce = 0
  case atLeastOnce = 1

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
