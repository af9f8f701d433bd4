/// Limits for the parts of a received message: sizes in bytes, levels as counts.
///
/// The broker receives `packet` in the CONNECT (MQTT 5, 3.1.2.11.4) and drops larger packets. The
/// client checks the other limits: it truncates or removes parts that are too large, and the
/// delivery reports the excess.
package struct MessageLimits: Sendable, Equatable {
  package var packet: Int
  package var payload: Int
  package var topic: Int
  package var topicLevels: Int
  package var responseTopic: Int
  package var responseTopicLevels: Int
  package var correlationData: Int
  /// The size of all user properties together, as encoded in the packet.
  package var userProperties: Int

  /// Limits for clients that execute commands of untrusted senders.
  package static let commands = MessageLimits(
    packet: 1 << 16, payload: 4096, topic: 512, topicLevels: 32, responseTopic: 256,
    responseTopicLevels: 16, correlationData: 256, userProperties: 4096)

  /// Limits for clients that receive kiosk reports: a long menu has several hundred kilobytes. The
  /// packet limit is that of the shipped broker configurations (`max_packet_size`).
  package static let reports = MessageLimits(
    packet: 1 << 20, payload: 1 << 20, topic: 65_535, topicLevels: 65_535, responseTopic: 256,
    responseTopicLevels: 16, correlationData: 256, userProperties: 1 << 20)

  /// Returns the first part of a message that exceeds its limit, or `nil` if no part does.
  package func excess(of sizes: MessageSizes) -> Delivery.Excess? {
    if sizes.topic > topic || sizes.topicLevels > topicLevels { return .topic }
    if sizes.payload > payload { return .payload }
    if sizes.responseTopic > responseTopic || sizes.responseTopicLevels > responseTopicLevels {
      return .responseTopic
    }
    if sizes.correlationData > correlationData { return .correlationData }
    return sizes.userProperties > userProperties ? .userProperties : nil
  }

  /// Returns the message without its excess: topic and payload are cut off, other parts are
  /// removed.
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

/// Sizes of the parts of a message in bytes, and the number of levels of its topics.
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

  /// The approximate size of the whole PUBLISH, without the few bytes of its length fields.
  package var packet: Int { topic + payload + responseTopic + correlationData + userProperties }

  package static func measure(_ topic: some Collection<UInt8>) -> (bytes: Int, levels: Int) {
    (topic.count, topic.reduce(1) { $1 == UInt8(ascii: "/") ? $0 + 1 : $0 })
  }
}
