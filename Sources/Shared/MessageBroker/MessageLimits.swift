/// What may come in with one message, in bytes where nothing else is said.
///
/// The broker is told the size of a whole packet (MQTT 5, 3.1.2.11.4) and drops what is larger. The
/// rest is measured before anything is copied: what is larger is cut off, and the delivery says so.
package struct MessageLimits: Sendable, Equatable {
  package var packet: Int
  package var payload: Int
  package var topic: Int
  package var topicLevels: Int
  package var responseTopic: Int
  package var responseTopicLevels: Int
  package var correlationData: Int
  /// Of all of them together, as they are in the packet.
  package var userProperties: Int

  /// For whoever takes commands: from people and machines that it need not trust.
  package static let commands = MessageLimits(
    packet: 1 << 16, payload: 4096, topic: 512, topicLevels: 32, responseTopic: 256,
    responseTopicLevels: 16, correlationData: 256, userProperties: 4096)

  /// For whoever hears a kiosk: a long menu has some hundred kilobytes. A packet is as large as the
  /// shipped brokers let it be (`max_packet_size`).
  package static let reports = MessageLimits(
    packet: 1 << 20, payload: 1 << 20, topic: 65_535, topicLevels: 65_535, responseTopic: 256,
    responseTopicLevels: 16, correlationData: 256, userProperties: 1 << 20)

  /// The first part of a message that is too large.
  package func excess(of sizes: MessageSizes) -> Delivery.Excess? {
    if sizes.topic > topic || sizes.topicLevels > topicLevels { return .topic }
    if sizes.payload > payload { return .payload }
    if sizes.responseTopic > responseTopic || sizes.responseTopicLevels > responseTopicLevels {
      return .responseTopic
    }
    if sizes.correlationData > correlationData { return .correlationData }
    return sizes.userProperties > userProperties ? .userProperties : nil
  }

  /// The message without what is too large: topic and payload are cut off, the others left out.
  package func truncated(_ message: Message) -> Message {
    var message = message
    message.topic = String(decoding: message.topic.utf8.prefix(topic), as: UTF8.self)
    message.payload = Array(message.payload.prefix(payload))
    let (bytes, levels) = MessageSizes.measure((message.responseTopic ?? "").utf8)
    if bytes > responseTopic || levels > responseTopicLevels { message.responseTopic = nil }
    if (message.correlationData?.count ?? 0) > correlationData { message.correlationData = nil }
    return message
  }
}

/// How large the parts of a message are, in bytes where nothing else is said.
package struct MessageSizes: Sendable, Equatable {
  package var topic = 0
  package var topicLevels = 0
  package var payload = 0
  package var responseTopic = 0
  package var responseTopicLevels = 0
  package var correlationData = 0
  package var userProperties = 0

  package init() {}

  package init(_ message: Message) {
    (topic, topicLevels) = Self.measure(message.topic.utf8)
    payload = message.payload.count
    if let topic = message.responseTopic {
      (responseTopic, responseTopicLevels) = Self.measure(topic.utf8)
    }
    correlationData = message.correlationData?.count ?? 0
  }

  /// Of a whole PUBLISH, to within the few bytes that say how long its parts are.
  package var packet: Int { topic + payload + responseTopic + correlationData + userProperties }

  package static func measure(_ topic: some Collection<UInt8>) -> (bytes: Int, levels: Int) {
    (topic.count, topic.reduce(1) { $1 == UInt8(ascii: "/") ? $0 + 1 : $0 })
  }
}
