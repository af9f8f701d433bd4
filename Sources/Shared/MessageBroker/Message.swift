/// An application message, published or received.
package struct Message: Sendable, Hashable {
  package var topic: String
  package var payload: [UInt8]
  package var qos: QoS
  /// Published: the broker keeps it for later subscribers. Received: it was kept, and is no news; but see
  /// `SessionOptions.retainAsPublished`.
  package var retain: Bool
  /// In seconds; MQTT 5 only, ignored on 3.1.1. Received: what is left of it.
  package var expiry: UInt32?
  /// MQTT 5 only.
  package var responseTopic: String?
  /// MQTT 5 only.
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

/// The quality of service. QoS 2 is never asked for: ids make QoS 1 exactly once, end to end.
package enum QoS: UInt8, Sendable, Comparable {
  case atMostOnce = 0
  case atLeastOnce = 1

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
