import CMosquitto
import MessageBroker

extension Connection {
  /// Queues a SUBSCRIBE.
  ///
  /// - Parameters:
  ///   - number: The number that identifies the SUBSCRIBE in `Session`.
  ///   - retainAsPublished: Sets the MQTT 5 option Retain As Published (3.8.3.1). Without options,
  ///     the broker sends retained messages at each SUBSCRIBE and clears the RETAIN flag of newly
  ///     published ones.
  func subscribe(
    to filters: [TopicFilter], number: Int, qos: QoS, retainAsPublished: Bool
  ) {
    let options = retainAsPublished ? Int32(MQTT_SUB_OPT_RETAIN_AS_PUBLISHED.rawValue) : 0
    var packetID: Int32 = 0
    withCStrings(filters.map(\.text)) { filters in
      _ = mosquitto_subscribe_multiple(
        handle, &packetID, Int32(filters.count), filters.baseAddress, Int32(qos.rawValue), options,
        nil)
    }
    subscriptions[packetID] = number
  }

  /// Queues an UNSUBSCRIBE.
  func unsubscribe(from filters: [TopicFilter]) {
    withCStrings(filters.map(\.text)) { filters in
      _ = mosquitto_unsubscribe_multiple(
        handle, nil, Int32(filters.count), filters.baseAddress, nil)
    }
  }

  /// Queues a message.
  ///
  /// - Returns: The packet id. Inside libmosquitto, QoS 0 messages have one too.
  /// - Throws: The reason that libmosquitto gives for rejecting the message.
  func publish(
    _ message: Message, _ version: MosquittoClient.Configuration.ProtocolVersion
  ) throws(PublishError) -> Int32 {
    let properties = Properties(message, version)
    var packetID: Int32 = 0
    // `withCString` instead of an implicit bridge of the argument, which would copy the string.
    let code = message.topic.withCString {
      mosquitto_publish_v5(
        handle, &packetID, $0, Int32(clamping: message.payload.count), message.payload,
        Int32(message.qos.rawValue), message.retain, properties.list)
    }
    guard code == MOSQ_ERR_SUCCESS.code else {
      throw PublishError(reason: String(cString: mosquitto_strerror(code)))
    }
    return packetID
  }
}

struct PublishError: Error {
  let reason: String

  /// Checks the rules that hold for every broker: a topic name without wildcards (3.3.2.1) and
  /// without U+0000, and lengths of packet and properties that their fields can express (2.1.4).
  static func check(
    _ message: Message, _ version: MosquittoClient.Configuration.ProtocolVersion
  ) throws(PublishError) {
    let topic = message.topic.utf8
    guard (1...65_535).contains(topic.count), !topic.contains(0),
      message.topic.withCString({ mosquitto_pub_topic_check($0) }) == MOSQ_ERR_SUCCESS.code
    else { throw PublishError(reason: "not a topic name") }
    guard message.payload.count + topic.count <= Int(MQTT_MAX_PAYLOAD) - 5 else {
      throw PublishError(reason: "too long")
    }
    if version == .v311 { return }
    guard (message.correlationData?.count ?? 0) <= 65_535,
      message.responseTopic?.utf8.contains(0) != true
    else { throw PublishError(reason: "a property that MQTT 5 cannot express") }
  }
}

/// Passes the strings to `body` as `char *const *`, a conversion that Swift does not provide.
private func withCStrings(
  _ strings: [String], _ body: (UnsafeBufferPointer<UnsafeMutablePointer<CChar>?>) -> Void
) {
  let copies = strings.map { string in
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: string.utf8.count + 1)
    for (index, byte) in string.utf8.enumerated() { copy[index] = CChar(bitPattern: byte) }
    copy[string.utf8.count] = 0
    return copy as UnsafeMutablePointer<CChar>?
  }
  copies.withUnsafeBufferPointer(body)
  for copy in copies { copy?.deallocate() }
}
