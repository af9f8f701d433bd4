import KioskProtocol

/// Shelly, first generation: `shellies/<id>/input_event/<n>` `{"event":"S","event_cnt":4}`
/// (shelly-api-docs.shelly.cloud/gen1, "MQTT").
///
/// The device repeats its last event every 30 seconds. `event_cnt` has 16 bits and starts from 0,
/// with an event `""`, when the device starts. So a lower count may be a new press; only an equal
/// count marks a repeat.
enum ShellyGen1 {
  /// The interval of repeats, 30 seconds, plus 5 seconds for a slow radio.
  static let repetition = Duration.seconds(35)

  static func read(_ payload: [UInt8], levels: [String]) throws(Unreadable) -> Signal {
    guard let input = levels.last else { return Signal() }
    let json = try JSON.object(payload)
    guard case .string(let event)? = json["event"] else { throw Unreadable("there is no event") }
    guard let count = json["event_cnt"]?.wholeNumber else {
      throw Unreadable("event_cnt is missing; repeats of a press cannot be recognized")
    }
    let mark = Signal.Mark(.repeatedCounter, key: input, value: String(count))
    guard !event.isEmpty else { return Signal(mark: mark) }
    let press = Signal.Press(input: input, words: [ourWord[event], event].compactMap(\.self))
    return Signal(presses: [press], mark: mark)
  }

  static let ourWord = [
    "S": "single", "SS": "double", "SSS": "triple", "L": "long", "SL": "short_long",
    "LS": "long_short",
  ]
  /// The words for all actions: the kiosk's, and the device's in lower case.
  static let words = ourWord.flatMap { [$0.value, $0.key.lowercased()] }.sorted()
}
