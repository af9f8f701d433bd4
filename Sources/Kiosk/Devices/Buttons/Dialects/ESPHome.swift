import KioskProtocol

/// ESPHome: `<prefix>/binary_sensor/<id>/state` `ON` or `OFF`, and `<prefix>/event/<id>/state`
/// `{"event_type":"press"}` (esphome.io/components/mqtt).
///
/// Both are retained unless the device is configured otherwise. So the broker delivers the last
/// message again with every subscription. When the device reconnects, it publishes the state of a
/// contact again. Of the changes of a contact, only `ON` is a press.
///
/// A press wakes a device from deep sleep, and the device sleeps again before the contact opens. So
/// it publishes no `OFF` between two `ON`, but its birth message `online` on `<prefix>/status`
/// (esphome.io/components/deep_sleep).
enum ESPHome {
  static func status(of device: String) -> String { "\(device)/status" }

  static func start(_ payload: [UInt8]) -> Signal {
    payload.elementsEqual("online".utf8)
      ? Signal(mark: Signal.Mark(.start, key: "", value: "OFF")) : Signal()
  }

  static func read(_ payload: [UInt8], levels: [String]) throws(Unreadable) -> Signal {
    guard levels.count == 3 else { return Signal() }
    let input = levels[1]
    guard levels[0] == "event" else { return try contact(payload, of: input) }
    guard case .string(let type)? = try JSON.object(payload)["event_type"], !type.isEmpty else {
      throw Unreadable("there is no event_type")
    }
    return Signal(presses: [Signal.Press(input: input, words: [type])])
  }

  private static func contact(_ payload: [UInt8], of input: String) throws(Unreadable) -> Signal {
    switch String(decoding: payload, as: UTF8.self) {
    case "ON":
      let names = [input, "\(input)_press", "press"]
      return Signal(
        presses: [Signal.Press(words: names)], mark: Signal.Mark(.contact, key: input, value: "ON"))
    case "OFF":
      return Signal(mark: Signal.Mark(.contact, key: input, value: "OFF"))
    case let text:
      throw Unreadable("neither ON nor OFF: \(text.prefix(40))")
    }
  }
}
