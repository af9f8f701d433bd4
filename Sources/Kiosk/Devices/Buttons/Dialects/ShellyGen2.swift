import JuiceDomain
import KioskProtocol

/// Shelly, second and later generations: `<id>/events/rpc`, a `NotifyEvent` with an array of events
/// (shelly-api-docs.shelly.cloud/gen2/General/Notifications).
///
/// The device sends `btn_down` and `btn_up` in addition to each press, and firmware 1.1.0 sent
/// every message twice: both messages of one press have the same component, key, event and `ts`.
///
/// A Bluetooth device at a gateway is a component (`bthomedevice:200`), and `idx` is the number of
/// its key, from 0. A key may have a component of its own as well (`bthomesensor:203`), which sends
/// each push once more (.../gen2/DynamicComponents/BTHome).
enum ShellyGen2 {
  static func read(_ payload: [UInt8]) throws(Unreadable) -> Signal {
    let json = try JSON.object(payload)
    guard json["method"] == .string("NotifyEvent") else { return Signal() }
    guard let parameters = json["params"], case .array(let events)? = parameters["events"] else {
      throw Unreadable("a NotifyEvent without events")
    }
    return Signal(
      presses: events.compactMap { press($0, at: $0["ts"] ?? parameters["ts"]) })
  }

  static let push = "_push"
  /// All words for actions.
  static let words = ["single", "double", "triple", "long"].flatMap { [$0, $0 + push] }

  private static func press(_ json: JSON, at time: JSON?) -> Signal.Press? {
    guard case .string(let event)? = json["event"], event.hasSuffix(push),
      case .string(let component)? = json["component"]
    else { return nil }
    let button = json["idx"]?.word.map { "\(component)_\($0)" } ?? component
    return Signal.Press(
      inputs: inputs(component, button),
      words: [String(event.dropLast(push.count)), event],
      wordsAlone: !component.hasPrefix(sensor),
      id: time?.word.flatMap { Request.ID(escaping: "\($0)-\(button)-\(event)") })
  }

  /// Returns the names of a button. Only an input of the device itself is named by its number,
  /// because each kind of component is numbered from 0 or from 200.
  private static func inputs(_ component: String, _ button: String) -> [String] {
    if component.hasPrefix(input) { return [String(component.dropFirst(input.count))] }
    return button == component ? [component] : [button, component]
  }

  private static let input = "input:"
  /// The kind of component that repeats the pushes of another one.
  package static let sensor = "bthomesensor:"
}

extension Identifier where Entity == Request {
  /// Takes the first 64 bytes of a text, and replaces each byte that an id cannot hold with `_`.
  fileprivate init?(escaping text: String) {
    let bytes = text.utf8.prefix(64).map { $0.isIdentifierCharacter ? $0 : UInt8(ascii: "_") }
    self.init(String(decoding: bytes, as: UTF8.self))
  }
}
