import CMosquitto
import MessageBroker

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A list of MQTT 5 properties to send; freed when it goes out of scope.
struct Properties: ~Copyable {
  private(set) var list: OpaquePointer?

  init() {}

  /// Creates the properties of a message. The list is empty for MQTT 3.1.1, which has no
  /// properties.
  init(_ message: Message, _ version: MosquittoClient.Configuration.ProtocolVersion) {
    guard version == .v5 else { return }
    if let expiry = message.expiry { add(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, expiry) }
    if let topic = message.responseTopic {
      mosquitto_property_add_string(&list, Int32(MQTT_PROP_RESPONSE_TOPIC.rawValue), topic)
    }
    if let data = message.correlationData {
      mosquitto_property_add_binary(
        &list, Int32(MQTT_PROP_CORRELATION_DATA.rawValue), data,
        UInt16(clamping: data.count))
    }
  }

  deinit {
    var list = list
    mosquitto_property_free_all(&list)
  }

  mutating func add(_ property: mqtt5_property, _ value: UInt32) {
    mosquitto_property_add_int32(&list, Int32(property.rawValue), value)
  }

  /// Passes the list to a function that takes ownership on success, such as
  /// `mosquitto_will_set_v5`.
  mutating func give(to take: (OpaquePointer?) -> Int32) -> Int32 {
    let code = take(list)
    if code == MOSQ_ERR_SUCCESS.code { list = nil }
    return code
  }
}

/// Reads received properties. They are valid during the callback only.
enum ReceivedProperties {
  static func number(_ list: OpaquePointer?, _ property: mqtt5_property) -> UInt32? {
    var value: UInt32 = 0
    let found = mosquitto_property_read_int32(list, Int32(property.rawValue), &value, false)
    return found == nil ? nil : value
  }

  static func shortNumber(_ list: OpaquePointer?, _ property: mqtt5_property) -> UInt16? {
    var value: UInt16 = 0
    let found = mosquitto_property_read_int16(list, Int32(property.rawValue), &value, false)
    return found == nil ? nil : value
  }

  static func byte(_ list: OpaquePointer?, _ property: mqtt5_property) -> UInt8? {
    var value: UInt8 = 0
    let found = mosquitto_property_read_byte(list, Int32(property.rawValue), &value, false)
    return found == nil ? nil : value
  }

  static func text(_ list: OpaquePointer?, _ property: mqtt5_property) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    mosquitto_property_read_string(list, Int32(property.rawValue), &text, false)
    guard let text else { return nil }
    defer { free(text) }
    return String(cString: text)
  }

  static func bytes(_ list: OpaquePointer?, _ property: mqtt5_property) -> [UInt8]? {
    var bytes: UnsafeMutableRawPointer?
    var count: UInt16 = 0
    let found = mosquitto_property_read_binary(
      list, Int32(property.rawValue), &bytes, &count, false)
    guard found != nil else { return nil }
    defer { free(bytes) }
    return Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
  }

  /// Returns the size in bytes of all user properties in the packet (3.3.2.3.7), counted up to
  /// `bound`.
  static func userProperties(_ list: OpaquePointer?, upTo bound: Int) -> Int {
    guard list != nil else { return 0 }
    var (bytes, next) = (0, list)
    while bytes <= bound {
      var name: UnsafeMutablePointer<CChar>?
      var value: UnsafeMutablePointer<CChar>?
      next = mosquitto_property_read_string_pair(
        next, Int32(MQTT_PROP_USER_PROPERTY.rawValue), &name, &value, bytes > 0)
      guard next != nil, let name, let value else { break }
      bytes += 5 + strlen(name) + strlen(value)
      free(name)
      free(value)
    }
    return bytes
  }
}

extension BrokerLimits {
  /// Reads the limits from the properties of a CONNACK.
  init(_ list: OpaquePointer?) {
    self.init()
    if let count = ReceivedProperties.shortNumber(list, MQTT_PROP_RECEIVE_MAXIMUM) {
      receiveMaximum = Int(count)
    }
    if let qos = ReceivedProperties.byte(list, MQTT_PROP_MAXIMUM_QOS) { maximumQoS = Int(qos) }
    retainsMessages = ReceivedProperties.byte(list, MQTT_PROP_RETAIN_AVAILABLE) != 0
    maximumPacket = ReceivedProperties.number(list, MQTT_PROP_MAXIMUM_PACKET_SIZE).map(Int.init)
    sessionExpiry = ReceivedProperties.number(list, MQTT_PROP_SESSION_EXPIRY_INTERVAL).map(Int.init)
  }
}
