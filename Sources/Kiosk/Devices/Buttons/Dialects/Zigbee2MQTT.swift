import KioskProtocol

/// Zigbee2MQTT: `zigbee2mqtt/<name>` `{"action":"single","linkquality":87,...}`
/// (www.zigbee2mqtt.io/guide/usage/mqtt_topics_and_messages.html).
///
/// The end of a press has a message of its own: `""`, sometimes `null` (#25605). With the Home
/// Assistant extension, Zigbee2MQTT also publishes the press as a bare word on
/// `zigbee2mqtt/<name>/action` (#32015). There is no counter; the debounce removes repeats by radio.
enum Zigbee2MQTT {
  static func read(_ payload: [UInt8], on topic: String) throws(Unreadable) -> Signal {
    let action: String?
    if isActionTopic(topic) {
      action = String(validating: payload, as: UTF8.self)
    } else if case .string(let text)? = try JSON.object(payload)["action"] {
      action = text
    } else {
      action = nil
    }
    guard let action, !action.isEmpty else { return Signal() }
    return Signal(presses: [Signal.Press(action: action)])
  }

  static func isActionTopic(_ topic: String) -> Bool { topic.hasSuffix("/action") }
}

extension Signal.Press {
  /// Splits an action. A remote with several buttons puts the button first: `1_single`.
  fileprivate init(action: String) {
    var input: String?
    var word = action
    let parts = action.split(separator: "_", maxSplits: 1, omittingEmptySubsequences: false)
    if parts.count == 2, parts[0].isNumber, !parts[1].isEmpty {
      (input, word) = (String(parts[0]), String(parts[1]))
    }
    self.init(input: input, words: word.lowercased() == "hold" ? ["long", word] : [word])
    if word.lowercased().hasSuffix("hold") { leastDebounce = Self.debounceWhileHeld }
  }
}

extension Substring {
  /// Whether the text consists of digits. Does not use a regular expression, because Swift would
  /// compile it for each message, which takes fifty times as long as matching it.
  var isNumber: Bool {
    !isEmpty && utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}
