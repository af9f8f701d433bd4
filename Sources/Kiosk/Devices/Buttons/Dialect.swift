import KioskProtocol

/// A family of devices, and the form in which it publishes the press of a button.
///
/// ```swift
/// let signal = try Dialect.tasmota.read(payload, on: "stat/hall/RESULT", of: "stat/hall")
/// print(signal.presses.map(\.names))  // [["1_single", "single"]]
/// ```
///
/// | dialect | topic | payload of a press |
/// |---|---|---|
/// | `zigbee2MQTT` | `zigbee2mqtt/<name>` | `{"action":"single",...}` |
/// | `tasmota` | `stat/<name>/RESULT` | `{"Button1":{"Action":"SINGLE"}}` |
/// | `shellyGen1` | `shellies/<id>/input_event/<n>` | `{"event":"S","event_cnt":4}` |
/// | `shellyGen2` | `<id>/events/rpc` | `{"method":"NotifyEvent",...}` |
/// | `esphome` | `<prefix>/event/<id>/state` | `{"event_type":"press"}` |
/// | `generic` | any | a word, or JSON with the members of a `GenericFormat` |
///
/// Each dialect cites the documentation or the source code of its devices.
package enum Dialect: Hashable, Sendable {
  case zigbee2MQTT
  case tasmota
  case shellyGen1
  case shellyGen2
  case esphome
  /// Any other device.
  case generic(GenericFormat)

  /// Returns the topic filters that select the messages of a device.
  ///
  /// - Parameter topic: The device's own topic, as the dialect defines it; for `generic` a filter.
  package func filters(of topic: String) -> [String] {
    switch self {
    case .zigbee2MQTT, .generic: [topic]
    case .tasmota: ["\(topic)/+"]
    case .shellyGen1: ["\(topic)/input_event/+"]
    case .shellyGen2: ["\(topic)/events/rpc"]
    case .esphome: ["\(topic)/binary_sensor/+/state", "\(topic)/event/+/state"]
    }
  }

  /// Reads a message of a device.
  ///
  /// - Parameters:
  ///   - topic: The topic of the message, selected by the filters.
  ///   - device: The device's own topic.
  /// - Throws: `Unreadable` if the message may contain a press but cannot be read.
  package func read(
    _ payload: [UInt8], on topic: String, of device: String
  ) throws(Unreadable) -> Signal {
    guard payload.count <= Request.maximumPayload else {
      throw Unreadable("\(payload.count) bytes; a press has at most \(Request.maximumPayload)")
    }
    let levels = topic.utf8.dropFirst(device.utf8.count).split(separator: UInt8(ascii: "/"))
      .map { String(Substring($0)) }
    switch self {
    case .zigbee2MQTT: return try Zigbee2MQTT.read(payload, on: topic)
    case .tasmota: return try Tasmota.read(payload, levels: levels)
    case .shellyGen1: return try ShellyGen1.read(payload, levels: levels)
    case .shellyGen2: return try ShellyGen2.read(payload)
    case .esphome: return try ESPHome.read(payload, levels: levels)
    case .generic(let format): return try format.read(payload, of: device)
    }
  }

  /// The default debounce of a dialect whose devices may repeat a press by radio, or `nil` if the
  /// kiosk's setting applies.
  package var usualDebounce: Duration? {
    // Repeats arrive within the same second (Zigbee2MQTT #298, #5909, #26374).
    self == .zigbee2MQTT ? .seconds(1) : nil
  }
}

extension Dialect {
  /// The name of a dialect in a configuration.
  package enum Name: String, CaseIterable, Sendable {
    case zigbee2mqtt, tasmota, esphome, generic
    case shellyGen1 = "shelly_gen1"
    case shellyGen2 = "shelly_gen2"
  }

  package var name: Name {
    switch self {
    case .zigbee2MQTT: .zigbee2mqtt
    case .tasmota: .tasmota
    case .shellyGen1: .shellyGen1
    case .shellyGen2: .shellyGen2
    case .esphome: .esphome
    case .generic: .generic
    }
  }
}

extension JSON {
  /// Parses a message of a device.
  ///
  /// - Throws: `Unreadable` if the message is not a JSON object.
  static func object(_ payload: [UInt8]) throws(Unreadable) -> JSON {
    let json: JSON
    do { json = try parse(payload) } catch { throw Unreadable("not JSON: \(error)") }
    guard case .object = json else {
      throw Unreadable("a JSON object is expected, this is \(json.kind)")
    }
    return json
  }

  /// The value as a word, or `nil` for an object, a list or null.
  var word: String? {
    switch self {
    case .string(let text): text
    case .integer(let number): String(number)
    case .number(let number): "\(number)"
    case .bool(let truth): truth ? "true" : "false"
    case .null, .array, .object: nil
    }
  }
}
