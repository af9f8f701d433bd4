// Finds bindings that no press matches, or that two messages of one press match, before a button is
// pressed.
extension Dialect {
  /// Returns the error in a device's topic and a hint to correct it, or `nil` if there is no error.
  package func flaw(of topic: String) -> (problem: String, hint: String)? {
    let first = topic.prefix { $0 != "/" }
    if name == .tasmota, first == "cmnd" || first == "tele" {
      return (
        "Tasmota publishes no presses on \(first)/...", "write stat\(topic.dropFirst(first.count))"
      )
    }
    guard let common = topic.firstMatch(of: commonEnding.ignoresCase()) else { return nil }
    return (
      "must not contain \(common.output)",
      "write \(topic[..<common.range.lowerBound])"
    )
  }

  /// Matches the topic levels that each device of the kind adds to its own topic.
  private var commonEnding: Regex<Substring> {
    switch self {
    case .tasmota: /\/(?:RESULT|(?:BUTTON|SWITCH)[0-9]*)$/
    case .shellyGen1: /\/input_event.*/
    case .shellyGen2: /\/(?:events|rpc).*/
    case .esphome: /\/(?:binary_sensor|event)\/.*/
    case .zigbee2MQTT, .generic: /(?!)/
    }
  }

  /// Returns whether a press can have a name: `single`, `1_single`; always `true` without `words`.
  package func recognizes(_ word: String) -> Bool {
    guard let words else { return true }
    return words.contains(String(parts(of: word).action))
  }

  /// All words for actions, the kiosk's and the devices', or `nil` if there is no fixed list.
  package var words: [String]? {
    switch self {
    case .shellyGen1: ShellyGen1.words
    case .shellyGen2: ShellyGen2.words
    case .zigbee2MQTT, .tasmota, .esphome, .generic: nil
    }
  }

  /// Returns the topic filters under which a device repeats its presses in another form.
  ///
  /// - Parameters:
  ///   - topic: The device's own topic.
  ///   - words: The names of the bound presses.
  package func echoes(of topic: String, saying words: some Sequence<String>) -> [String] {
    switch self {
    // Zigbee2MQTT publishes the whole state and each of its members (#32015).
    case .zigbee2MQTT where topic.hasSuffix("/action"): [String(topic.dropLast("/action".count))]
    case .zigbee2MQTT: ["\(topic)/action"]
    case .generic(let format) where !topic.hasSuffix("#"):
      format.action.map { ["\(topic)\($0)"] } ?? []
    // The state of the contact (shelly-api-docs.shelly.cloud/gen1, "MQTT").
    case .shellyGen1:
      Set(words.map { parts(of: $0).button ?? "+" }).sorted().flatMap {
        ["\(topic)/input/\($0)", "\(topic)/longpush/\($0)"]
      }
    // shelly-api-docs.shelly.cloud/gen2/ComponentsAndServices/Mqtt, "Generic status update".
    case .shellyGen2: ["\(topic)/status/+"]
    case .tasmota, .esphome, .generic: []
    }
  }

  /// Returns whether one press can have both names.
  package func mayBeSamePress(_ word: String, _ other: String) -> Bool {
    switch self {
    case .esphome:
      // An object id may contain the name of an event.
      let (one, another) = (word.withoutPress, other.withoutPress)
      return one == another || one.hasSuffix("_\(another)") || another.hasSuffix("_\(one)")
        || [word, other].contains("press")
    case .generic(let format):
      guard format.key != nil else { return word == other }
      return word == other || word.hasSuffix("_\(other)") || other.hasSuffix("_\(word)")
    case .zigbee2MQTT, .tasmota, .shellyGen1, .shellyGen2:
      let (one, another) = (parts(of: word), parts(of: other))
      guard meaning(of: one.action) == meaning(of: another.action) else { return false }
      guard let button = one.button, let second = another.button else {
        // A switch is bound by its full name only (see `Tasmota`).
        return ![one.button, another.button].contains { $0?.hasPrefix("switch") ?? false }
      }
      return button == second || button.hasPrefix("\(second)_") || second.hasPrefix("\(button)_")
    }
  }

  /// Splits a word into the button and the action.
  private func parts(of word: String) -> (button: String?, action: Substring) {
    let button: Regex<(Substring, Substring)> =
      switch self {
      // Inputs of the device itself are numbered from 0, Bluetooth components from 200. A script
      // names a Bluetooth device by its address.
      case .shellyGen2:
        /^([0-9]{1,2}|(?:[a-z]+:[0-9]+|[0-9a-f]{2}(?::[0-9a-f]{2}){5})(?:_[0-9]+)?)_/
      case .tasmota: /^((?:switch)?[0-9]+)_/
      default: /^([0-9]+)_/
      }
    guard let match = word.firstMatch(of: button) else { return (nil, word[...]) }
    return (String(match.1), word[match.range.upperBound...])
  }

  /// Returns the kiosk's word for an action, or the action itself if the kiosk has no other word.
  private func meaning(of action: Substring) -> String {
    switch (self, action) {
    case (.shellyGen1, _): ShellyGen1.ourWord[action.uppercased()] ?? String(action)
    case (.shellyGen2, _): String(action.replacing(ShellyGen2.push, with: ""))
    case (.tasmota, "quad"): "quadruple"
    case (.tasmota, "penta"): "quintuple"
    case (.tasmota, "hold"), (.zigbee2MQTT, "hold"): "long"
    default: String(action)
    }
  }
}

extension String {
  fileprivate var withoutPress: Substring {
    hasSuffix("_press") ? dropLast("_press".count) : self[...]
  }
}
