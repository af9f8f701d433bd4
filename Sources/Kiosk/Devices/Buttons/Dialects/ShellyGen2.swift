import JuiceDomain
import KioskProtocol

/// Shelly, second and later generations: `<id>/events/rpc`, a `NotifyEvent` with an array of events
/// (shelly-api-docs.shelly.cloud/gen2/General/Notifications).
///
/// The device sends `btn_down` and `btn_up` in addition to each press, and firmware 1.1.0 sent
/// every message twice: both messages of one press have the same component, key, event and `ts`.
/// Without a time server `ts` counts the time since power-on, so its values occur again after a
/// power cut. Then `ts` is no id, and a debounce removes the second message.
///
/// A Bluetooth device at a gateway is a component (`bthomedevice:200`), and `idx` is the number of
/// its key, from 0. A key may have a component of its own as well (`bthomesensor:203`), which sends
/// each press once more (.../gen2/DynamicComponents/BTHome).
///
/// The vendor's script for Bluetooth devices (`ble/ble-shelly-blu.shelly.js` of
/// ALLTERCO/shelly-script-examples) sends an event `shelly-blu` of the component `script:1`, with
/// `{"pid":12,"button":1,"address":"38:39:..."}` as `data`; a remote with several keys sends
/// `"button":[0,1,0,0]`. The script forwards the events of each device in range, so only the address
/// names a button.
enum ShellyGen2 {
  static func read(_ payload: [UInt8]) throws(Unreadable) -> Signal {
    let json = try JSON.object(payload)
    guard json["method"] == .string("NotifyEvent") else { return Signal() }
    guard let parameters = json["params"], case .array(let events)? = parameters["events"] else {
      throw Unreadable("a NotifyEvent without events")
    }
    if let signal = events.lazy.compactMap(forwarded).first { return signal }
    return Signal(
      presses: events.compactMap { press($0, at: $0["ts"] ?? parameters["ts"]) })
  }

  /// Reads an event that a script has forwarded from a Bluetooth device. Returns `nil` for any
  /// other event. `pid` has 8 bits, so only an equal `pid` of one of the last presses marks a repeat.
  private static func forwarded(_ json: JSON) -> Signal? {
    guard case .string(let component)? = json["component"], component.hasPrefix("script:"),
      let data = json["data"], let button = data["button"], let count = data["pid"]?.word
    else { return nil }
    let keys: [(name: String, action: JSON)] =
      if case .array(let actions) = button {
        actions.enumerated().map { ("_\($0)", $1) }
      } else {
        [("", button)]
      }
    let device = data["address"]?.word ?? component
    let presses = keys.compactMap { key, action -> Signal.Press? in
      guard let number = action.wholeNumber, let word = forwardedWord[number] else { return nil }
      var press = Signal.Press(inputs: ["\(device)\(key)"], words: [word], wordsAlone: false)
      if number >= 128 { press.leastDebounce = Signal.Press.debounceWhileHeld }
      return press
    }
    let mark =
      if let remote = Dialect.remote(on: device) {
        Signal.Mark(.remoteCounter(remote), key: "", value: count)
      } else {
        Signal.Mark(.counter, key: device, value: count)
      }
    return Signal(presses: Array(presses.prefix(1)), mark: mark)
  }

  /// The kiosk's words for the numbers of button events (bthome.io/format). A Shelly repeats 254
  /// while the customer holds the button.
  private static let forwardedWord = [
    1: "single", 2: "double", 3: "triple", 4: "long", 128: "long", 254: "long",
  ]

  static let push = "_push"
  /// The words for all actions: the kiosk's and the device's.
  static let words = ["single", "double", "triple", "long"].flatMap { [$0, $0 + push] }

  private static func press(_ json: JSON, at time: JSON?) -> Signal.Press? {
    guard case .string(let event)? = json["event"], event.hasSuffix(push),
      case .string(let component)? = json["component"]
    else { return nil }
    let button = json["idx"]?.word.map { "\(component)_\($0)" } ?? component
    var press = Signal.Press(
      inputs: inputs(component, button),
      words: [String(event.dropLast(push.count)), event],
      wordsAlone: !component.hasPrefix(sensor),
      id: time.flatMap(unixTime).flatMap { Request.ID(escaping: "\($0)-\(button)-\(event)") })
    if press.id == nil { press.leastDebounce = .seconds(1) }
    return press
  }

  /// Returns the time as a word, or `nil` if it is no number or before September 2001: then the
  /// clock is not set.
  private static func unixTime(_ json: JSON) -> String? {
    let seconds: Double? =
      switch json {
      case .integer(let seconds): Double(seconds)
      case .number(let seconds): seconds
      default: nil
      }
    guard let seconds, seconds >= 1_000_000_000 else { return nil }
    return json.word
  }

  /// Returns the names of a button. Only an input of the device itself is named by its number,
  /// because each kind of component is numbered from 0 or from 200.
  private static func inputs(_ component: String, _ button: String) -> [String] {
    if component.hasPrefix(input) { return [String(component.dropFirst(input.count))] }
    return button == component ? [component] : [button, component]
  }

  private static let input = "input:"
  /// The kind of component that repeats the presses of another component.
  package static let sensor = "bthomesensor:"
}

extension Identifier where Entity == Request {
  /// Creates an id from the first 64 bytes of a text, and replaces each byte that an id cannot
  /// contain with `_`.
  fileprivate init?(escaping text: String) {
    let bytes = text.utf8.prefix(64).map { $0.isIdentifierCharacter ? $0 : UInt8(ascii: "_") }
    self.init(String(decoding: bytes, as: UTF8.self))
  }
}
