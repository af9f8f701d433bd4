// What can be told of a binding before anybody presses: why it could never fire.
extension Dialect {
  /// What is wrong with the topic of a device, and what to do; `nil` if nothing is.
  package func flaw(of topic: String) -> (problem: String, hint: String)? {
    let first = topic.prefix { $0 != "/" }
    if name == .tasmota, first == "cmnd" || first == "tele" {
      return ("no press comes on \(first)/...", "write stat\(topic.dropFirst(first.count))")
    }
    guard let common = topic.firstMatch(of: commonEnding.ignoresCase()) else { return nil }
    return (
      "holds \(common.output), which every device of the kind has",
      "write \(topic[..<common.range.lowerBound])"
    )
  }

  /// What stands behind the topic of a device.
  private var commonEnding: Regex<Substring> {
    switch self {
    case .tasmota: /\/(?:RESULT|(?:BUTTON|SWITCH)[0-9]*)$/
    case .shellyGen1: /\/input_event.*/
    case .shellyGen2: /\/(?:events|rpc).*/
    case .esphome: /\/(?:binary_sensor|event)\/.*/
    case .zigbee2MQTT, .generic: /(?!)/
    }
  }

  /// Whether a device of the kind can say a word: `single`, `1_single`.
  package func knows(_ word: String) -> Bool {
    guard let words else { return true }
    return words.contains(word.replacing(button, with: ""))
  }

  /// What says in a word which button it was.
  private var button: Regex<Substring> {
    switch self {
    // Inputs of the device itself count from 0, and other components from 200.
    case .shellyGen2: /^(?:[0-9]{1,2}|[a-z]+:[0-9]+(?:_[0-9]+)?)_/
    default: /^[0-9]+_/
    }
  }

  /// All that a device of the kind can say; `nil` if its owner chooses the words.
  package var words: [String]? {
    switch self {
    case .shellyGen1: ShellyGen1.words
    case .shellyGen2: ShellyGen2.words
    case .zigbee2MQTT, .tasmota, .esphome, .generic: nil
    }
  }
}
