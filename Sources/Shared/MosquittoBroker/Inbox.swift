import CMosquitto
import MessageBroker

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Collects the results of libmosquitto's callbacks until the C call that triggers them returns.
///
/// The callbacks only copy data: calling back into the actor would violate exclusive access and
/// trap, and libmosquitto holds locks during a callback (`callback_mutex`, `log_callback_mutex`).
final class Inbox {
  struct ConnectAck {
    let code: Int32
    let resumesSession: Bool
    let reason: String?
    let limits: BrokerLimits
  }

  var connectAck: ConnectAck?
  /// The packet id of each SUBACK and the QoS granted for each filter; 128 or above is a refusal
  /// (3.9.3).
  var granted: [(packetID: Int32, levels: [Int32])] = []
  var deliveries: [Delivery] = []
  /// The size of the deliveries in bytes, with topics and properties, before truncation.
  var bytes = 0
  /// Packet ids of the messages that the broker has acknowledged, or that were written with QoS 0.
  var published: [Int32] = []
  /// Reason codes of messages that the broker refused, by packet id (3.4.2.1).
  var refusals: [Int32: Int32] = [:]
  /// The broker's reason for its DISCONNECT (MQTT 5), or libmosquitto's reason for the end of the
  /// connection.
  var disconnectReason: (code: Int32, reason: String?)?
  /// Lines that libmosquitto logged as errors: the only source of the cause of a TLS failure.
  var tlsErrors: [String] = []
  private let publishLine: String
  private let limits: MessageLimits
  private var isDuplicate = false
  private var isResumed = false

  init(clientID: String, limits: MessageLimits) {
    self.limits = limits
    publishLine = "Client \(clientID) received PUBLISH (d"
  }

  /// The number of results in the inbox. A PINGRESP or an UNSUBACK adds none.
  var count: Int {
    deliveries.count + published.count + (connectAck == nil ? 0 : 1) + granted.count
  }

  /// Returns the deliveries and removes them from the inbox.
  func takeDeliveries() -> [Delivery] {
    defer { (deliveries, bytes) = ([], 0) }
    return deliveries
  }

  /// Returns the CONNACK and removes it.
  func takeConnectAck() -> ConnectAck? {
    defer { connectAck = nil }
    return connectAck
  }

  /// Returns the SUBACKs and removes them.
  func takeGranted() -> [(packetID: Int32, levels: [Int32])] {
    guard !granted.isEmpty else { return [] }
    defer { granted = [] }
    return granted
  }

  func installCallbacks(on handle: OpaquePointer) {
    mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
    mosquitto_log_callback_set(handle) { _, inbox, level, line in
      guard let line else { return }
      Inbox.of(inbox).logged(level, line)
    }
    mosquitto_connect_v5_callback_set(handle) { handle, inbox, code, flags, properties in
      let inbox = Inbox.of(inbox)
      inbox.isResumed = flags & 1 != 0
      inbox.connectAck = ConnectAck(
        code: code, resumesSession: inbox.isResumed,
        reason: ReceivedProperties.text(properties, MQTT_PROP_REASON_STRING),
        limits: BrokerLimits(properties))
      // DUP is relevant only in a resumed session, and the log lines are expensive: libmosquitto
      // allocates and formats one for each packet that it reads or queues.
      if !inbox.isResumed { mosquitto_log_callback_set(handle, nil) }
    }
    mosquitto_subscribe_v5_callback_set(handle) { _, inbox, packetID, count, granted, _ in
      let levels = Array(UnsafeBufferPointer(start: granted, count: Int(count)))
      Inbox.of(inbox).granted.append((packetID, levels))
    }
    mosquitto_publish_v5_callback_set(handle) { _, inbox, packetID, code, _ in
      let inbox = Inbox.of(inbox)
      inbox.published.append(packetID)
      if code >= MQTT_RC_UNSPECIFIED.rawValue { inbox.refusals[packetID] = code }
    }
    mosquitto_disconnect_v5_callback_set(handle) { _, inbox, code, properties in
      Inbox.of(inbox).disconnectReason = (
        code, ReceivedProperties.text(properties, MQTT_PROP_REASON_STRING)
      )
    }
    mosquitto_message_v5_callback_set(handle) { _, inbox, message, properties in
      guard let message else { return }
      Inbox.of(inbox).received(message.pointee, properties)
    }
  }

  private static func of(_ address: UnsafeMutableRawPointer?) -> Inbox {
    // The pointer is the one passed to `mosquitto_user_data_set`. It is valid because the
    // connection that owns the handle also owns this object.
    Unmanaged.fromOpaque(address.unsafelyUnwrapped).takeUnretainedValue()
  }

  private func received(_ message: mosquitto_message, _ properties: OpaquePointer?) {
    let topic = UnsafeRawBufferPointer(start: message.topic, count: strlen(message.topic))
    let payload = UnsafeRawBufferPointer(start: message.payload, count: Int(message.payloadlen))
    let responseTopic = ReceivedProperties.text(properties, MQTT_PROP_RESPONSE_TOPIC)
    let correlationData = ReceivedProperties.bytes(properties, MQTT_PROP_CORRELATION_DATA)
    var sizes = MessageSizes()
    (sizes.topic, sizes.topicLevels) = MessageSizes.measure(topic)
    sizes.payload = payload.count
    if let responseTopic {
      (sizes.responseTopic, sizes.responseTopicLevels) = MessageSizes.measure(responseTopic.utf8)
    }
    sizes.correlationData = correlationData?.count ?? 0
    sizes.userProperties = ReceivedProperties.userProperties(properties, upTo: limits.packet)
    bytes += sizes.packet
    let excess = limits.excess(of: sizes)
    let copy = Message(
      topic: String(decoding: topic.prefix(limits.topic), as: UTF8.self),
      payload: Array(payload.prefix(limits.payload)),
      qos: message.qos == 0 ? .atMostOnce : .atLeastOnce, retain: message.retain,
      expiry: ReceivedProperties.number(properties, MQTT_PROP_MESSAGE_EXPIRY_INTERVAL),
      responseTopic: responseTopic, correlationData: correlationData)
    deliveries.append(
      Delivery(
        message: excess == nil ? copy : limits.truncated(copy),
        packetID: UInt16(truncatingIfNeeded: message.mid),
        isRedelivery: isDuplicate && isResumed, excess: excess))
    isDuplicate = false
  }

  private func logged(_ level: Int32, _ line: UnsafePointer<CChar>) {
    if level == MOSQ_LOG_ERR {
      tlsErrors.append(String(cString: line))
    } else if level == MOSQ_LOG_DEBUG, isResumed {
      // `mosquitto_message` has no DUP flag; a line logged before the callback has it. The line
      // begins with the client id, so a sender cannot forge it. The log line of the PUBACK comes
      // between the two (lib/handle_publish.c).
      let line = String(cString: line)
      if line.hasPrefix(publishLine + "1,") { isDuplicate = true }
    }
  }
}

extension mosq_err_t {
  var code: Int32 { Int32(bitPattern: UInt32(rawValue)) }
}
